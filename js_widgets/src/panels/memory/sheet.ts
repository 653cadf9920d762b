/** What a heat map shows: contents with their counts and range, from the trace, from counting, or from a kernel. */

import type { Memory } from "../../model/fold";
import { plural } from "../../model/text";
import { decodeNumbers } from "../../model/values";
import type { App } from "../../ui/store";
import { type Range, rangeOf } from "../drawing/scales";
import { type Change, rangeOverTime, type Tally, tally } from "./contents";
import { type Survey, survey } from "./heat";

export interface SheetData {
  readonly memory: Memory;
  readonly survey: Survey;
  readonly range: Range;
  readonly change: Change;
  readonly key: string;
}

/** Counts dressed as memory: all set, all known. */
export function counted(app: App, buffer: number, show: Tally, cursor: number): SheetData | null {
  const { model } = app;
  const counts = tally(model, buffer, show, cursor);
  if (!counts) return null;
  const all = new Uint8Array(counts.length).fill(1);
  const root = model.buffers.root[buffer];
  const memory = {
    buffer: root,
    dtype: "int32",
    shape: model.buffers.shape(root),
    values: counts,
    initialized: all,
    recorded: all,
  };
  const found = survey(memory);
  const range: Range = { kind: "sequential", low: 0, high: Math.max(found.high, 1) };
  return {
    memory,
    survey: found,
    range,
    change: { elements: [], total: 0 },
    key: `${buffer} ${show} ${cursor}`,
  };
}

/** A count in words. */
export function countText(show: Tally, value: number): string {
  if (show === "blocks") return `touched by ${plural(value, "block")}`;
  return plural(value, show === "reads" ? "read" : "write");
}

/** Contents in which nothing is missing: the kernel gave them. */
export function wholeSheet(app: App, memory: Memory, range: "all" | "now", key: string): SheetData {
  const found = survey(memory);
  const ever = range === "all" ? rangeOverTime(app.model, memory.buffer) : null;
  const colors = ever ? joined(ever, found) : rangeOf(found.low, found.high);
  return { memory, survey: found, range: colors, change: { elements: [], total: 0 }, key };
}

/** A range that holds the values of another one, too. */
function joined(range: Range, found: Survey): Range {
  if (!(found.low <= found.high)) return range;
  return rangeOf(Math.min(range.low, found.low), Math.max(range.high, found.high));
}

/** The contents of a buffer at the cursor as the kernel has them; null without one, or if it cannot say. */
export async function askKernel(app: App, memory: Memory): Promise<Memory | null> {
  if (!app.host) return null;
  try {
    const asked = { buffer: memory.buffer, at: app.cursor.peek(), run: app.run.peek() };
    const { content, buffers } = await app.host.request("memory", asked);
    const [bytes, initialized, recorded] = buffers.map(bytesOf);
    const values = decodeNumbers(bytes, content.dtype, app.model.header.view?.dtypes ?? {});
    return { ...memory, values, initialized, recorded };
  } catch (error) {
    app.notice.value = (error as Error).message;
    return null;
  }
}

/** A copy of its own: decoders look at the whole buffer. */
function bytesOf(part: DataView): Uint8Array<ArrayBuffer> {
  return new Uint8Array(
    part.buffer,
    part.byteOffset,
    part.byteLength,
  ).slice() as Uint8Array<ArrayBuffer>;
}

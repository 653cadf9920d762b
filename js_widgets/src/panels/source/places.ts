/** Where threads stand in the source: the focus thread's line, and marks of the others. */

import type { Loc } from "../../model/tables";
import type { Model } from "../../model/trace";
import { Kind } from "../../schema.gen";

export interface Position {
  readonly source: number;
  readonly line: number;
  readonly instr: number;
  readonly kernel: number;
  /** The function that it stands in. */
  readonly name: string;
  /** Where the functions around it were called, innermost first. */
  readonly calls: readonly Call[];
}

export interface Call {
  readonly source: number;
  readonly line: number;
  /** The function that calls. */
  readonly name: string;
}

/** Where a thread stands at a cursor; null if it has not begun. */
export function positionOf(model: Model, thread: number, cursor: number): Position | null {
  const event = thread >= 0 ? model.lastOfThread(thread, cursor) : -1;
  if (event < 0) return null;
  return {
    source: model.sourceOf(event),
    line: model.lineOf(event),
    instr: model.events.instr[event],
    kernel: model.kernelOf(event).number,
    name: model.locOf(event)?.function ?? "",
    calls: model.callsOf(event).map((loc) => callAt(model, loc)),
  };
}

export function callAt(model: Model, loc: Pick<Loc, "file" | "line" | "function">): Call {
  return { source: model.sourceNamed(loc.file), line: loc.line, name: loc.function };
}

/** Where a launch's kernel is defined: what to show before anything ran. */
export function startOf(model: Model, launch: number): Position | null {
  const one = model.launches[launch];
  const kernel = one && model.kernels[one.kernel];
  if (!kernel) return null;
  const loc = kernel.locs[kernel.kernelLoc];
  const source = loc ? model.sourceNamed(loc.file) : kernel.source[0];
  return {
    source: source ?? -1,
    line: loc?.line ?? kernel.line[0] ?? 0,
    instr: -1,
    kernel: kernel.number,
    name: kernel.name,
    calls: [],
  };
}

const MOST_THREADS = 20_000;

/** Per line of a source: marks of the block's other threads, and how many of other blocks. */
export function ghosts(
  model: Model,
  source: number,
  at: { cursor: number; thread: number; launch: number; block: number },
): Map<number, { marks: string[]; others: number; names: string[] }> {
  const found = new Map<number, { marks: string[]; others: number; names: string[] }>();
  const { threads } = model;
  if (threads.count > MOST_THREADS) return found;
  for (let thread = 0; thread < threads.count; thread++) {
    if (thread === at.thread || threads.launch[thread] !== at.launch) continue;
    const event = model.lastOfThread(thread, at.cursor);
    if (event < 0 || model.events.kind[event] === Kind.END || model.sourceOf(event) !== source)
      continue;
    const line = model.lineOf(event);
    let entry = found.get(line);
    if (!entry) {
      entry = { marks: [], others: 0, names: [] };
      found.set(line, entry);
    }
    if (threads.block[thread] === at.block && at.block >= 0) entry.marks.push(threads.mark(thread));
    else entry.others++;
    if (entry.names.length < 8) entry.names.push(threads.name(thread));
  }
  return found;
}

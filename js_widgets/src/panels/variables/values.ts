/** The last value of each name in a thread, from its reads and writes up to a cursor. */

import { lowerBound } from "../../model/groups";
import { eachElement, type Region, regionText } from "../../model/regions";
import type { Model } from "../../model/trace";
import { count, emptyNumbers, formatNumber, type Numbers } from "../../model/values";
import { Kind } from "../../schema.gen";

export interface Variable {
  readonly name: string;
  readonly event: number;
  readonly kind: "read" | "written";
  readonly dtype: string;
  readonly shape: readonly number[];
  /** Null where the trace holds no value for it. */
  readonly values: Numbers | null;
  /** 1 where an element was never set; null if all are. */
  readonly unset: Uint8Array | null;
  readonly buffer: number;
}

const MOST_EVENTS = 4000;
const MOST_NAMES = 60;

interface Taken {
  readonly values: Numbers | null;
  readonly unset: Uint8Array | null;
  readonly shape: readonly number[];
}

const taken = new WeakMap<Model, Map<number, Taken>>();

/** The value that an event read or wrote; kept, because events do not change. */
function take(model: Model, event: number): Taken {
  let known = taken.get(model);
  if (!known) {
    known = new Map();
    taken.set(model, known);
  }
  let found = known.get(event);
  if (!found) {
    const reads = model.events.kind[event] === Kind.READ && model.events.payload[event] < 0;
    found = reads ? read(model, event) : written(model, event);
    if (known.size > 400) known.clear();
    known.set(event, found);
  }
  return found;
}

function written(model: Model, event: number): Taken {
  const value = model.valueOf(event);
  const row = model.events.region[event];
  const shape = value?.shape ?? (row >= 0 ? shapeOf(model.region(row)) : []);
  return { values: value?.values ?? null, unset: null, shape };
}

/** The shape of what a region holds: indexed dimensions are gone. */
function shapeOf(region: Region): number[] {
  return region.elements ? [region.elements.length] : region.size.filter((size) => size !== 1);
}

/** What a read saw: the memory just before it, in the order of its region. */
function read(model: Model, event: number): Taken {
  const buffer = model.bufferOf(event);
  const memory = model.memory(buffer, event);
  const row = model.events.region[event];
  if (!memory || row < 0) return { values: null, unset: null, shape: [] };
  const region = model.region(row);
  const shape = shapeOf(region);
  const values = emptyNumbers(memory.dtype, count(shape));
  const unset = new Uint8Array(values.length);
  let recorded = true;
  let missing = false;
  eachElement(region, memory.shape, (flat, source) => {
    values[source] = memory.values[flat];
    if (!memory.initialized[flat]) {
      unset[source] = 1;
      missing = true;
    } else if (!memory.recorded[flat]) recorded = false;
  });
  return { values: recorded ? values : null, unset: missing ? unset : null, shape };
}

/** Names of a thread's values, latest first; from its current block on. */
export function variables(model: Model, thread: number, cursor: number): Variable[] {
  const events = model.eventsOfThread(thread);
  const { kind, instr, region } = model.events;
  const found = new Map<string, Variable>();
  const end = lowerBound(events, cursor);
  for (let i = end - 1; i >= Math.max(end - MOST_EVENTS, 0) && found.size < MOST_NAMES; i--) {
    const event = events[i];
    if (kind[event] === Kind.GRID) break;
    const reads = kind[event] === Kind.READ;
    if (!reads && kind[event] !== Kind.WRITE && kind[event] !== Kind.UPDATE) continue;
    const buffer = model.bufferOf(event);
    if (buffer < 0 || model.buffers.isSync(buffer)) continue;
    const part = region[event] >= 0 ? regionText(model.region(region[event])) : "";
    const target = `${model.buffers.name(buffer)}${part}`;
    const name = (reads && model.kernelOf(event).names[instr[event]]) || target;
    if (found.has(name)) continue;
    found.set(name, {
      name,
      event,
      kind: reads ? "read" : "written",
      buffer,
      dtype: model.buffers.dtype(buffer),
      ...take(model, event),
    });
  }
  return [...found.values()];
}

const summaries = new WeakMap<Numbers, string>();

/** Least and largest finite number, and how many are NaN, infinite or unset; the values do not change. */
export function summary(values: Numbers, unset: Uint8Array | null, dtype: string): string {
  const found = summaries.get(values) ?? summarized(values, unset, dtype);
  summaries.set(values, found);
  return found;
}

function summarized(values: Numbers, unset: Uint8Array | null, dtype: string): string {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  let [nan, infinite, missing] = [0, 0, 0];
  for (let i = 0; i < values.length; i++) {
    if (unset?.[i]) missing++;
    else if (Number.isNaN(values[i])) nan++;
    else if (!Number.isFinite(values[i])) infinite++;
    else {
      if (values[i] < low) low = values[i];
      if (values[i] > high) high = values[i];
    }
  }
  const parts: string[] = [];
  if (low <= high) parts.push(`${formatNumber(low, dtype)} … ${formatNumber(high, dtype)}`);
  if (nan) parts.push(`${nan} NaN`);
  if (infinite) parts.push(`${infinite} inf`);
  if (missing) parts.push(`${missing} not set`);
  return parts.join(", ");
}

/** The first numbers, as they are. */
export function preview(
  values: Numbers,
  unset: Uint8Array | null,
  dtype: string,
  most = 6,
): string {
  const one = (i: number) => (unset?.[i] ? "?" : formatNumber(values[i], dtype, 3));
  if (values.length === 1) return unset?.[0] ? "not set" : formatNumber(values[0], dtype, 7);
  const shown = Array.from({ length: Math.min(values.length, most) }, (_, i) => one(i)).join(" ");
  return values.length > most ? `${shown} …` : shown;
}

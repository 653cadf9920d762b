/**
 * Queries over events: the same conditions and answers as Python's `trace.events.where`.
 *
 * A query is compiled to a predicate of an event number; each condition looks its arguments up
 * once. Errors name what would be accepted.
 */

import { RegionKind } from "../schema.gen";
import { callersOf } from "./calls";
import { type Literal, parseArguments, QueryError } from "./literals";
import { eachElement, type Region } from "./regions";
import { type Loc, linear } from "./tables";
import { fileName, KIND_NAMES } from "./text";
import type { Model } from "./trace";

export type Predicate = (event: number) => boolean;
type Condition = (model: Model, value: Literal) => Predicate;

export interface Query {
  readonly text: string;
  readonly conditions: readonly (readonly [name: string, value: Literal])[];
  readonly matches: Predicate;
  /** Whether an event meets all conditions but those of a name. */
  besides(name: string): Predicate;
}

/** Compiles a query; throws `QueryError`. */
export function compile(model: Model, text: string): Query {
  const conditions = parseArguments(text);
  const predicates = conditions
    .filter(([, value]) => value !== null)
    .map(([name, value]) => {
      const make = CONDITIONS[name];
      if (!make) throw new QueryError(refusal("condition", name, Object.keys(CONDITIONS)));
      return [name, make(model, value)] as const;
    });
  const all = (tests: readonly (readonly [string, Predicate])[]): Predicate => {
    return (event) => tests.every(([, test]) => test(event));
  };
  const besides = (name: string) => all(predicates.filter(([other]) => other !== name));
  return { text, conditions, matches: all(predicates), besides };
}

/** Sorted numbers of the events that meet a query. */
export function where(model: Model, query: Query): Int32Array {
  const found = new Int32Array(model.count);
  let size = 0;
  for (let e = 0; e < model.count; e++) if (query.matches(e)) found[size++] = e;
  return found.slice(0, size);
}

function refusal(what: string, value: Literal, accepted: readonly (string | number)[]): string {
  const shown = accepted.slice(0, 8).join(", ") + (accepted.length > 8 ? ", …" : "");
  return `no ${what} ${JSON.stringify(value)}; there are ${shown || "none"}`;
}

function several(value: Literal): readonly Literal[] {
  return Array.isArray(value) ? value : [value as Literal];
}

function isKind(model: Model, value: Literal): Predicate {
  const wanted = new Uint8Array(256);
  for (const one of several(value)) {
    const number = typeof one === "string" ? KIND_NAMES.indexOf(one.toLowerCase()) : Number(one);
    if (!KIND_NAMES[number]) throw new QueryError(refusal("kind", one, KIND_NAMES.filter(Boolean)));
    wanted[number] = 1;
  }
  const { kind } = model.events;
  return (event) => wanted[kind[event]] === 1;
}

/** Rows of a table by name or number, as flags. */
function rows(
  what: string,
  value: Literal,
  count: number,
  name: (row: number) => string,
): Uint8Array {
  const keep = new Uint8Array(count);
  for (const one of several(value)) {
    let any = false;
    for (let row = 0; row < count; row++) {
      if (typeof one === "string" ? name(row) === one : row === one) {
        keep[row] = 1;
        any = true;
      }
    }
    if (!any) {
      const names = new Set(Array.from({ length: count }, (_, row) => name(row)));
      throw new QueryError(refusal(what, one, [...names]));
    }
  }
  return keep;
}

function ofBuffers(model: Model, keep: Uint8Array): Predicate {
  return (event) => {
    const buffer = model.bufferOf(event);
    return buffer >= 0 && keep[buffer] === 1;
  };
}

function ofBuffer(model: Model, value: Literal): Predicate {
  const { buffers } = model;
  return ofBuffers(
    model,
    rows("buffer", value, buffers.count, (row) => buffers.name(row)),
  );
}

function inSpace(model: Model, value: Literal): Predicate {
  const { buffers } = model;
  const name = (row: number) => buffers.space(row);
  for (const one of several(value)) {
    if (typeof one !== "string") throw new QueryError('space is text, such as "smem"');
  }
  return ofBuffers(model, rows("space", value, buffers.count, name));
}

function inBlock(model: Model, value: Literal): Predicate {
  const { block } = model.events;
  if (typeof value === "number") return (event) => block[event] === value;
  const place = several(value).map(Number);
  const wanted = model.launches.map((launch) => linear(launch, place));
  if (!wanted.some((number) => number >= 0)) {
    const shapes = model.launches.map((launch) => `(${launch.blockShape.join(", ")})`);
    throw new QueryError(`no block (${place.join(", ")}); the grid is ${shapes.join(", ")}`);
  }
  return (event) => {
    const number = wanted[model.launchOf(event)];
    return number >= 0 && block[event] === number;
  };
}

/** Threads that are shown under a name: `warpgroup 1 of block (0, 3)`, `wg 1`. */
function named(threads: Model["threads"], name: string): number[] {
  const wanted = name.trim().replace("wg ", "warpgroup ");
  const found: number[] = [];
  for (let t = 0; t < threads.count; t++) {
    const full = threads.name(t);
    if (full === wanted || full.split(" of ")[0] === wanted) found.push(t);
  }
  return found;
}

function byThread(model: Model, value: Literal): Predicate {
  const { threads } = model;
  const keep = new Uint8Array(threads.count);
  for (const one of several(value)) {
    const all = Array.from(keep.keys());
    const matches = all.filter((t) => (typeof one === "string" ? threads.kind(t) : t) === one);
    const found = matches.length || typeof one !== "string" ? matches : named(threads, one);
    if (!found.length)
      throw new QueryError(refusal("thread", one, [...new Set(all.map((t) => threads.kind(t)))]));
    for (const thread of found) keep[thread] = 1;
  }
  const { thread } = model.events;
  return (event) => keep[thread[event]] === 1;
}

/** One flag per instruction of each kernel. */
function byInstr(model: Model, test: (kernel: number, instr: number) => boolean): Predicate {
  const tables = model.kernels.map((kernel, k) =>
    Uint8Array.from(kernel.ops, (_, i) => (test(k, i) ? 1 : 0)),
  );
  const ofLaunch = model.launches.map((launch) => tables[launch.kernel]);
  const { instr } = model.events;
  return (event) => ofLaunch[model.launchOf(event)][instr[event]] === 1;
}

/** File, or "", and number of `41` or `file.py:41`. */
export function fileAndLine(value: Literal): [string, number] {
  const [, file, digits] = /^(?:(.*):)?(\d+)$/.exec(String(value)) ?? [];
  if (!digits) throw new QueryError(`a line is a number or "file.py:41"`);
  return [file ?? "", Number(digits)];
}

/** Whether a file has a name, with or without its folder; every file has none. */
export const isFile = (name: string, file: string) =>
  !name || name === file || name === fileName(file);

/** Whether a place is on a line, or goes over it. */
export function goesOver(value: Literal): (loc: Loc | undefined) => boolean {
  const [file, number] = fileAndLine(value);
  return (one) =>
    one !== undefined && one.line <= number && number <= one.endLine && isFile(file, one.file);
}

function onLine(model: Model, value: Literal): Predicate {
  const test = goesOver(value);
  return byInstr(model, (k, i) => test(model.kernels[k].locs[model.kernels[k].loc[i]]));
}

/** Whether a call stands on a line: the first of its own, the others have theirs. */
export function isOnLine(value: Literal): (loc: Loc) => boolean {
  const [file, number] = fileAndLine(value);
  return (loc) => loc.line === number && isFile(file, loc.file);
}

/** Events in something that is called or opened on a line. */
export function calledFrom(model: Model, value: Literal): Predicate {
  const test = isOnLine(value);
  return byInstr(model, (k, i) => {
    const kernel = model.kernels[k];
    return callersOf(kernel, i).some((row) => test(kernel.locs[row]));
  });
}

function within(model: Model, value: Literal): Predicate {
  const [own, called] = [onLine(model, value), calledFrom(model, value)];
  return (event) => own(event) || called(event);
}

function inLaunch(model: Model, value: Literal): Predicate {
  const names = model.launches.map((launch) => launch.name);
  const wanted =
    typeof value === "string"
      ? names.map((name) => name === value)
      : names.map((_, i) => i === value);
  if (!wanted.some(Boolean))
    throw new QueryError(refusal("launch", value, [...new Set(names), ...names.keys()]));
  return (event) => wanted[model.launchOf(event)] ?? false;
}

function ofOp(model: Model, value: Literal): Predicate {
  const wanted = new Set(several(value));
  const known = new Set(model.kernels.flatMap((kernel) => [...kernel.ops]));
  for (const one of wanted) {
    if (!known.has(String(one))) throw new QueryError(refusal("op", one, [...known].sort()));
  }
  return byInstr(model, (k, i) => wanted.has(model.kernels[k].ops[i]));
}

type Side = number | "..." | readonly [start: number | null, stop: number | null];
type Extent = readonly [low: number, high: number];

const REGION = 'region is a subscript such as "[0:4, 2]": numbers, a:b, : and ...';

/** The box of `[0:4, 2]`: a number, the ends of a slice, or the dimensions that are not named. */
export function parseBox(text: string): Side[] {
  const trimmed = text.trim();
  const inner = /^\[.*\]$/s.test(trimmed) ? trimmed.slice(1, -1) : trimmed;
  if (!inner.trim()) return [];
  return inner.split(",").map((part, d, all) => {
    if (/^\s*-?\d+\s*$/.test(part)) return Number(part);
    const isFirst = !all.slice(0, d).some((other) => other.trim() === "...");
    if (part.trim() === "..." && isFirst) return "...";
    const ends = /^\s*(-?\d+)?\s*:\s*(-?\d+)?\s*$/.exec(part);
    if (!ends) throw new QueryError(`${REGION}; ${JSON.stringify(part.trim())} is none`);
    return [ends[1] ? Number(ends[1]) : null, ends[2] ? Number(ends[2]) : null];
  });
}

/** The box inside a buffer; null if it has more dimensions. Negative numbers count from the end. */
export function extents(box: readonly Side[], shape: readonly number[]): Extent[] | null {
  const written = box.includes("...") ? box : [...box, "..." as const];
  const unnamed = shape.length - written.length + 1;
  if (unnamed < 0) return null;
  const whole = new Array<readonly [null, null]>(unnamed).fill([null, null]);
  const sides = written.flatMap((side) => (side === "..." ? whole : [side]));
  return shape.map((size, d) => {
    const side = sides[d];
    if (typeof side === "number") {
      const at = side < 0 ? side + size : side;
      return [Math.max(at, 0), Math.min(at + 1, size)];
    }
    const end = (value: number | null, none: number) =>
      value === null ? none : Math.min(Math.max(value < 0 ? value + size : value, 0), size);
    return [end(side[0], 0), end(side[1], size)];
  });
}

function overlaps(region: Region, shape: readonly number[], box: readonly Extent[]): boolean {
  if (box.some(([low, high]) => low >= high)) return false;
  if (region.kind !== RegionKind.BOX) {
    let hit = false;
    eachElement(region, shape, (flat) => {
      let rest = flat;
      let inside = true;
      for (let d = shape.length - 1; d >= 0; d--) {
        const at = rest % shape[d];
        rest = Math.floor(rest / shape[d]);
        inside &&= at >= box[d][0] && at < box[d][1];
      }
      hit ||= inside;
    });
    return hit;
  }
  if (region.start.length !== shape.length) return false;
  return box.every(([low, high], d) => {
    const stride = Math.max(region.stride[d], 1);
    const skipped = Math.max(Math.ceil((low - region.start[d]) / stride), 0);
    return skipped < region.size[d] && region.start[d] + skipped * stride < high;
  });
}

function inRegion(model: Model, value: Literal): Predicate {
  const text = typeof value === "string" ? value : several(value).join(",");
  const box = parseBox(text);
  const { region } = model.events;
  const known = new Map<string, boolean>();
  return (event) => {
    const buffer = model.bufferOf(event);
    if (buffer < 0 || region[event] < 0) return false;
    const shape = model.buffers.shape(buffer);
    const key = `${region[event]}/${shape}`;
    let hit = known.get(key);
    if (hit === undefined) {
      const inside = extents(box, shape);
      hit = inside !== null && overlaps(model.region(region[event]), shape, inside);
      known.set(key, hit);
    }
    return hit;
  };
}

/** Whether a recorded value has a number for which `test` is true; each value is read once. */
function hasValue(test: (value: number) => boolean): Condition {
  return (model, value) => {
    if (typeof value !== "boolean") throw new QueryError("write True or False");
    const { payload } = model.events;
    const known = new Map<number, boolean>();
    return (event) => {
      const row = payload[event];
      if (row < 0) return !value;
      let hit = known.get(row);
      if (hit === undefined) {
        hit = model.payload(row)?.values.some(test) ?? false;
        known.set(row, hit);
      }
      return hit === value;
    };
  };
}

function ofFinding(model: Model, value: Literal): Predicate {
  const wanted = value === true ? null : new Set(several(value).map(String));
  const codes = [...new Set(model.findings.map((one) => one.code))];
  for (const code of wanted ?? []) {
    const known = model.findings.some((one) => one.code === code || one.name === code);
    if (!known) throw new QueryError(refusal("finding", code, codes));
  }
  const events = new Set<number>();
  for (const one of model.findings) {
    if (!wanted || wanted.has(one.code) || wanted.has(one.name))
      for (const e of one.events) events.add(e);
  }
  return (event) => events.has(event);
}

export const CONDITIONS: Readonly<Record<string, Condition>> = {
  kind: isKind,
  buffer: ofBuffer,
  block: inBlock,
  thread: byThread,
  line: onLine,
  within,
  launch: inLaunch,
  space: inSpace,
  op: ofOp,
  region: inRegion,
  nan: hasValue(Number.isNaN),
  inf: hasValue(
    (value) => value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY,
  ),
  finding: ofFinding,
};

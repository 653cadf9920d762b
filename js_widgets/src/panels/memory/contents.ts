/** What the selected buffer holds at the cursor, and what that is compared with. */

import type { Memory } from "../../model/fold";
import { lowerBound } from "../../model/groups";
import { eachElement } from "../../model/regions";
import type { Model } from "../../model/trace";
import { count, type Numbers } from "../../model/values";
import { Kind } from "../../schema.gen";
import { type Range, rangeOf } from "../drawing/scales";
import { finite, type Survey, survey } from "./heat";

/** Elements whose value is another one than at the cursor before. */
export interface Change {
  readonly elements: readonly number[];
  readonly total: number;
}

const MOST_LISTED = 20_000;
const MOST_COMPARED = 1 << 22;
const NONE: Change = { elements: [], total: 0 };

/** Remembers what was shown and says what is different. */
export class Differences {
  private buffer = -1;
  private changes = -1;
  private values: Numbers | null = null;
  private initialized: Uint8Array | null = null;
  private last: Change = NONE;
  private cursor = -1;

  /** The changes since the last call for the same buffer at another cursor. */
  at(model: Model, memory: Memory, cursor: number): Change {
    const changes = lowerBound(model.history(memory.buffer)?.events ?? [], cursor);
    if (memory.buffer !== this.buffer) this.last = NONE;
    else if (cursor !== this.cursor)
      this.last = changes === this.changes ? NONE : this.compare(memory);
    // What never changes, or is too large, is not kept to be compared with.
    const events = model.history(memory.buffer)?.events.length ?? 0;
    const constant = events < 2 || memory.values.length > MOST_COMPARED;
    if (constant) this.values = null;
    else if (memory.buffer !== this.buffer || changes !== this.changes) {
      this.values = memory.values.slice();
      this.initialized = memory.initialized.slice();
    }
    [this.buffer, this.changes, this.cursor] = [memory.buffer, changes, cursor];
    return this.last;
  }

  private compare({ values, initialized }: Memory): Change {
    const [before, set] = [this.values, this.initialized];
    if (!before || !set || before.length !== values.length) return NONE;
    const elements: number[] = [];
    let total = 0;
    for (let i = 0; i < values.length; i++) {
      const [a, b] = [values[i], before[i]];
      const same = a === b || (Number.isNaN(a) && Number.isNaN(b));
      if (same && initialized[i] === set[i]) continue;
      total++;
      if (elements.length < MOST_LISTED) elements.push(i);
    }
    return { elements, total };
  }
}

const surveys = new WeakMap<Model, Map<number, Survey>>();

/** The survey of what never changes. */
export function surveyOfConstant(model: Model, memory: Memory): Survey {
  const known = surveys.get(model) ?? new Map<number, Survey>();
  surveys.set(model, known);
  const found = known.get(memory.buffer) ?? survey(memory, MOST_COMPARED);
  known.set(memory.buffer, found);
  return found;
}

const ranges = new WeakMap<Model, Map<number, Range>>();
const MOST_VALUES = 1 << 21;

/** The range of all values ever recorded in a buffer: colors do not change from step to step. */
export function rangeOverTime(model: Model, root: number): Range {
  const known = ranges.get(model) ?? new Map<number, Range>();
  ranges.set(model, known);
  let found = known.get(root);
  if (!found) {
    found = scan(model, root);
    known.set(root, found);
  }
  return found;
}

function scan(model: Model, root: number): Range {
  const { payload } = model.events;
  const rows = new Set<number>();
  if (model.buffers.initial[root] >= 0) rows.add(model.buffers.initial[root]);
  for (const event of model.history(root)?.events ?? [])
    if (payload[event] >= 0) rows.add(payload[event]);
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  let left = MOST_VALUES;
  for (const row of rows) {
    const values = model.payload(row)?.values;
    if (!values) continue;
    const found = finite(values);
    low = Math.min(low, found.low);
    high = Math.max(high, found.high);
    left -= values.length;
    if (left <= 0) break;
  }
  return rangeOf(low, high);
}

/** How often each element was touched, or by how many blocks; null where counting would take too long. */
export type Tally = "reads" | "writes" | "blocks";

const MOST_VISITS = 20_000_000;

/** Counts over the events before `cursor`. */
export function tally(
  model: Model,
  buffer: number,
  what: Tally,
  cursor: number,
): Int32Array | null {
  const shape = model.buffers.shape(model.buffers.root[buffer]);
  const counts = new Int32Array(count(shape));
  const last = new Int32Array(counts.length).fill(-1);
  const { block, region } = model.events;
  const events = touching(model, buffer, what, cursor);
  // Block by block, so that the last one to count an element tells whether this one did.
  if (what === "blocks") events.sort((a, b) => block[a] - block[b]);
  let visits = 0;
  for (const event of events) {
    eachElement(model.region(region[event]), shape, (flat) => {
      visits++;
      if (what === "blocks" && last[flat] === block[event]) return;
      last[flat] = block[event];
      counts[flat]++;
    });
    if (visits > MOST_VISITS) return null;
  }
  return counts;
}

function touching(model: Model, buffer: number, what: Tally, cursor: number): number[] {
  const { kind, region, block, object } = model.events;
  const rank = model.buffers.shape(buffer).length;
  const wanted = what === "reads" ? 1 : what === "writes" ? 2 : 3;
  const found: number[] = [];
  for (const event of model.eventsOfBuffer(buffer)) {
    if (event >= cursor) break;
    if (!((USES[kind[event]] ?? 0) & wanted) || region[event] < 0) continue;
    if (what === "blocks" && block[event] < 0) continue;
    if (model.buffers.shape(object[event]).length === rank) found.push(event);
  }
  return found;
}

const USES: Record<number, number> = { [Kind.READ]: 1, [Kind.WRITE]: 2, [Kind.UPDATE]: 3 };

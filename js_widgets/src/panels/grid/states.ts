/** What each block of a launch does at the cursor, and how much it did: folds over tables. No verdict. */

import { Groups, lowerBound } from "../../model/groups";
import { touches } from "../../model/regions";
import type { Model } from "../../model/trace";
import { Kind } from "../../schema.gen";

/** In the order of the legend. Findings are Python's; the rest is where a block's threads stand. */
export const STATES = [
  "idle",
  "running",
  "waiting",
  "finished",
  "warning",
  "fault",
  "abort",
  "stuck",
] as const;
export const STATE = {
  idle: 0,
  running: 1,
  waiting: 2,
  finished: 3,
  warning: 4,
  fault: 5,
  abort: 6,
  /** Waiting when the launch had ended with a deadlock. */
  stuck: 7,
} as const;
export const UNRECORDED = 255;

const NEVER = 2 ** 52;
const WARNING = 2;
const ABORT = 4;
/** It is shown by the blocks that wait for ever, which need not be faulty themselves. */
const DEADLOCK = "deadlock";
const RANKS = ["info", "warning", "error"];

/** The blocks of one launch: rows of the blocks table by linear number. */
export interface BlockFacts {
  readonly launch: number;
  readonly count: number;
  /** First and last event, -1 for a block of which nothing was recorded. */
  readonly first: Float64Array;
  readonly last: Float64Array;
  /** Event from which a finding shows, or a large number; and how bad it is (the table's `worst`). */
  readonly faulty: Float64Array;
  readonly worst: Uint8Array;
  /** Event after which it is finished: its last, or the one by which its core went on. */
  readonly over: Float64Array;
  readonly workers: Groups;
  /** Threads that go from block to block. */
  readonly cores: readonly number[];
}

const kept = new WeakMap<Model, Map<number, BlockFacts>>();

/** The facts of a launch, gathered once. */
export function factsOf(model: Model, launch: number): BlockFacts {
  const known = kept.get(model) ?? new Map<number, BlockFacts>();
  kept.set(model, known);
  const found = known.get(launch) ?? gather(model, launch);
  known.set(launch, found);
  return found;
}

function gather(model: Model, launch: number): BlockFacts {
  const count = model.launches[launch].blocks;
  const first = new Float64Array(count).fill(-1);
  const last = new Float64Array(count).fill(-1);
  const worst = new Uint8Array(count);
  const { blocks } = model;
  for (let row = 0; row < blocks.count; row++) {
    if (blocks.launch[row] !== launch) continue;
    first[blocks.block[row]] = blocks.first[row];
    last[blocks.block[row]] = blocks.last[row];
    worst[blocks.block[row]] = blocks.worst[row];
  }
  if (blocks.count === 0) spans(model, launch, first, last);
  const { threads } = model;
  const worker = (t: number) => threads.launch[t] === launch && !threads.isAgent(t);
  const workers = Groups.by(threads.count, count, (t) => (worker(t) ? threads.block[t] : -1));
  const cores: number[] = [];
  for (let t = 0; t < threads.count; t++)
    if (threads.kind(t) === "core" && worker(t)) cores.push(t);
  correctAborts(model, launch, worst);
  const faulty = faultsOf(model, launch, last, worst);
  const over = Float64Array.from(last);
  for (const core of cores) followCore(model, core, { first, over });
  for (let t = 0; cores.length && t < threads.count; t++) {
    // What a block started and left behind is its own until it ends.
    const block = threads.launch[t] === launch ? threads.block[t] : -1;
    if (block >= 0)
      over[block] = Math.max(over[block], model.lastOfThread(t, Number.POSITIVE_INFINITY));
  }
  return { launch, count, first, last, over, worst, faulty, workers, cores };
}

/** Only a refusal that stops JAX aborts a block; a deadlock is where blocks wait, not a fault of theirs. */
function correctAborts(model: Model, launch: number, worst: Uint8Array): void {
  const found = new Uint8Array(worst.length);
  const { firstEvent, lastEvent, outcome } = model.launches[launch];
  const stuck = outcome.kind === DEADLOCK;
  for (const one of model.findings) {
    if (one.launch !== launch || (stuck && one.name === DEADLOCK)) continue;
    const stops = one.refusal && one.severity !== "info";
    const level = stops ? ABORT : RANKS.indexOf(one.severity) + 1;
    if (stops && !one.events.length)
      for (let block = 0; block < found.length; block++) found[block] = level;
    const blocks = one.events
      .filter((event) => event >= firstEvent && event < lastEvent)
      .map((event) => model.events.block[event]);
    for (const block of [...blocks, one.block_linear])
      if (block >= 0) found[block] = Math.max(found[block], level);
  }
  for (let block = 0; block < worst.length; block++)
    if (worst[block] >= ABORT || stuck) worst[block] = found[block];
}

/** A core works on one grid point until it enters another, whatever it still writes back later. */
function followCore(
  model: Model,
  core: number,
  { first, over }: Pick<BlockFacts, "first" | "over">,
): void {
  const { kind, block } = model.events;
  let here = -1;
  const entered = new Set<number>();
  for (const event of model.eventsOfThread(core)) {
    if (kind[event] !== Kind.GRID || block[event] < 0) continue;
    if (here >= 0) over[here] = event;
    here = block[event];
    if (!entered.has(here)) first[here] = event;
    entered.add(here);
  }
  // The last one goes on to its last event.
  if (here >= 0) over[here] = model.lastOfThread(core, Number.POSITIVE_INFINITY);
}

/** First and last events of the blocks from the columns, for a file without tables. */
function spans(model: Model, launch: number, first: Float64Array, last: Float64Array): void {
  const { firstEvent, lastEvent } = model.launches[launch];
  const { block } = model.events;
  for (let event = firstEvent; event < lastEvent; event++) {
    const at = block[event];
    if (at < 0) continue;
    if (first[at] < 0) first[at] = event;
    last[at] = event;
  }
}

/** Where a block's finding has an event in the block it shows from there on, else from the block's end. */
function faultsOf(
  model: Model,
  launch: number,
  last: Float64Array,
  worst: Uint8Array,
): Float64Array {
  const found = Float64Array.from(last, (event, block) =>
    worst[block] >= WARNING ? event : NEVER,
  );
  const { firstEvent, lastEvent } = model.launches[launch];
  for (const finding of model.findings) {
    const silent = finding.severity === "info" || finding.name === DEADLOCK;
    if (finding.launch !== launch || silent) continue;
    for (const event of finding.events) {
      const block = event >= firstEvent && event < lastEvent ? model.events.block[event] : -1;
      if (block >= 0) found[block] = Math.min(found[block], event);
    }
  }
  return found;
}

/** The state of every block when `cursor` events have happened. */
export function statesAt(model: Model, facts: BlockFacts, cursor: number): Uint8Array {
  const states = new Uint8Array(facts.count);
  const { outcome } = model.launches[facts.launch];
  for (let block = 0; block < facts.count; block++) {
    const first = facts.first[block];
    if (first < 0) states[block] = UNRECORDED;
    else if (cursor <= first) states[block] = STATE.idle;
    else if (cursor > facts.faulty[block] && facts.worst[block] >= WARNING) {
      const worst = facts.worst[block];
      states[block] = worst >= ABORT ? STATE.abort : worst > WARNING ? STATE.fault : STATE.warning;
    } else if (isAsleep(model, facts, block, cursor)) {
      const forEver = outcome.kind === DEADLOCK && cursor > facts.last[block];
      states[block] = forEver ? STATE.stuck : STATE.waiting;
    } else states[block] = cursor > facts.over[block] ? STATE.finished : STATE.running;
  }
  return states;
}

/** Whether all threads of a block that have begun and not ended wait for something. */
function isAsleep(model: Model, facts: BlockFacts, block: number, cursor: number): boolean {
  const over = cursor > facts.last[block];
  if (over && endsWell(model, facts, block)) return false;
  let waiting = 0;
  for (const thread of facts.workers.of(block)) {
    const last = model.lastOfThread(thread, cursor);
    const kind = last < 0 ? Kind.END : model.events.kind[last];
    if (kind === Kind.BLOCK) waiting++;
    else if (kind !== Kind.END && !over) return false;
  }
  for (const core of facts.cores) {
    const last = model.lastOfThread(core, cursor);
    if (last < 0 || model.events.block[last] !== block) continue;
    if (model.events.kind[last] === Kind.BLOCK) waiting++;
  }
  return waiting > 0;
}

const ended = new WeakMap<BlockFacts, Uint8Array>();

/** Whether no thread of a block still waits when the block's events are over; found once. */
function endsWell(model: Model, facts: BlockFacts, block: number): boolean {
  const known = ended.get(facts) ?? new Uint8Array(facts.count);
  ended.set(facts, known);
  if (known[block] === 0) {
    const end = model.launches[facts.launch].lastEvent;
    const stuck = (thread: number) => {
      const last = model.lastOfThread(thread, end);
      return (
        last >= 0 && model.events.kind[last] === Kind.BLOCK && model.events.block[last] === block
      );
    };
    const any = [...facts.workers.of(block), ...facts.cores].some(stuck);
    known[block] = any ? 2 : 1;
  }
  return known[block] === 1;
}

export type Metric = "events" | "read" | "written" | "waits";

/** A number for every block, over the whole launch; -1 where nothing was recorded. */
export function metricOf(model: Model, launch: number, metric: Metric): Float64Array {
  const found = new Float64Array(model.launches[launch].blocks).fill(-1);
  const { blocks } = model;
  for (let row = 0; row < blocks.count; row++) {
    if (blocks.launch[row] === launch) found[blocks.block[row]] = blocks[metric][row];
  }
  return found;
}

/** Which blocks read (1), wrote (2) or did both (3) to a buffer or one element, and how often. */
export interface Coverage {
  readonly how: Uint8Array;
  readonly accesses: Int32Array;
  readonly readers: number;
  readonly writers: number;
}

/** The blocks of a launch that touch a buffer's memory, or one element of it. */
export function coverageOf(
  model: Model,
  launch: number,
  buffer: number,
  element: readonly number[] | null,
): Coverage {
  const { blocks, firstEvent, lastEvent } = model.launches[launch];
  const how = new Uint8Array(blocks);
  const accesses = new Int32Array(blocks);
  const events = model.eventsOfBuffer(buffer);
  const { kind, block, region, object } = model.events;
  const known = new Map<number, boolean>();
  const inside = (event: number) => {
    if (!element) return true;
    const row = region[event];
    let found = known.get(row);
    if (found === undefined) {
      const shape = model.buffers.shape(object[event]);
      found = shape.length === element.length && touches(model.region(row), shape, element);
      known.set(row, found);
    }
    return found;
  };
  for (let i = lowerBound(events, firstEvent); i < events.length && events[i] < lastEvent; i++) {
    const event = events[i];
    const use = USES[kind[event]] ?? 0;
    if (use === 0 || block[event] < 0 || region[event] < 0 || !inside(event)) continue;
    how[block[event]] |= use;
    accesses[block[event]]++;
  }
  let [readers, writers] = [0, 0];
  for (const use of how) {
    if (use & 1) readers++;
    if (use & 2) writers++;
  }
  return { how, accesses, readers, writers };
}

const USES: Record<number, number> = { [Kind.READ]: 1, [Kind.WRITE]: 2, [Kind.UPDATE]: 3 };

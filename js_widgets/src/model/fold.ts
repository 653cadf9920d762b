/**
 * Memory at any event: the fold of `pallas_debug.trace.fold`, held to it by golden files.
 *
 * Memory at a cursor is the state after its current event, so before event `cursor`. A fold
 * starts at the last change that sets the whole buffer, a keyframe, or where the last one ended.
 */

import { Kind } from "../schema.gen";
import { lowerBound } from "./groups";
import { covers, eachElement, eachRun, type Region } from "./regions";
import type { Model } from "./trace";
import { count, emptyNumbers, itemBytes, type Numbers } from "./values";

export interface Memory {
  readonly buffer: number;
  readonly dtype: string;
  readonly shape: readonly number[];
  /** Row-major; 0 where not initialized or not recorded. Valid until the next fold of it. */
  readonly values: Numbers;
  /** 1 where an element has been set. */
  readonly initialized: Uint8Array;
  /** 1 where `values` holds what was there. */
  readonly recorded: Uint8Array;
}

interface State {
  values: Numbers;
  initialized: Uint8Array;
  recorded: Uint8Array;
}

const KEYFRAME_EVENTS = 64;
const KEYFRAME_BYTES = 48 << 20;

/** All changes of one piece of memory, with keyframes and a running state. */
export class History {
  /** Events that change this memory, sorted. */
  readonly events: Int32Array;
  /** Whether nothing is ever written. */
  readonly isConstant: boolean;
  private readonly isFolded: boolean;
  private readonly shape: readonly number[];
  private readonly dtype: string;
  private readonly whole: Int32Array;
  private readonly stride: number;
  private readonly frames = new Map<number, State>();
  private current: State;
  private done = 0;

  constructor(
    private readonly model: Model,
    private readonly root: number,
  ) {
    this.shape = model.buffers.shape(root);
    this.dtype = model.buffers.dtype(root);
    this.events = model.changesOf(root);
    this.whole = this.findWhole();
    const size = Math.max(count(this.shape) * (2 + itemBytes(this.dtype)), 1);
    const frames = Math.max(Math.floor(KEYFRAME_BYTES / size), 1);
    this.stride = Math.max(KEYFRAME_EVENTS, Math.floor(this.events.length / frames) + 1);
    const { kind } = model.events;
    this.isConstant = this.events.every((event) => kind[event] === Kind.ALLOC);
    const constant = this.constant();
    this.current = constant ?? this.empty();
    // Its births begin it with the same values again.
    this.isFolded = constant !== null;
  }

  /** The state before event `at`; its arrays change with the next call. */
  at(at: number): Memory {
    if (!this.isFolded) this.foldTo(at);
    return { buffer: this.root, dtype: this.dtype, shape: this.shape, ...this.current };
  }

  private foldTo(at: number): void {
    const wanted = lowerBound(this.events, at);
    const start = this.startFor(wanted);
    if (start !== this.done) {
      const frame = this.frames.get(start);
      this.current = frame ? copy(frame) : this.empty();
      this.done = start;
    }
    while (this.done < wanted) {
      this.apply(this.events[this.done], this.current);
      this.done++;
      if (this.done % this.stride === 0 && !this.frames.has(this.done)) {
        this.frames.set(this.done, copy(this.current));
      }
    }
  }

  /** How many changes are known to be done: none after it is skipped, none before repeated. */
  private startFor(wanted: number): number {
    let start = this.done <= wanted ? this.done : 0;
    const at = lowerBound(this.whole, wanted);
    if (at > 0) start = Math.max(start, this.whole[at - 1]);
    const frame = wanted - (wanted % this.stride);
    if (this.frames.has(frame)) start = Math.max(start, frame);
    return start;
  }

  /** Positions of the changes that set all elements, so that no earlier one matters. */
  private findWhole(): Int32Array {
    const { kind, region } = this.model.events;
    const known = new Map<number, boolean>();
    const found: number[] = [];
    for (let i = 0; i < this.events.length; i++) {
      const event = this.events[i];
      if (kind[event] === Kind.ALLOC) found.push(i);
      else if (kind[event] !== Kind.PAD && region[event] >= 0) {
        let whole = known.get(region[event]);
        if (whole === undefined) {
          whole = covers(this.model.region(region[event]), this.shape);
          known.set(region[event], whole);
        }
        if (whole) found.push(i);
      }
    }
    return Int32Array.from(found);
  }

  /** What never changes is not copied: the values are those of the payload. */
  private constant(): State | null {
    const initial = this.model.buffers.initial[this.root];
    const value = initial >= 0 && this.isConstant ? this.model.payload(initial) : null;
    const size = count(this.shape);
    if (value?.values.length !== size) return null;
    const known = new Uint8Array(size).fill(1);
    return { values: value.values, initialized: known, recorded: known };
  }

  private empty(): State {
    const size = count(this.shape);
    const state = {
      values: emptyNumbers(this.dtype, size),
      initialized: new Uint8Array(size),
      recorded: new Uint8Array(size),
    };
    const initial = this.model.buffers.initial[this.root];
    if (initial >= 0) {
      state.initialized.fill(1);
      const value = this.model.payload(initial);
      if (value) {
        state.values.set(value.values);
        state.recorded.fill(1);
      }
    }
    return state;
  }

  private apply(event: number, state: State): void {
    const { kind, region, payload } = this.model.events;
    if (kind[event] === Kind.ALLOC) {
      Object.assign(state, this.empty());
      return;
    }
    const pad = kind[event] === Kind.PAD;
    const value = pad || payload[event] < 0 ? null : this.model.payload(payload[event]);
    put(state, this.model.region(region[event]), this.shape, value?.values ?? null, !pad);
  }
}

function put(
  state: State,
  region: Region,
  shape: readonly number[],
  value: Numbers | null,
  initialized: boolean,
): void {
  const { values, recorded } = state;
  const known = value ? 1 : 0;
  const set = initialized ? 1 : 0;
  const one = value?.length === 1;
  const runs = eachRun(region, shape, (flat, source, length) => {
    const end = flat + length;
    if (value && !one) values.set(value.subarray(source, source + length), flat);
    else values.fill(value ? value[0] : 0, flat, end);
    state.initialized.fill(set, flat, end);
    recorded.fill(known, flat, end);
  });
  if (runs) return;
  eachElement(region, shape, (flat, source) => {
    values[flat] = value ? value[one ? 0 : source] : 0;
    state.initialized[flat] = set;
    recorded[flat] = known;
  });
}

function copy(state: State): State {
  return {
    values: state.values.slice(),
    initialized: state.initialized.slice(),
    recorded: state.recorded.slice(),
  };
}

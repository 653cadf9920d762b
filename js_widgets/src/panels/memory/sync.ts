/** Barriers and semaphores at a cursor: counts over their own events. A fold, no verdict. */

import { eachElement } from "../../model/regions";
import type { Model } from "../../model/trace";
import { count, isBarrier } from "../../model/values";
import { Kind } from "../../schema.gen";

/** One barrier or semaphore of a buffer. */
export interface SyncState {
  /** Phases completed (barriers). */
  phase: number;
  /** Arrivals of the phase that is not complete yet. */
  arrived: number;
  /** Units that nobody has taken (semaphores). */
  units: number;
  /** Last event about it, -1 if none. */
  last: number;
  /** BLOCK events of the threads that wait for it now. */
  readonly waiting: number[];
}

/** The state of every element of a sync buffer when `cursor` events have happened. */
export function syncAt(model: Model, buffer: number, cursor: number): SyncState[] {
  const shape = model.buffers.shape(buffer);
  const states = Array.from({ length: count(shape) }, empty);
  const { kind, region, thread } = model.events;
  const elements = elementsOf(model, shape);
  const barrier = isBarrier(model.buffers.dtype(buffer));
  for (const event of model.eventsOfBuffer(buffer)) {
    if (event >= cursor) break;
    if (kind[event] === Kind.ALLOC) continue;
    for (const element of elements(region[event])) {
      const state = states[element];
      state.last = event;
      if (kind[event] === Kind.BLOCK) {
        if (model.lastOfThread(thread[event], cursor) === event) state.waiting.push(event);
      } else tally(state, model, event, barrier);
    }
  }
  return states;
}

function empty(): SyncState {
  return { phase: 0, arrived: 0, units: 0, last: -1, waiting: [] };
}

function tally(state: SyncState, model: Model, event: number, barrier: boolean): void {
  const aux = model.events.aux[event];
  switch (model.events.kind[event]) {
    case Kind.ARRIVE:
      state.arrived++;
      break;
    case Kind.PHASE:
      state.phase = aux;
      state.arrived = 0;
      break;
    case Kind.SIGNAL:
      state.units += aux;
      break;
    case Kind.WAIT:
      if (!barrier) state.units -= aux;
      break;
  }
}

/** Which elements a region names; the same few regions come again and again. */
function elementsOf(model: Model, shape: readonly number[]): (region: number) => readonly number[] {
  const known = new Map<number, number[]>();
  return (region) => {
    let found = known.get(region);
    if (!found) {
      found = [];
      const list = found;
      if (region < 0) for (let i = 0; i < count(shape); i++) list.push(i);
      else eachElement(model.region(region), shape, (flat) => list.push(flat));
      known.set(region, found);
    }
    return found;
  };
}

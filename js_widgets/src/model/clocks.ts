/**
 * Vector clocks by lookup in the logs that Python derived (`trace/order.py`).
 *
 * A thread's log says what it learned about others and at which of its ticks; a spawned thread
 * starts from its parent's clock. No order is derived here.
 */

import type { Bundle } from "../bundle";
import { upperBound } from "./groups";
import type { Model } from "./trace";

export interface Clocks {
  /** For each thread the last tick that happens before an event, or is it. */
  at(event: number): Map<number, number>;
}

export function readClocks(bundle: Bundle, model: Model): Clocks | null {
  if (!bundle.has("view.clocks.first")) return null;
  const first = bundle.ints("view.clocks.first");
  const learned = bundle.ints("view.clocks.at");
  const others = bundle.ints("view.clocks.other");
  const ticks = bundle.ints("view.clocks.tick");
  const parents = bundle.ints("view.clocks.parent");
  const spawned = bundle.ints("view.clocks.parent_tick");

  const raise = (known: Map<number, number>, thread: number, tick: number) => {
    if ((known.get(thread) ?? -1) < tick) known.set(thread, tick);
  };

  return {
    at(event) {
      let thread = model.events.thread[event];
      let tick = model.tickOf(event);
      const known = new Map([[thread, tick]]);
      while (thread >= 0) {
        const from = first[thread];
        const log = learned.subarray(from, first[thread + 1]);
        const end = from + upperBound(log, tick);
        for (let i = from; i < end; i++) raise(known, others[i], ticks[i]);
        [thread, tick] = [parents[thread], spawned[thread]];
        if (thread >= 0) raise(known, thread, tick);
      }
      return known;
    },
  };
}

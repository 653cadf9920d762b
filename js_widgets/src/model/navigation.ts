/**
 * Where the cursor goes: one rule per command, the same as Python's `session/navigation.py`.
 *
 * A rule maps a cursor and a focus to a new cursor, or null for "nothing further". Rules about one
 * thread walk that thread's events only.
 */

import { Kind } from "../schema.gen";
import { lowerBound } from "./groups";
import type { Predicate } from "./query";
import { touches } from "./regions";
import type { Model } from "./trace";

export interface Focus {
  readonly cursor: number;
  readonly thread: number;
  readonly block: number;
  readonly launch: number;
  readonly buffer: number;
}

export type Direction = 1 | -1;
type Move = (model: Model, focus: Focus, direction: Direction) => number | null;

const SETS: ReadonlySet<number> = new Set([Kind.WRITE, Kind.UPDATE, Kind.PAD]);

const always: Predicate = () => true;

/** Smallest event at or after the cursor, or largest before the current one, of a sorted list. */
function among(
  events: ArrayLike<number>,
  cursor: number,
  direction: Direction,
  test: Predicate = always,
): number | null {
  if (direction > 0) {
    for (let i = lowerBound(events, cursor); i < events.length; i++)
      if (test(events[i])) return events[i] + 1;
  } else {
    for (let i = lowerBound(events, cursor - 1) - 1; i >= 0; i--)
      if (test(events[i])) return events[i] + 1;
  }
  return null;
}

/** The same over all events. */
export function search(
  model: Model,
  cursor: number,
  direction: Direction,
  test: Predicate,
): number | null {
  if (direction > 0) {
    for (let e = cursor; e < model.count; e++) if (test(e)) return e + 1;
  } else {
    for (let e = cursor - 2; e >= 0; e--) if (test(e)) return e + 1;
  }
  return null;
}

const step: Move = (model, { cursor }, direction) => {
  const to = cursor + direction;
  return to < 0 || to > model.count ? null : to;
};

const thread: Move = (model, focus, direction) =>
  among(model.eventsOfThread(focus.thread), focus.cursor, direction);

const block: Move = (model, focus, direction) => {
  if (focus.block >= 0)
    return among(model.eventsOfBlock(focus.launch, focus.block), focus.cursor, direction);
  const { block: blocks } = model.events;
  const outside: Predicate = (event) => blocks[event] < 0 && model.launchOf(event) === focus.launch;
  return search(model, focus.cursor, direction, outside);
};

const buffer: Move = (model, focus, direction) =>
  focus.buffer < 0 ? null : among(model.eventsOfBuffer(focus.buffer), focus.cursor, direction);

/** File and line of an event as one key, "" if unknown. */
function lineKey(model: Model, event: number): string {
  const kernel = model.kernelOf(event);
  const loc = kernel.locs[kernel.loc[model.events.instr[event]] ?? -1];
  return loc ? `${loc.file}:${loc.line}` : "";
}

const line: Move = (model, focus, direction) => {
  const last = model.lastOfThread(focus.thread, focus.cursor);
  const here = last >= 0 ? lineKey(model, last) : "";
  return among(model.eventsOfThread(focus.thread), focus.cursor, direction, (event) => {
    const key = lineKey(model, event);
    return key !== "" && key !== here;
  });
};

/** Whether `scope` lies inside `outer`, or is it. */
function within(parents: (scope: number) => number, scope: number, outer: number): boolean {
  for (let at = scope; at >= 0; at = parents(at)) if (at === outer) return true;
  return false;
}

/** Leaves scopes: `over` stays out of those inside the current one, `out` leaves it as well. */
function leave(own: boolean): Move {
  return (model, focus, direction) => {
    const events = model.eventsOfThread(focus.thread);
    const last = model.lastOfThread(focus.thread, focus.cursor);
    if (last < 0) return among(events, focus.cursor, direction);
    const { scopes } = model.kernelOf(last);
    const scope = model.scopeOf(last);
    const parents = (at: number) => scopes[at]?.parent ?? -1;
    const outside: Predicate = (event) => {
      const at = model.scopeOf(event);
      return (own && at === scope) || !within(parents, at, scope);
    };
    const found = among(events, focus.cursor, direction, outside);
    if (found !== null || own || events.some(outside)) return found;
    // Nothing of the thread lies outside: its end, or its start.
    return among(
      direction > 0 ? events.subarray(-1) : events.subarray(0, 1),
      focus.cursor,
      direction,
    );
  };
}

const finding: Move = (model, focus, direction) => {
  const events = Int32Array.from(new Set(model.findings.flatMap((one) => [...one.events])));
  events.sort();
  return among(events, focus.cursor, direction);
};

/** Commands that only need the trace, by the part of their name without direction. */
export const MOVES = {
  step,
  thread,
  block,
  buffer,
  line,
  over: leave(true),
  out: leave(false),
  finding,
};

/** The next event that a breakpoint matches; the end (or start) if there is none, null there. */
export function toBreakpoint(
  model: Model,
  cursor: number,
  direction: Direction,
  tests: readonly Predicate[],
): number | null {
  const any: Predicate = (event) => tests.some((test) => test(event));
  const found = tests.length ? search(model, cursor, direction, any) : null;
  const end = direction > 0 ? model.count : 0;
  return found ?? (cursor === end ? null : end);
}

/** The largest write-like event before the cursor that touches an element, or -1. */
export function lastWrite(
  model: Model,
  buffer: number,
  element: readonly number[],
  cursor: number,
): number {
  const events = model.eventsOfBuffer(buffer);
  const { kind, region } = model.events;
  for (let i = lowerBound(events, cursor) - 1; i >= 0; i--) {
    const event = events[i];
    if (SETS.has(kind[event]) && region[event] >= 0) {
      if (touches(model.region(region[event]), model.buffers.shape(buffer), element)) return event;
    }
  }
  return -1;
}

/** The horizontal axis of the lanes: steps or events, never seconds; zoom and pan. Pure. */

import { lowerBound } from "../../model/groups";

export type AxisKind = "step" | "event";

/** Events of one launch along an axis. Steps never decrease from event to event. */
export interface Axis {
  readonly kind: AxisKind;
  readonly first: number;
  readonly last: number;
  readonly low: number;
  readonly high: number;
  /** The thread of each event. */
  readonly owner: ArrayLike<number>;
  /** Place where an event begins; `last` and beyond: the end of the axis. */
  at(event: number): number;
  /** The first event at or after a place. */
  eventAt(place: number): number;
}

/** The part of an axis that is shown. */
export interface Window {
  readonly x0: number;
  readonly x1: number;
}

export const LEAST_UNITS = 6;

/** The axis of a launch's events `first … last - 1`. */
export function axisOf(
  kind: AxisKind,
  events: { readonly step: ArrayLike<number>; readonly thread: ArrayLike<number> },
  first: number,
  last: number,
): Axis {
  const { step, thread: owner } = events;
  if (kind === "event" || last <= first) {
    const at = (event: number) => Math.min(Math.max(event, first), last);
    const eventAt = (place: number) => at(Math.ceil(place));
    return { kind, first, last, low: first, high: Math.max(last, first + 1), owner, at, eventAt };
  }
  const [low, high] = [step[first], step[last - 1] + 1];
  const at = (event: number) => (event >= last ? high : step[Math.max(event, first)]);
  const eventAt = (place: number) => lowerBound(step, place, first, last);
  return { kind, first, last, low, high, owner, at, eventAt };
}

/** The whole axis. */
export function whole(axis: Axis): Window {
  return { x0: axis.low, x1: axis.high };
}

/** A window kept inside the axis and not smaller than a few units. */
export function clamped(window: Window, axis: Axis): Window {
  const full = axis.high - axis.low;
  const width = Math.min(Math.max(window.x1 - window.x0, Math.min(LEAST_UNITS, full)), full);
  const x0 = Math.min(Math.max(window.x0, axis.low), axis.high - width);
  return { x0, x1: x0 + width };
}

/** Zooms by a factor (below 1: in) around a place that stays where it is. */
export function zoomed(window: Window, axis: Axis, factor: number, around: number): Window {
  const width = (window.x1 - window.x0) * factor;
  const part = (around - window.x0) / (window.x1 - window.x0);
  const x0 = around - width * part;
  return clamped({ x0, x1: x0 + width }, axis);
}

/** Moves a window by a number of units. */
export function panned(window: Window, axis: Axis, units: number): Window {
  return clamped({ x0: window.x0 + units, x1: window.x1 + units }, axis);
}

/** A window of the same width that shows a place; the same window if it already does. */
export function revealing(window: Window, axis: Axis, place: number): Window {
  const width = window.x1 - window.x0;
  const margin = width * 0.05;
  if (place >= window.x0 + Math.min(margin, 1) && place <= window.x1 - margin) return window;
  return clamped({ x0: place - width / 2, x1: place + width / 2 }, axis);
}

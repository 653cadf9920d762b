/** The settings of the threads panel and where its plot lies. Pure. */

import type { AxisKind } from "./axis";

export interface Settings {
  readonly axis: AxisKind;
  /** The launch that `x0 … x1` belongs to; null: the whole axis. */
  readonly launch: number;
  readonly x0: number | null;
  readonly x1: number | null;
  /** Only the lanes of the selected block. */
  readonly only: boolean;
  /** Whether agents have rows of their own; null: by the number of lanes. */
  readonly agents: boolean | null;
}

export const START: Settings = {
  axis: "step",
  launch: -1,
  x0: null,
  x1: null,
  only: false,
  agents: null,
};
export const FEW_WORKERS = 24;
export const HEAD = 22;

/** Where the plot lies inside the canvas. */
export interface Frame {
  readonly left: number;
  readonly right: number;
  readonly width: number;
  readonly height: number;
  /** Whether there is room for vector clocks. */
  readonly clocks: boolean;
}

/** Room for names on the left and clocks on the right. */
export function frameOf(width: number, height: number, clocks: boolean): Frame {
  const left = Math.round(Math.min(Math.max(width * 0.16, 84), 176));
  const shown = clocks && width >= 480;
  const right = shown ? 62 : 10;
  return {
    left,
    right: width - right,
    width: Math.max(width - left - right, 10),
    height,
    clocks: shown,
  };
}

/** What the colors of the grid mean: looks for each way of coloring, and their legend. Pure. */

import { bytesText, grouped } from "../../model/text";
import type { Theme } from "../../ui/theme";
import { cssAt } from "../drawing/scales";
import type { Look } from "./paint";
import { STATES, UNRECORDED } from "./states";

export const COLORS = {
  state: "state",
  events: "events",
  read: "bytes read",
  written: "bytes written",
  waits: "waits",
  coverage: "use of the buffer",
} as const;
export type Color = keyof typeof COLORS;

export interface Key {
  readonly look: Look;
  readonly text: string;
}

const STATE_TEXT: Record<(typeof STATES)[number], string> = {
  idle: "not started",
  running: "running",
  waiting: "waiting",
  finished: "finished",
  warning: "warning",
  fault: "faulty",
  abort: "would abort",
  stuck: "waiting for ever (deadlock)",
};

/** The name of a state code. */
export function stateText(state: number): string {
  return state === UNRECORDED ? "not recorded" : STATE_TEXT[STATES[state]];
}

/** The look of each state code. */
export function stateLooks(theme: Theme): (Look | undefined)[] {
  const looks: (Look | undefined)[] = [
    { color: theme.done, fill: theme.idle, hollow: true },
    { color: theme.run, mark: "▸" },
    { color: theme.wait, pattern: "rising" },
    { color: theme.done },
    { color: theme.warning, mark: "!" },
    { color: theme.error, pattern: "falling", mark: "!" },
    { color: theme.abort, pattern: "cross", mark: "⊘" },
    { color: theme.wait, pattern: "rising", mark: "‖" },
  ];
  looks[UNRECORDED] = { color: theme.line, hollow: true, mark: "×" };
  return looks;
}

/** Keys of the states that occur, each with how many blocks are in it. */
export function stateKeys(theme: Theme, states: Uint8Array): Key[] {
  const counts = new Map<number, number>();
  for (const state of states) counts.set(state, (counts.get(state) ?? 0) + 1);
  const looks = stateLooks(theme);
  return [...counts]
    .sort(([a], [b]) => a - b)
    .map(([state, n]) => ({
      look: looks[state] as Look,
      text: `${stateText(state)} ${grouped(n)}`,
    }));
}

const LEVELS = 64;

/** Looks of a number: `LEVELS` colors, then the one of blocks without a number. */
export function numberLooks(theme: Theme): (Look | undefined)[] {
  const looks: (Look | undefined)[] = Array.from({ length: LEVELS }, (_, i) => ({
    color: cssAt("sequential", theme.dark, i / (LEVELS - 1)),
  }));
  looks[UNRECORDED] = { color: theme.line, hollow: true, mark: "×" };
  return looks;
}

/** Class of each number between two others. */
export function numberClasses(values: Float64Array, low: number, high: number): Uint8Array {
  const scale = high > low ? (LEVELS - 1) / (high - low) : 0;
  return Uint8Array.from(values, (value) =>
    value < 0 ? UNRECORDED : Math.round(scale > 0 ? (value - low) * scale : LEVELS / 2),
  );
}

export function metricText(color: Color, value: number): string {
  return color === "read" || color === "written" ? bytesText(value) : grouped(value);
}

/** Looks of blocks that leave a buffer alone, read it, write it, do both. */
export function coverageLooks(theme: Theme): (Look | undefined)[] {
  return [
    { color: theme.done, fill: theme.idle, hollow: true },
    { color: theme.read, mark: "r" },
    { color: theme.write, pattern: "rising", mark: "w" },
    { color: theme.series[4] ?? theme.accent, pattern: "cross", mark: "b" },
  ];
}

export function coverageKeys(theme: Theme, how: Uint8Array): Key[] {
  const counts = [0, 0, 0, 0];
  for (const use of how) counts[use]++;
  const names = ["do not touch it", "read it", "write it", "read and write it"];
  return coverageLooks(theme).flatMap((look, i) =>
    counts[i] > 0 ? [{ look: look as Look, text: `${grouped(counts[i])} ${names[i]}` }] : [],
  );
}

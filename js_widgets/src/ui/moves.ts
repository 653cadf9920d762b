/** What moving commands share: where they lead from here, and what they say if nowhere. */

import { type Direction, type Focus, lastWrite, MOVES, search } from "../model/navigation";
import { compile, type Predicate } from "../model/query";
import { lineQuery, stopping } from "../model/stops";
import { coordinates, tuple } from "../model/tables";
import type { App } from "./store";

function focusOf(app: App): Focus {
  return {
    cursor: app.cursor.value,
    thread: app.thread.value,
    block: app.block.value,
    launch: app.launch.value,
    buffer: app.buffer.value,
  };
}

/** Goes to a cursor, or says why it stays. */
export function go(app: App, to: number | null, nothing = "Nothing further."): void {
  app.notice.value = "";
  if (to === null) app.notice.value = nothing;
  else app.moveTo(to);
}

export function mover(
  name: keyof typeof MOVES,
  direction: Direction,
  nothing?: (app: App) => string,
) {
  return (app: App) =>
    go(app, MOVES[name](app.model, focusOf(app), direction), nothing?.(app) ?? "Nothing further.");
}

const side = (direction: Direction) => (direction > 0 ? "No later event" : "No earlier event");

export const ofThread = (direction: Direction) => (app: App) =>
  app.thread.value < 0
    ? "No thread is selected."
    : `${side(direction)} of ${app.model.threads.name(app.thread.value)}.`;

export const ofBuffer = (direction: Direction) => (app: App) =>
  app.buffer.value < 0
    ? "No buffer is selected."
    : `${side(direction)} of ${app.model.buffers.name(app.buffer.value)}.`;

export const ofBlock = (direction: Direction) => () => `${side(direction)} of this block.`;

export function goToLastWrite(
  app: App,
  args?: { buffer: number; element: readonly number[] },
): void {
  const buffer = args?.buffer ?? app.buffer.value;
  const element = args?.element ?? app.element.value;
  if (buffer < 0 || !element) {
    app.notice.value = "Select an element of a buffer first.";
    return;
  }
  const event = lastWrite(app.model, buffer, element, app.cursor.value);
  const name = `${app.model.buffers.name(buffer)}[${element.join(", ")}]`;
  if (event < 0) app.notice.value = `Nothing before this wrote ${name}.`;
  else {
    app.jump(event);
    app.notice.value = `Last write to ${name}: event ${event}.`;
  }
}

/** Shows a line of a source without moving the cursor. */
export function showLine(app: App, source: number, line: number): void {
  if (source < 0 || line <= 0) return;
  app.reveal.value = { panel: "source", source, at: line, cursor: app.cursor.value };
}

/** The next event on a source line, of the focus thread if it comes there, else of any. */
export function runToLine(app: App, args: { source: number; line: number }): void {
  const { model } = app;
  const on = stopping(model, compile(model, lineQuery(model, args.source, args.line)));
  const mine: Predicate = (event) => model.events.thread[event] === app.thread.value && on(event);
  const find = (test: Predicate) => search(model, app.cursor.value, 1, test);
  go(app, find(mine) ?? find(on), `Nothing runs line ${args.line} after this.`);
}

export function focusOnThread(app: App, direction: Direction): void {
  const { threads } = app.model;
  const all = app.model.threadsOfBlock(app.launch.value, app.block.value);
  const list = all.length ? all : Int32Array.from({ length: threads.count }, (_, i) => i);
  const at = list.indexOf(app.thread.value);
  const next = list[(at + direction + list.length) % list.length];
  app.focus({ thread: next });
  app.notice.value = `Looking at ${threads.name(next)}.`;
}

export function focusOnBlock(app: App, direction: Direction): void {
  const { blocks } = app.model;
  const row = app.model.blockRow(app.launch.value, app.block.value);
  const next = row < 0 ? 0 : (row + direction + blocks.count) % blocks.count;
  if (!blocks.count) return;
  app.focus({ launch: blocks.launch[next], block: blocks.block[next] });
  const launch = app.model.launches[blocks.launch[next]];
  const place = tuple(coordinates(launch, blocks.block[next]) ?? []);
  app.notice.value = `Looking at block ${place} of ${launch.name}.`;
}

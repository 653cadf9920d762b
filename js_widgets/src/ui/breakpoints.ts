/** Breakpoints and watchpoints: queries that stop the way on, as plain data. */

import { type Direction, search, toBreakpoint } from "../model/navigation";
import { compile, type Predicate, type Query } from "../model/query";
import { lineQuery, stopping } from "../model/stops";
import type { Model } from "../model/trace";
import { ask, canRecordMore, recordMore } from "./live";
import { go } from "./moves";
import type { App, Breakpoint } from "./store";

const compiled = new WeakMap<object, Map<string, Query | null>>();

/** A breakpoint's query in this model; null where it does not parse. */
export function breakpointQuery(app: App, one: Breakpoint): Query | null {
  const { model } = app;
  let known = compiled.get(model);
  if (!known) {
    known = new Map();
    compiled.set(model, known);
  }
  let query = known.get(one.where);
  if (query === undefined) {
    try {
      query = compile(model, one.where);
    } catch {
      query = null;
    }
    known.set(one.where, query);
  }
  return query;
}

const stops = new WeakMap<Query, Predicate>();

/** Whether a breakpoint with a query can stop at an event. */
function stopsAt(model: Model, query: Query): Predicate {
  let test = stops.get(query);
  if (!test) {
    test = stopping(model, query);
    stops.set(query, test);
  }
  return test;
}

const silent = new WeakMap<Query, boolean>();

/** Whether no recorded event meets a breakpoint's query; found once. */
export function matchesNothing(app: App, one: Breakpoint): boolean {
  const query = breakpointQuery(app, one);
  if (!query) return false;
  let known = silent.get(query);
  if (known === undefined) {
    known = search(app.model, 0, 1, stopsAt(app.model, query)) === null;
    silent.set(query, known);
  }
  return known;
}

/** Whether only a kernel can say where it stops. */
export function needsKernel(one: Breakpoint): boolean {
  return Boolean(one.when || one.change);
}

export async function continueTo(app: App, direction: Direction): Promise<void> {
  if (direction > 0 && app.cursor.value === app.model.count && canRecordMore(app)) {
    await recordMore(app, () => void continueTo(app, 1));
    return;
  }
  const enabled = app.breakpoints.value.filter((one) => one.enabled);
  if (app.host && enabled.some(needsKernel)) {
    const args = { cursor: app.cursor.value, direction, breakpoints: enabled };
    const found = await ask(app, "continue", args, "Looking for the next breakpoint…");
    if (found) go(app, found.cursor);
    return;
  }
  if (direction < 0 && !enabled.length) {
    app.notice.value = "No breakpoint: stayed here. Home goes to the start.";
    return;
  }
  const usable = enabled.filter((one) => !needsKernel(one));
  const tests = usable
    .map((one) => breakpointQuery(app, one))
    .filter((query): query is Query => Boolean(query))
    .map((query) => stopsAt(app.model, query));
  go(app, toBreakpoint(app.model, app.cursor.value, direction, tests));
  const left = enabled.length - usable.length;
  if (left)
    app.notice.value = `${left} conditional breakpoint${left > 1 ? "s" : ""} skipped: conditions need a kernel.`;
  else if (app.notice.value === "") {
    const never = usable.filter((one) => matchesNothing(app, one));
    if (!tests.length) app.notice.value = "No breakpoint: went to the end.";
    else if (never.length)
      app.notice.value = `No recorded event on ${never.map((one) => one.label || one.where).join("; ")}.`;
  }
}

/** A toggle for a query, as the gutter uses it; the text is the identity. */
export function toggleBreakpoint(app: App, where: string, label: string): void {
  const { value } = app.breakpoints;
  const there = value.find((one) => one.where === where);
  if (there) app.breakpoints.value = value.filter((one) => one !== there);
  else addBreakpoint(app, { where, label });
}

export function addBreakpoint(app: App, part: Partial<Breakpoint>): void {
  const { value } = app.breakpoints;
  if (value.some((one) => one.where === part.where && !one.when)) return;
  const id = Math.max(0, ...value.map((one) => one.id)) + 1;
  const plain = { where: "", when: "", enabled: true, label: "" };
  app.breakpoints.value = [...value, { ...plain, ...part, id }];
}

export function breakHere(app: App): void {
  const event = app.event;
  const line = event >= 0 ? app.model.lineOf(event) : 0;
  if (!line) app.notice.value = "The current event has no source line.";
  else toggleBreakpoint(app, lineQuery(app.model, app.model.sourceOf(event), line), `line ${line}`);
}

/** The query of a watchpoint on the selected element, or on the whole buffer; "" without one. */
export function watchQuery(app: App): string {
  const { buffers } = app.model;
  const buffer = app.buffer.value;
  if (buffer < 0 || buffers.isSync(buffer)) return "";
  const element = app.element.value;
  const region = element ? `, region="[${element.join(", ")}]"` : "";
  return `buffer="${buffers.name(buffer)}"${region}, kind=("write", "update")`;
}

export function watch(app: App): void {
  const where = watchQuery(app);
  if (!where) app.notice.value = "Select a buffer first.";
  else {
    addBreakpoint(app, { where, label: "watch" });
    app.notice.value = `Watching: ${where}`;
  }
}

/**
 * Where a breakpoint stops: at the events that it matches, and on a line that calls something at
 * the first event of each call. The same rules as Python's `session/entries.py`.
 */

import { hasSite } from "./calls";
import { lowerBound } from "./groups";
import { calledFrom, isOnLine, type Predicate, type Query } from "./query";
import type { Kernel } from "./tables";
import { fileName } from "./text";
import type { Model } from "./trace";

/** The query of a source line; with its file where there are several. */
export function lineQuery(model: Model, source: number, line: number): string {
  if (model.sources.length < 2) return `line=${line}`;
  const { file } = model.sources[source];
  const name = fileName(file);
  const alike = model.sources.filter((one) => fileName(one.file) === name);
  return `line=${JSON.stringify(`${alike.length > 1 ? file : name}:${line}`)}`;
}

export function stopping(model: Model, query: Query): Predicate {
  const line = query.conditions.find(([name]) => name === "line")?.[1] ?? null;
  if (line === null) return query.matches;
  const called = calledFrom(model, line);
  const rest = query.besides("line");
  const isOpener = isOnLine(line);
  const opened = model.kernels.map((kernel) => openedBy(kernel, isOpener));
  const { kept } = model;
  const { thread } = model.events;

  /** Whether the line was come to once more since the thread's event before. */
  const anew = (event: number) => {
    const same = kept.get(event);
    if (same === undefined) return false;
    const { locs } = model.kernelOf(event);
    const callers = model.callersOf(event);
    return callers.slice(0, callers.length - same).some((row) => isOpener(locs[row]));
  };
  const goesOn = (before: number, event: number) => {
    const launch = model.launchOf(event);
    if (!called(before) || model.launchOf(before) !== launch || anew(event)) return false;
    const rows = opened[model.launches[launch].kernel];
    const [one, other] = [rows[model.scopeOf(before)], rows[model.scopeOf(event)]];
    const beside = one.parent === other.parent && one.loc !== other.loc;
    return one.scope === other.scope || beside;
  };
  const isFirst = (event: number) => {
    const events = model.eventsOfThread(thread[event]);
    let at = event;
    for (let i = lowerBound(events, event) - 1; i >= 0; i--) {
      const before = events[i];
      if (!goesOn(before, at)) return true;
      if (rest(before)) return false;
      at = before;
    }
    return true;
  };
  return (event) => query.matches(event) || (called(event) && rest(event) && isFirst(event));
}

interface Opened {
  readonly scope: number;
  readonly parent: number;
  readonly loc: number;
}

const NOWHERE: Opened = { scope: -1, parent: -1, loc: -1 };

/** For each scope the outermost around it that a line opens. */
function openedBy(kernel: Kernel, isOpener: ReturnType<typeof isOnLine>): readonly Opened[] {
  const rows: Opened[] = [];
  for (const [scope, one] of kernel.scopes.entries()) {
    const around = rows[one.parent] ?? NOWHERE;
    const opens = around === NOWHERE && hasSite(one) && isOpener(kernel.locs[one.loc]);
    rows.push(opens ? { scope, parent: one.parent, loc: one.loc } : around);
  }
  return rows;
}

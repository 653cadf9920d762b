/**
 * Where a breakpoint stops: at the events that it matches, and on a line that calls something at
 * the first event of each execution of the line. The same rules as Python's `session/entries.py`.
 */

import { hasSite } from "./calls";
import { lowerBound } from "./groups";
import type { Literal } from "./literals";
import { calledFrom, goesOver, isOnLine, type Predicate, type Query } from "./query";
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
  if (line === null || !callsSomething(model, line)) return query.matches;
  const isOpener = isOnLine(line);
  const sounding = soundingOf(model);
  const parts = model.kernels.map((kernel, k) => partsOf(kernel, sounding[k], line));
  const rest = query.besides("line");
  const { kept } = model;
  const { thread, instr } = model.events;
  const partAt = (event: number) =>
    parts[model.launches[model.launchOf(event)].kernel].get(instr[event]);

  /** Whether the line was come to once more since the thread's event before. */
  const anew = (event: number) => {
    const same = kept.get(event);
    if (same === undefined) return false;
    const { locs } = model.kernelOf(event);
    const callers = model.callersOf(event);
    return callers.slice(0, callers.length - same).some((row) => isOpener(locs[row]));
  };
  const goesOn = (before: number, event: number) => {
    const [one, other] = [partAt(before), partAt(event)];
    if (!one || !other || one.part !== other.part || anew(event)) return false;
    if (model.launchOf(before) !== model.launchOf(event)) return false;
    return instr[event] > instr[before] || !(one.isOwn || other.isOwn);
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
  return (event) => partAt(event) !== undefined && rest(event) && isFirst(event);
}

function callsSomething(model: Model, line: Literal): boolean {
  const called = calledFrom(model, line);
  for (let event = 0; event < model.count; event++) if (called(event)) return true;
  return false;
}

/** For each kernel the instructions that some event comes from. */
function soundingOf(model: Model): readonly ReadonlySet<number>[] {
  const found = model.kernels.map(() => new Set<number>());
  const { instr } = model.events;
  for (const launch of model.launches) {
    const sounding = found[launch.kernel];
    for (let e = launch.firstEvent; e < launch.lastEvent; e++) sounding.add(instr[e]);
  }
  return found;
}

/** What of a tape is one execution of a line; `isOwn`: in nothing that the line opens. */
interface Part {
  readonly part: number;
  readonly isOwn: boolean;
}

/** For each instruction of a line, and of what it calls, its part. */
function partsOf(
  kernel: Kernel,
  sounding: ReadonlySet<number>,
  line: Literal,
): ReadonlyMap<number, Part> {
  const [opened, isOwnLine] = [openedBy(kernel, isOnLine(line)), goesOver(line)];
  const found = new Map<number, Part>();
  const latest = new Map<number, number>();
  const seen = new Map<number, Map<string, number>>();
  let count = 0;
  for (let at = 0; at < kernel.ops.length; at++) {
    const around = opened[kernel.scope[at]];
    const isOwn = around === NOWHERE;
    if (!sounding.has(at) || (isOwn && !isOwnLine(kernel.locs[kernel.loc[at]]))) continue;
    const scope = isOwn ? -1 - at : around.scope;
    const parent = isOwn ? kernel.scope[at] : around.parent;
    const key = isOwn ? `${kernel.loc[at]} ${kernel.ops[at]}` : `${around.loc}`;
    // What the line does a second time it does in another execution.
    let part = latest.get(parent);
    if (part === undefined || (seen.get(parent)?.get(key) ?? scope) !== scope) {
      part = count++;
      latest.set(parent, part);
      seen.set(parent, new Map());
    }
    seen.get(parent)?.set(key, scope);
    found.set(at, { part, isOwn });
  }
  return found;
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

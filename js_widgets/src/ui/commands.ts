/** The commands of a debugger: buttons, keys and Python share their names. */

import {
  type Direction,
  type Focus,
  lastWrite,
  MOVES,
  search,
  toBreakpoint,
} from "../model/navigation";
import { compile, type Predicate, type Query } from "../model/query";
import { coordinates, tuple } from "../model/tables";
import { PANELS } from "../panels";
import { type Command, Registry } from "./keys";
import { ask, LIVE } from "./live";
import type { App, Breakpoint } from "./store";

export type AppCommand = Command<App>;

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
function go(app: App, to: number | null, nothing = "Nothing further."): void {
  app.notice.value = "";
  if (to === null) app.notice.value = nothing;
  else app.moveTo(to);
}

function mover(name: keyof typeof MOVES, direction: Direction, nothing?: (app: App) => string) {
  return (app: App) =>
    go(app, MOVES[name](app.model, focusOf(app), direction), nothing?.(app) ?? "Nothing further.");
}

const side = (direction: Direction) => (direction > 0 ? "No later event" : "No earlier event");
const ofThread = (direction: Direction) => (app: App) =>
  app.thread.value < 0
    ? "No thread is selected."
    : `${side(direction)} of ${app.model.threads.name(app.thread.value)}.`;
const ofBuffer = (direction: Direction) => (app: App) =>
  app.buffer.value < 0
    ? "No buffer is selected."
    : `${side(direction)} of ${app.model.buffers.name(app.buffer.value)}.`;
const ofBlock = (direction: Direction) => () => `${side(direction)} of this block.`;

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

/** Whether only a kernel can say where it stops. */
export function needsKernel(one: Breakpoint): boolean {
  return Boolean(one.when || one.change);
}

async function continueTo(app: App, direction: Direction): Promise<void> {
  const enabled = app.breakpoints.value.filter((one) => one.enabled);
  if (app.host && enabled.some(needsKernel)) {
    const args = { cursor: app.cursor.value, direction, breakpoints: enabled };
    const found = await ask(app, "continue", args, "Looking for the next breakpoint…");
    if (found) go(app, found.cursor);
    return;
  }
  const usable = enabled.filter((one) => !needsKernel(one));
  const tests = usable
    .map((one) => breakpointQuery(app, one)?.matches)
    .filter((test): test is Predicate => Boolean(test));
  go(app, toBreakpoint(app.model, app.cursor.value, direction, tests));
  const left = enabled.length - usable.length;
  if (left)
    app.notice.value = `${left} conditional breakpoint${left > 1 ? "s" : ""} skipped: conditions need a kernel.`;
  else if (!tests.length && app.notice.value === "") {
    app.notice.value =
      direction > 0 ? "No breakpoint: went to the end." : "No breakpoint: went to the start.";
  }
}

function goToLastWrite(app: App, args?: { buffer: number; element: readonly number[] }): void {
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

/** A toggle for a query, as the gutter uses it; the text is the identity. */
export function toggleBreakpoint(app: App, where: string, label: string): void {
  const { value } = app.breakpoints;
  const there = value.find((one) => one.where === where);
  if (there) app.breakpoints.value = value.filter((one) => one !== there);
  else addBreakpoint(app, { where, label });
}

export function addBreakpoint(app: App, part: Partial<Breakpoint>): void {
  const { value } = app.breakpoints;
  const id = Math.max(0, ...value.map((one) => one.id)) + 1;
  const plain = { where: "", when: "", enabled: true, label: "" };
  app.breakpoints.value = [...value, { ...plain, ...part, id }];
}

function breakHere(app: App): void {
  const event = app.event;
  const line = event >= 0 ? app.model.lineOf(event) : 0;
  if (!line) app.notice.value = "The current event has no source line.";
  else toggleBreakpoint(app, `line=${line}`, `line ${line}`);
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

function watch(app: App): void {
  const where = watchQuery(app);
  if (!where) app.notice.value = "Select a buffer first.";
  else {
    addBreakpoint(app, { where, label: "watch" });
    app.notice.value = `Watching: ${where}`;
  }
}

/** The next event on a source line, of the focus thread if it comes there, else of any. */
function runToLine(app: App, args: { source: number; line: number }): void {
  const { model } = app;
  const on: Predicate = (event) =>
    model.lineOf(event) === args.line && model.sourceOf(event) === args.source;
  const mine: Predicate = (event) => model.events.thread[event] === app.thread.value && on(event);
  const find = (test: Predicate) => search(model, app.cursor.value, 1, test);
  go(app, find(mine) ?? find(on), `Nothing runs line ${args.line} after this.`);
}

function focusOnThread(app: App, direction: Direction): void {
  const { threads } = app.model;
  const all = app.model.threadsOfBlock(app.launch.value, app.block.value);
  const list = all.length ? all : Array.from({ length: threads.count }, (_, i) => i);
  const at = list.indexOf(app.thread.value);
  const next = list[(at + direction + list.length) % list.length];
  app.focus({ thread: next });
  app.notice.value = `Looking at ${threads.name(next)}.`;
}

function focusOnBlock(app: App, direction: Direction): void {
  const { blocks } = app.model;
  const row = app.model.blockRow(app.launch.value, app.block.value);
  const next = row < 0 ? 0 : (row + direction + blocks.count) % blocks.count;
  if (!blocks.count) return;
  app.focus({ launch: blocks.launch[next], block: blocks.block[next] });
  const launch = app.model.launches[blocks.launch[next]];
  const place = tuple(coordinates(launch, blocks.block[next]) ?? []);
  app.notice.value = `Looking at block ${place} of ${launch.name}.`;
}

export const COMMANDS: readonly AppCommand[] = [
  { id: "first", title: "To the start", group: "Move", keys: ["Home"], run: (app) => go(app, 0) },
  {
    id: "reverse_continue",
    title: "Back to the previous breakpoint",
    group: "Move",
    keys: ["Shift+C"],
    run: (app) => continueTo(app, -1),
  },
  {
    id: "back",
    title: "One event back",
    group: "Move",
    keys: ["ArrowLeft", "P"],
    enabled: (app) => app.cursor.value > 0,
    run: mover("step", -1),
  },
  {
    id: "step",
    title: "One event further",
    group: "Move",
    keys: ["ArrowRight", "N"],
    enabled: (app) => app.cursor.value < app.model.count,
    run: mover("step", 1),
  },
  {
    id: "continue_",
    title: "On to the next breakpoint",
    group: "Move",
    keys: ["C"],
    run: (app) => continueTo(app, 1),
  },
  {
    id: "last",
    title: "To the end",
    group: "Move",
    keys: ["End"],
    run: (app) => go(app, app.model.count),
  },

  {
    id: "prev_line",
    title: "Previous line of this thread",
    group: "Source",
    keys: ["ArrowUp"],
    run: mover("line", -1, ofThread(-1)),
  },
  {
    id: "next_line",
    title: "Next line of this thread",
    group: "Source",
    keys: ["ArrowDown"],
    run: mover("line", 1, ofThread(1)),
  },
  {
    id: "over_back",
    title: "Back over calls and loops inside",
    group: "Source",
    keys: ["Shift+O"],
    run: mover("over", -1, ofThread(-1)),
  },
  {
    id: "over",
    title: "Step over calls and loops inside",
    group: "Source",
    keys: ["O"],
    run: mover("over", 1, ofThread(1)),
  },
  {
    id: "out_back",
    title: "Back out of this loop or call",
    group: "Source",
    keys: ["Shift+U"],
    run: mover("out", -1, ofThread(-1)),
  },
  {
    id: "out",
    title: "Step out of this loop or call",
    group: "Source",
    keys: ["U"],
    run: mover("out", 1, ofThread(1)),
  },

  {
    id: "prev_thread",
    title: "Previous event of this thread",
    group: "Same",
    keys: ["Shift+T"],
    run: mover("thread", -1, ofThread(-1)),
  },
  {
    id: "next_thread",
    title: "Next event of this thread",
    group: "Same",
    keys: ["T"],
    run: mover("thread", 1, ofThread(1)),
  },
  {
    id: "prev_block",
    title: "Previous event of this block",
    group: "Same",
    keys: ["Shift+B"],
    run: mover("block", -1, ofBlock(-1)),
  },
  {
    id: "next_block",
    title: "Next event of this block",
    group: "Same",
    keys: ["B"],
    run: mover("block", 1, ofBlock(1)),
  },
  {
    id: "prev_buffer",
    title: "Previous event of this buffer",
    group: "Same",
    keys: ["Shift+M"],
    run: mover("buffer", -1, ofBuffer(-1)),
  },
  {
    id: "next_buffer",
    title: "Next event of this buffer",
    group: "Same",
    keys: ["M"],
    run: mover("buffer", 1, ofBuffer(1)),
  },

  {
    id: "prev_finding",
    title: "Previous finding",
    group: "Findings",
    keys: ["Shift+F"],
    enabled: (app) => app.model.findings.length > 0,
    run: mover("finding", -1, () => "No earlier finding."),
  },
  {
    id: "next_finding",
    title: "Next finding",
    group: "Findings",
    keys: ["F"],
    enabled: (app) => app.model.findings.length > 0,
    run: mover("finding", 1, () => "No later finding."),
  },
  {
    id: "last_write",
    title: "Last write to the selected element",
    group: "Findings",
    keys: ["W"],
    enabled: (app) => app.element.value !== null,
    run: goToLastWrite,
  },
  {
    id: "run_to_line",
    title: "Run to the current line again",
    group: "Source",
    keys: ["R"],
    run: (app, args) => {
      const last = app.model.lastOfThread(app.thread.value, app.cursor.value);
      const here = { source: app.model.sourceOf(last), line: app.model.lineOf(last) };
      if (args || last >= 0) runToLine(app, args ?? here);
    },
  },
  {
    id: "break_here",
    title: "Breakpoint on the current line",
    group: "Findings",
    keys: ["."],
    run: breakHere,
  },

  {
    id: "watch",
    title: "Watch the selected element or buffer",
    group: "Findings",
    keys: ["Shift+W"],
    enabled: (app) => watchQuery(app) !== "",
    run: watch,
  },
  {
    id: "focus_thread",
    title: "Look at the next thread of the block",
    group: "Look",
    keys: ["]"],
    run: (app) => focusOnThread(app, 1),
  },
  {
    id: "focus_prev_thread",
    title: "Look at the previous thread of the block",
    group: "Look",
    keys: ["["],
    run: (app) => focusOnThread(app, -1),
  },
  {
    id: "focus_block",
    title: "Look at the next block",
    group: "Look",
    keys: ["}"],
    run: (app) => focusOnBlock(app, 1),
  },
  {
    id: "focus_prev_block",
    title: "Look at the previous block",
    group: "Look",
    keys: ["{"],
    run: (app) => focusOnBlock(app, -1),
  },
  {
    id: "pin_buffer",
    title: "Keep this buffer while the cursor moves",
    group: "Look",
    keys: ["K"],
    run: pinBuffer,
  },

  {
    id: "help",
    title: "Commands and keys",
    group: "View",
    keys: ["?", "Ctrl+K"],
    run: (app) => toggle(app, "help"),
  },
  {
    id: "breakpoints",
    title: "Breakpoints",
    group: "View",
    keys: ["Shift+K"],
    run: (app) => toggle(app, "breakpoints"),
  },
  {
    id: "zoom_panel",
    title: "Enlarge the active panel",
    group: "View",
    keys: ["Z"],
    run: (app) => zoom(app),
  },
];

function pinBuffer(app: App): void {
  const pinned = !app.pins.value.buffer;
  app.pins.value = { ...app.pins.value, buffer: pinned };
  app.notice.value = pinned ? "The buffer stays selected." : "The buffer follows the cursor.";
}

function toggle(app: App, name: string): void {
  app.overlay.value = app.overlay.value === name ? null : name;
}

function zoom(app: App): void {
  const { zoomed, order } = app.panel.value;
  app.panel.value = { ...app.panel.value, zoomed: zoomed ? null : (order?.[0] ?? "source") };
}

/** Brings a panel to the front of its dock. */
export function showPanel(app: App, id: string): void {
  const { order, zoomed } = app.panel.value;
  const others = ((order ?? []) as string[]).filter((other) => other !== id);
  app.panel.value = { ...app.panel.value, order: [id, ...others], zoomed: zoomed ? id : null };
}

let registry: Registry<App> | null = null;

/** Every command: ours, one to show each panel, and those that panels bring. */
export function commands(): Registry<App> {
  if (!registry) {
    registry = new Registry<App>();
    registry.add(COMMANDS);
    registry.add(LIVE);
    registry.add(
      PANELS.map((panel, i) => ({
        id: `show_${panel.id}`,
        title: `Show ${panel.title}`,
        group: "View",
        keys: [String(i + 1)],
        run: (app: App) => showPanel(app, panel.id),
      })),
    );
    for (const panel of PANELS) registry.add(panel.commands ?? []);
  }
  return registry;
}

// biome-ignore lint/suspicious/noExplicitAny: each command knows its arguments
export function runCommand(app: App, id: string, args?: any): void {
  const command = commands().find(id);
  if (command.live && !app.host) {
    app.notice.value = "That needs a live kernel; this page has none.";
    return;
  }
  if (command.enabled && !command.enabled(app)) return;
  command.run(app, args);
}

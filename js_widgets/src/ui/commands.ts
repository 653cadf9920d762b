/** The commands of a debugger: buttons, keys and Python share their names. */

import { PANELS } from "../panels";
import { breakHere, continueTo, watch, watchQuery } from "./breakpoints";
import { type Command, Registry } from "./keys";
import { LIVE } from "./live";
import {
  focusOnBlock,
  focusOnThread,
  go,
  goToLastWrite,
  mover,
  ofBlock,
  ofBuffer,
  ofThread,
  runToLine,
} from "./moves";
import type { App } from "./store";

export type AppCommand = Command<App>;

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

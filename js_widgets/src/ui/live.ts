/** Commands that need a kernel; a static page does not show them. */

import { grouped } from "../model/text";
import type { AppCommand } from "./commands";
import type { App, Json } from "./store";

/** Asks the kernel, says what it does meanwhile, and why it could not. */
export async function ask(app: App, type: string, args: Json, doing: string): Promise<Json | null> {
  if (!app.host) return null;
  app.notice.value = doing;
  try {
    const { content } = await app.host.request(type, { run: app.run.value, ...args });
    app.notice.value = "";
    return content;
  } catch (error) {
    app.notice.value = (error as Error).message;
    return null;
  }
}

/** Asks for another run and goes there: a what-if never changes the recording. */
export async function askForRun(app: App, type: string, args: Json): Promise<void> {
  const made = await ask(app, type, args, "Running…");
  if (made) app.showRun(made.run, made.cursor ?? app.cursor.value);
}

/** Whether the recording was cut before its launch ended, and a kernel can go on with it. */
export function canRecordMore(app: App): boolean {
  const last = app.model.launches.at(-1);
  const cut = ["truncated", "interrupted"].includes(last?.outcome.kind ?? "");
  return Boolean(app.host) && app.run.value === 0 && cut;
}

/** Records on in the kernel, then does what was waiting for it; while it records: stops it. */
export async function recordMore(app: App, then: () => void = () => {}): Promise<void> {
  if (app.recording.value !== null) {
    await ask(app, "more", { stop: true }, "Stopping…");
    return;
  }
  const before = app.model.count;
  app.recording.value = "";
  const answer = await ask(app, "more", {}, "Recording more…");
  if (!answer) app.recording.value = null;
  if (app.recording.value === null) return;
  const stop = app.recording.subscribe((value) => {
    if (value !== null) return;
    queueMicrotask(() => stop());
    const more = app.runs.value[0].model.count - before;
    if (more > 0) app.notice.value = `${grouped(more)} more events.`;
    if (more > 0) then();
  });
}

async function origin(app: App): Promise<void> {
  const found = await ask(app, "origin", { event: app.event }, "Following the value back…");
  if (!found) return;
  app.origin.value = found;
  app.overlay.value = "origin";
}

export const LIVE: readonly AppCommand[] = [
  {
    id: "record_more",
    title: "Record more of a recording that was cut, or stop doing so",
    group: "Ask the kernel",
    keys: ["Shift+R"],
    live: true,
    enabled: canRecordMore,
    run: (app) => void recordMore(app),
  },
  {
    id: "origin",
    title: "Where did this value come from?",
    group: "Ask the kernel",
    keys: ["X"],
    live: true,
    enabled: (app) => app.event >= 0,
    run: (app) => void origin(app),
  },
  {
    id: "interleave",
    title: "Run again with another interleaving",
    group: "Ask the kernel",
    keys: ["Shift+X"],
    live: true,
    run: (app) => void askForRun(app, "interleave", { seed: app.runs.value.length }),
  },
];

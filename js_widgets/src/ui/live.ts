/** Commands that need a kernel; a static page does not show them. */

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

async function origin(app: App): Promise<void> {
  const found = await ask(app, "origin", { event: app.event }, "Following the value back…");
  if (!found) return;
  app.origin.value = found;
  app.overlay.value = "origin";
}

export const LIVE: readonly AppCommand[] = [
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

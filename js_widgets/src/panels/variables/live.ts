/** The variables of a thread as a live kernel knows them: every register, by name. */

import { effect, type Signal, signal } from "@preact/signals";
import type { App } from "../../ui/store";

export interface LiveVariable {
  readonly name: string;
  readonly text: string;
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly changed: boolean;
  /** Row of the buffer that the name stands for, or -1. */
  readonly buffer?: number;
}

export interface LiveAnswer {
  readonly at: number;
  readonly thread: number;
  readonly variables: readonly LiveVariable[];
  readonly error: string;
  /** What to do about the error, or "". */
  readonly hint: string;
}

const DELAY = 80;

/** Asks whenever the cursor or the thread has come to rest; the last answer stays until the next. */
export function follow(app: App): { answer: Signal<LiveAnswer | null>; stop: () => void } {
  const answer = signal<LiveAnswer | null>(null);
  let timer: ReturnType<typeof setTimeout> | undefined;
  let asked = 0;
  const stop = effect(() => {
    const [at, thread, run] = [app.cursor.value, app.thread.value, app.run.value];
    clearTimeout(timer);
    const { host } = app;
    if (!host || thread < 0) return;
    timer = setTimeout(async () => {
      const mine = ++asked;
      try {
        const { content } = await host.request("variables", { thread, at, run });
        if (mine === asked)
          answer.value = { at, thread, variables: content.variables ?? [], error: "", hint: "" };
      } catch (error) {
        const { message, hint = "" } = error as Error & { hint?: string };
        if (mine === asked) answer.value = { at, thread, variables: [], error: message, hint };
      }
    }, DELAY);
  });
  return {
    answer,
    stop: () => {
      clearTimeout(timer);
      asked++;
      stop();
    },
  };
}

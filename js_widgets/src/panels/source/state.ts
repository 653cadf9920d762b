/** What the source panel remembers, and how others bring a line into view. */

import type { Signal } from "@preact/signals";
import type { App } from "../../ui/store";

export interface SourceState {
  /** A file chosen by hand, while the cursor stays at `at`; else the focus is followed. */
  readonly file: number;
  readonly at: number;
  /** Null: where there is room. */
  readonly counts: boolean | null;
  readonly listing: boolean;
}

export function sourceState(app: App): Signal<SourceState> {
  return app.slice<SourceState>("source", { file: -1, at: -1, counts: null, listing: false });
}

/** Shows a line of a source without moving the cursor. */
export function placeSource(app: App, source: number, line: number): void {
  if (source < 0 || line <= 0) return;
  const state = sourceState(app);
  state.value = { ...state.value, file: source, at: app.cursor.value };
  app.reveal.value = { panel: "source", at: line, cursor: app.cursor.value };
}

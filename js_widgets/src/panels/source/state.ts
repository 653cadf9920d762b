/** What the source panel remembers. */

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

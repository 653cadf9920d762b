/** What the source panel remembers. */

import type { Signal } from "@preact/signals";
import type { Finding } from "../../model/rows";
import type { App } from "../../ui/store";
import { selected } from "../findings/select";

export interface SourceState {
  /** A file chosen by hand, while the cursor stays at `at`; else the focus is followed. */
  readonly file: number;
  readonly at: number;
  /** Null: where there is room. */
  readonly counts: boolean | null;
  readonly listing: boolean;
  /** Findings that were opened or folded by hand. */
  readonly notes: Readonly<Record<number, boolean>>;
}

/** Width of the panel below which findings are folded to a line each. */
const ROOM_FOR_NOTES = 700;

/** Which findings show their whole text: where room is scarce the selected one, or the first. */
export function openNotes(app: App, width: number): ((finding: number) => boolean) | null {
  if (width >= ROOM_FOR_NOTES) return null;
  const { findings } = app.model;
  const { selected: chosen } = selected(app).value;
  const isRoot = ({ cause = -1, severity }: Finding) => severity === "error" && !findings[cause];
  const error = findings.findIndex(isRoot);
  const main = findings[chosen] ? chosen : Math.max(error, 0);
  const { notes } = sourceState(app).value;
  return (finding) => notes[finding] ?? finding === main;
}

export function toggleNote(app: App, finding: number, open: boolean): void {
  const state = sourceState(app);
  state.value = { ...state.value, notes: { ...state.value.notes, [finding]: open } };
}

export function sourceState(app: App): Signal<SourceState> {
  const start = { file: -1, at: -1, counts: null, listing: false, notes: {} };
  return app.slice<SourceState>("source", start);
}

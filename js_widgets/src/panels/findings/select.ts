/** Selects a finding: the cursor, the source, the block and the buffer go to its evidence. */

import { batch, type Signal } from "@preact/signals";
import type { App } from "../../ui/store";
import { placeSource } from "../source/state";

export function selected(app: App): Signal<{ selected: number }> {
  return app.slice("findings", { selected: -1 });
}

export function showFinding(app: App, number: number): void {
  const finding = app.model.findings[number];
  if (!finding) return;
  batch(() => {
    selected(app).value = { selected: number };
    const { model } = app;
    // The event on the line that the finding names, else the first one.
    const on = finding.events.find(
      (event) => finding.line > 0 && model.lineOf(event) === finding.line,
    );
    const event = on ?? finding.events[0];
    if (event !== undefined) app.jump(event);
    else if (finding.launch >= 0) app.focus({ launch: finding.launch });
    if (finding.buffer_row >= 0) app.focus({ buffer: finding.buffer_row });
    if (event === undefined && finding.block_linear >= 0)
      app.focus({ block: finding.block_linear });
    if (event === undefined || model.lineOf(event) !== finding.line)
      placeSource(app, finding.source, finding.line);
  });
}

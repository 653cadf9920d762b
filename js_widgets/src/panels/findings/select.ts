/** Selects a finding: the cursor, the source, the block and the buffer go to its evidence. */

import { batch, type Signal } from "@preact/signals";
import type { Direction } from "../../model/navigation";
import type { Finding } from "../../model/rows";
import { showPanel } from "../../ui/commands";
import { showLine } from "../../ui/moves";
import type { App } from "../../ui/store";

interface Selected {
  readonly selected: number;
  /** The cursor to which choosing it led. */
  readonly at?: number;
}

export function selected(app: App): Signal<Selected> {
  return app.slice<Selected>("findings", { selected: -1 });
}

/** The event to look at first: one on the line that the finding names, else its first. */
function mainEvent(app: App, finding: Finding): number | undefined {
  const on = (event: number) => finding.line > 0 && app.model.lineOf(event) === finding.line;
  return finding.events.find(on) ?? finding.events[0];
}

/** Goes to the next stop of a finding: each of its events is one, and so is a finding without. */
export function stepFinding(app: App, direction: Direction): void {
  const { findings, count } = app.model;
  const stops = findings.flatMap((one, number) =>
    (one.events.length ? [...one.events] : [count]).map((event) => [event, number] as const),
  );
  const { selected: chosen, at } = selected(app).value;
  const event = findings[chosen]?.events.length === 0 ? count : app.event;
  // Nothing chosen here: on the way on, the current event's findings still count.
  const from: Stop = at === app.cursor.value ? [event, chosen] : [app.event, -1];
  const order = ([a, i]: Stop, [b, j]: Stop) =>
    a - b || causesOf(findings, i) - causesOf(findings, j) || i - j;
  const ahead = (one: Stop) => direction * order(one, from) > 0;
  const next = stops.filter(ahead).sort((a, b) => direction * order(a, b))[0];
  if (!next) app.notice.value = `No ${direction > 0 ? "later" : "earlier"} finding.`;
  else {
    showFinding(app, next[1], next[0] < count ? next[0] : undefined);
    if (!app.panel.value.zoomed) showPanel(app, "findings");
    const { code, name } = findings[next[1]];
    app.notice.value = `Finding ${next[1] + 1} of ${findings.length}: ${code} ${name}`;
  }
}

type Stop = readonly [event: number, finding: number];

/** How many findings a finding follows from, -1 for none: at one event the roots come first. */
function causesOf(findings: readonly Finding[], number: number): number {
  let count = -1;
  for (let at = number; findings[at] && count < findings.length; at = findings[at].cause ?? -1)
    count++;
  return count;
}

export function showFinding(app: App, number: number, given?: number): void {
  const finding = app.model.findings[number];
  if (!finding) return;
  batch(() => {
    const { model } = app;
    const event = given ?? mainEvent(app, finding);
    if (event !== undefined) app.jump(event);
    else if (finding.launch >= 0) app.focus({ launch: finding.launch });
    if (finding.buffer_row >= 0) app.focus({ buffer: finding.buffer_row });
    if (event === undefined && finding.block_linear >= 0)
      app.focus({ block: finding.block_linear });
    selected(app).value = { selected: number, at: app.cursor.value };
    // Its other events show where they are themselves.
    const other = given !== undefined && given !== mainEvent(app, finding) ? given : -1;
    if (other >= 0 && model.lineOf(other) > 0)
      showLine(app, model.sourceOf(other), model.lineOf(other));
    else showLine(app, finding.source, finding.line);
  });
}

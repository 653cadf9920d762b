/** Below the heat map: what the colors mean, and the element under the pointer; all of it in words, too. */

import { grouped, plural } from "../../model/text";
import { formatNumber } from "../../model/values";
import { Ramp, Swatch } from "../drawing/swatch";
import type { MemoryView } from "./view";

/** The picture in words. */
export function label(view: MemoryView): string {
  const data = view.sheet.value;
  const buffer = view.buffer.value;
  if (!data || buffer < 0) return "";
  const { survey } = data;
  const parts = [`${view.app.model.buffers.name(buffer)}, ${view.app.model.buffers.type(buffer)}`];
  if (survey.low <= survey.high) parts.push(`values from ${survey.low} to ${survey.high}`);
  if (survey.nan) parts.push(`${survey.nan} NaN`);
  if (survey.infinite) parts.push(`${survey.infinite} infinite`);
  if (survey.unset) parts.push(`${survey.unset} uninitialized`);
  if (survey.missing) parts.push(`${survey.missing} not held by this page`);
  const access = view.access;
  if (access) parts.push(`the current event ${access.how}s a part`);
  return `${parts.join(", ")}. Arrows select an element, Enter goes to its last write, plus and minus zoom.`;
}

export function Legend({ view }: { view: MemoryView }) {
  const data = view.sheet.value;
  if (!data) return null;
  const { survey, range, memory, change } = data;
  const theme = view.app.theme.value;
  const text = (number: number) => formatNumber(number, memory.dtype, 4);
  const keys: [number, { color: string; pattern: string; hollow?: boolean }, string][] = [
    [survey.nan, { color: theme.abort, pattern: "cross" }, "NaN"],
    [survey.infinite, { color: theme.write, pattern: "rising" }, "infinite"],
    [survey.unset, { color: theme.muted, pattern: "rising", hollow: true }, "uninitialized"],
    [survey.missing, { color: theme.done, pattern: "dots", hollow: true }, "not in this page"],
  ];
  return (
    <div class="pd-legend" role="note">
      {survey.low <= survey.high && (
        <Ramp kind={range.kind} dark={theme.dark} low={text(range.low)} high={text(range.high)} />
      )}
      {keys.map(([n, look, name]) =>
        n > 0 ? (
          <span class="pd-legend-key" key={name}>
            <Swatch {...look} />
            {`${n === survey.total ? "all" : `${survey.exact ? "" : "about "}${grouped(n)}`} ${name}`}
          </span>
        ) : null,
      )}
      {change.total > 0 && (
        <span class="pd-legend-key">{`◥ ${plural(change.total, "value")} changed`}</span>
      )}
    </div>
  );
}

/** The element under the pointer, or else the selected one. */
export function Element({ view, place }: { view: MemoryView; place: readonly number[] | null }) {
  const { app } = view;
  if (!place || !view.sheet.value) {
    return (
      <div class="pd-element pd-muted">Point at an element to see its value and who wrote it.</div>
    );
  }
  const event = view.writerOf(place);
  const where = event >= 0 ? app.model.place(event) : "";
  return (
    <div class="pd-element">
      <strong class="pd-mono">{view.valueText(place)}</strong>
      <span class="pd-mono pd-ellipsis">{`= ${view.name(place)}`}</span>
      {event >= 0 ? (
        <button type="button" class="pd-link pd-ellipsis" onClick={() => app.jump(event)}>
          {`written by #${grouped(event)}, ${app.model.threads.name(app.model.events.thread[event])}${where ? `, ${where}` : ""}`}
        </button>
      ) : (
        <span class="pd-muted pd-ellipsis">not written so far</span>
      )}
    </div>
  );
}

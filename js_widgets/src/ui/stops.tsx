/** The list of breakpoints and watchpoints: add, edit, enable, delete. */

import type { JSX } from "preact";
import { literalText } from "../model/literals";
import { compile } from "../model/query";
import { addBreakpoint, matchesNothing, needsKernel, watchQuery } from "./breakpoints";
import { copyPython } from "./clipboard";
import { Dialog } from "./dialog";
import { Icon } from "./icons";
import type { App, Breakpoint } from "./store";

/** Breakpoints that are often wanted, as a button each. */
function offers(app: App): [title: string, where: string][] {
  const line = app.event >= 0 ? app.model.lineOf(app.event) : 0;
  const found: [string, string][] = [
    ["First NaN", "nan=True"],
    ["Any finding", "finding=True"],
  ];
  if (line) found.unshift([`Line ${line}`, `line=${line}`]);
  const watched = watchQuery(app);
  if (watched) found.push([app.element.value ? "Watch the element" : "Watch the buffer", watched]);
  return found;
}

function pythonOf(one: Breakpoint): string {
  const when = one.when ? `, when=${literalText(one.when)}` : "";
  return `session.break_at(${one.where}${when})`;
}

export function Breakpoints({ app }: { app: App }): JSX.Element {
  const { value } = app.breakpoints;
  const tools = (
    <button
      type="button"
      class="pd-tool"
      aria-label="Copy as Python"
      title="Copy as Python"
      disabled={!value.length}
      onClick={() => copyPython(app, value.map(pythonOf).join("\n"))}
    >
      <Icon name="copy" />
    </button>
  );
  return (
    <Dialog app={app} title="Breakpoints and watchpoints" tools={tools}>
      {value.map((one) => (
        <Row key={one.id} app={app} one={one} />
      ))}
      {!value.length && (
        <p class="pd-muted pd-note-text">
          None yet. Click beside a line number, or press <span class="pd-key">.</span> on the
          current line.
        </p>
      )}
      <div class="pd-offers">
        {offers(app).map(([title, where], i) => (
          <button
            type="button"
            class="pd-button"
            key={title}
            data-first={i === 0 ? true : undefined}
            title={where}
            onClick={() => addBreakpoint(app, { where })}
          >
            <Icon name="plus" />
            {title}
          </button>
        ))}
        <button type="button" class="pd-button" onClick={(event) => write(app, event)}>
          <Icon name="plus" />
          Query
        </button>
      </div>
    </Dialog>
  );
}

const QUERY = 'kind="write"';

/** A query to write: a new one, or the one that nobody has changed yet. */
function write(app: App, event: Event): void {
  const dialog = (event.currentTarget as Element).closest(".pd-dialog");
  addBreakpoint(app, { where: QUERY });
  setTimeout(() => {
    const fields = dialog?.querySelectorAll<HTMLInputElement>('[aria-label="Where"]') ?? [];
    const field = [...fields].find((one) => one.value === QUERY);
    field?.focus();
    field?.select();
  });
}

function Row({ app, one }: { app: App; one: Breakpoint }): JSX.Element {
  const change = (part: Partial<Breakpoint>) => {
    app.breakpoints.value = app.breakpoints.value.map((other) =>
      other.id === one.id ? { ...one, ...part } : other,
    );
  };
  const remove = () => {
    app.breakpoints.value = app.breakpoints.value.filter((other) => other.id !== one.id);
  };
  const fault = faultOf(app, one.where);
  const when = Boolean(app.host || one.when);
  const note =
    fault ??
    (needsKernel(one) && !app.host
      ? "Its condition needs a live kernel; this page has none."
      : matchesNothing(app, one)
        ? "No recorded event meets this."
        : "");
  return (
    <div class={`pd-break ${when ? "" : "pd-short"}`}>
      <input
        type="checkbox"
        aria-label="Enabled"
        checked={one.enabled}
        onChange={(event) => change({ enabled: event.currentTarget.checked })}
      />
      <input
        class="pd-field"
        aria-label="Where"
        aria-invalid={Boolean(fault)}
        placeholder="line=41, block=(0, 0)"
        value={one.where}
        onInput={(event) => change({ where: event.currentTarget.value, label: "" })}
      />
      {when && (
        <input
          class="pd-field"
          aria-label="Condition over the thread's variables"
          placeholder="when, e.g. acc.max() > 3"
          value={one.when}
          onInput={(event) => change({ when: event.currentTarget.value })}
        />
      )}
      <label title="Stop only where the values in the region change">
        <input
          type="checkbox"
          checked={Boolean(one.change)}
          onChange={(event) => change({ change: event.currentTarget.checked })}
        />{" "}
        change
      </label>
      <button type="button" class="pd-tool pd-small" aria-label="Delete" onClick={remove}>
        <Icon name="trash" />
      </button>
      {note && <span class={`pd-break-note ${fault ? "pd-error" : "pd-muted"}`}>{note}</span>}
    </div>
  );
}

/** What is wrong with a query, or null. */
function faultOf(app: App, where: string): string | null {
  try {
    compile(app.model, where);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

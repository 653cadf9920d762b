/** Every event as a row, filtered by the query language of Python's `events.where`. */

import { type Signal, useComputed, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { lowerBound } from "../model/groups";
import type { QueryError } from "../model/literals";
import { compile, where } from "../model/query";
import { grouped, KIND_NAMES, plural } from "../model/text";
import type { Model } from "../model/trace";
import { copyPython } from "../ui/clipboard";
import { Icon } from "../ui/icons";
import type { App } from "../ui/store";
import { VirtualList } from "../ui/virtual";
import { WORDS } from "../ui/words";
import type { Panel } from "./panel";

const ROW = 22;

interface Answer {
  /** Matching events, or null for all of them. */
  readonly events: Int32Array | null;
  readonly error: string;
}

function answer(app: App, last: Answer): Answer {
  const text = app.filter.value.trim();
  if (!text) return { events: null, error: "" };
  try {
    return { events: where(app.model, compile(app.model, text)), error: "" };
  } catch (error) {
    return { events: last.events, error: (error as QueryError).message };
  }
}

function Events({ app }: { app: App }): JSX.Element {
  const { model } = app;
  const last = useSignal<Answer>({ events: null, error: "" });
  const found = useComputed(() => answer(app, last.peek()));
  const { events, error } = found.value;
  if (!error) last.value = found.value;
  const count = events ? events.length : model.count;
  const eventOf = (row: number) => (events ? events[row] : row);
  const rowOf = (event: number) => (events ? lowerBound(events, event) : event);
  const current = app.event;
  const at = Math.min(Math.max(rowOf(current), 0), Math.max(count - 1, 0));
  const exact = count > 0 && eventOf(at) === current;

  const key = (event: KeyboardEvent) => {
    const page = Math.max(
      Math.floor(((event.currentTarget as HTMLElement).clientHeight || 400) / ROW) - 2,
      1,
    );
    const by = { ArrowDown: 1, ArrowUp: exact ? -1 : 0, PageDown: page, PageUp: -page }[event.key];
    const to =
      event.key === "Home" ? 0 : event.key === "End" ? count - 1 : by === undefined ? -1 : at + by;
    if (by === undefined && to < 0) return;
    if (count)
      app.jump(
        eventOf(Math.min(Math.max(event.key === "ArrowDown" && !exact ? at : to, 0), count - 1)),
      );
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="pd-panel">
      <Filter app={app} error={error} count={count} />
      {count ? (
        <VirtualList
          count={count}
          rowHeight={ROW}
          class={error ? "pd-stale" : ""}
          role="grid"
          label="Events"
          reveal={at}
          revealKey={current}
          onKeyDown={key}
          activeId={exact ? "pd-event-current" : undefined}
          header={<Head app={app} />}
          render={(row) => (
            <Row app={app} event={eventOf(row)} current={eventOf(row) === current} />
          )}
        />
      ) : (
        <div class="pd-empty">No event meets these conditions.</div>
      )}
    </div>
  );
}

const HEADS = [
  ["event", "Number of the event in the recording, from #0"],
  ["thread", "Its number, for thread= in a filter, and its name"],
  ["what", "What happened"],
  ["line", "Source line"],
  ["tick", WORDS.tick],
];

/** The class of a row: lines with their file need more room. */
const widths = (app: App) => (app.model.hasFiles ? "pd-event-files" : "");

function Head({ app }: { app: App }) {
  return (
    <div class={`pd-event pd-event-head ${widths(app)}`} role="row">
      {HEADS.map(([name, title]) => (
        <span key={name} role="columnheader" title={title}>
          {name}
        </span>
      ))}
    </div>
  );
}

function Row({ app, event, current }: { app: App; event: number; current: boolean }): JSX.Element {
  const { model } = app;
  const thread = model.events.thread[event];
  const name = model.threads.name(thread);
  const kind = KIND_NAMES[model.events.kind[event]];
  const [verb, ...rest] = model.what(event).split(" ");
  return (
    <div
      class={`pd-event ${widths(app)} ${current ? "pd-current" : ""}`}
      role="row"
      id={current ? "pd-event-current" : undefined}
      aria-selected={current}
      onClick={() => app.jump(event)}
    >
      <span role="gridcell" class="pd-muted">
        {grouped(event)}
      </span>
      <span role="gridcell" class="pd-ellipsis" title={name}>
        <span class="pd-muted">#{thread}</span> {name}
      </span>
      <span role="gridcell" class="pd-ellipsis">
        <span class={`pd-verb pd-verb-${kind}`}>{verb}</span> {rest.join(" ")}
      </span>
      <Line model={model} event={event} />
      <span role="gridcell" class="pd-muted">
        {model.tickOf(event)}
      </span>
    </div>
  );
}

/** The source line; of a long file name the number still shows. */
function Line({ model, event }: { model: Model; event: number }) {
  const line = model.lineOf(event);
  const file = line && model.hasFiles ? model.lineSaid(event).slice(0, -`:${line}`.length) : "";
  return (
    <span role="gridcell" class="pd-mono pd-muted pd-event-place" title={model.place(event)}>
      {file && <span class="pd-ellipsis">{file}</span>}
      {line > 0 && (file ? `:${line}` : line)}
    </span>
  );
}

function suggestions(app: App): [title: string, text: string][] {
  const { model } = app;
  const found: [string, string][] = [["writes", 'kind=("write", "update")']];
  if (app.thread.value >= 0) found.push(["this thread", `thread=${app.thread.value}`]);
  if (app.block.value >= 0) found.push(["this block", `block=${app.block.value}`]);
  if (app.buffer.value >= 0)
    found.push(["this buffer", `buffer=${JSON.stringify(model.buffers.name(app.buffer.value))}`]);
  found.push(["waits", 'kind=("block", "wait")'], ["NaN", "nan=True"]);
  if (model.findings.length) found.push(["in findings", "finding=True"]);
  return found;
}

function Filter({ app, error, count }: { app: App; error: string; count: number }): JSX.Element {
  const filter: Signal<string> = app.filter;
  const text = filter.value.trim();
  const add = (value: string) => {
    if (value) filter.value = text && !error ? `${text}, ${value}` : value;
  };
  return (
    <div class="pd-filter">
      <div class="pd-bar">
        <input
          class="pd-field pd-mono pd-grow"
          data-pd="filter"
          aria-label="Filter events, as Python's events.where"
          aria-invalid={Boolean(error)}
          aria-describedby="pd-filter-error"
          placeholder={'kind="write", buffer="acc", block=(0, 1)'}
          spellcheck={false}
          value={filter.value}
          onInput={(event) => {
            filter.value = event.currentTarget.value;
          }}
        />
        <select
          class="pd-select pd-add"
          aria-label="Add a condition"
          value=""
          onChange={(event) => {
            const { value: chosen } = event.currentTarget;
            add(suggestions(app).find(([title]) => title === chosen)?.[1] ?? "");
            event.currentTarget.value = "";
          }}
        >
          <option value="">Add…</option>
          {suggestions(app).map(([title]) => (
            <option key={title} value={title}>
              {title}
            </option>
          ))}
        </select>
        {text && (
          <button
            type="button"
            class="pd-tool pd-small"
            aria-label="Clear the filter"
            onClick={() => {
              filter.value = "";
            }}
          >
            <Icon name="close" />
          </button>
        )}
        <button
          type="button"
          class="pd-tool pd-small"
          aria-label="Copy as Python"
          title="Copy as Python"
          onClick={() => copyPython(app, `trace.events.where(${text})`)}
        >
          <Icon name="copy" />
        </button>
        <span class="pd-muted pd-count">{plural(count, "event")}</span>
      </div>
      <div id="pd-filter-error" class="pd-filter-error" role="alert" hidden={!error}>
        {error}
      </div>
    </div>
  );
}

export const panel: Panel = { id: "events", title: "Events", Component: Events };

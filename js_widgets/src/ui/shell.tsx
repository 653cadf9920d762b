/** The frame around the panels: toolbar, position, current event, runs, status, keys. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { fileName } from "../model/text";
import { commands, runCommand, showPanel } from "./commands";
import { keepFocus } from "./focus";
import { isTyping } from "./keys";
import { oncePerFrame } from "./later";
import { Layout } from "./layout";
import { canRecordMore, recordMore } from "./live";
import { showLine } from "./moves";
import { Overlays } from "./overlays";
import { Scrubber } from "./scrubber";
import type { App } from "./store";
import { Toolbar } from "./toolbar";
import { meaning, WORDS } from "./words";

export function Shell({ app }: { app: App }): JSX.Element {
  const root = useRef<HTMLDivElement>(null);
  const focused = useSignal(false);
  useLayoutEffect(() => keepFocus(root.current!, focused), []);
  const repeated = useMemo(oncePerFrame, []);
  const key = (event: KeyboardEvent) => {
    if (event.defaultPrevented) return;
    if (isTyping(event)) {
      if (event.key === "Escape") root.current?.focus();
      return;
    }
    if (event.key === "Escape" && app.panel.value.zoomed) runCommand(app, "zoom_panel");
    const command = commands().ofKey(event);
    if (!command) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.repeat) repeated(() => runCommand(app, command.id));
    else runCommand(app, command.id);
  };
  return (
    <div
      class="pd-frame"
      ref={root}
      role="application"
      aria-label={`Debugger of ${app.model.title}`}
      tabIndex={-1}
      onKeyDown={key}
    >
      <Toolbar app={app} root={() => root.current?.parentElement ?? null} />
      <Runs app={app} />
      <Scrubber app={app} />
      <Now app={app} />
      <Layout app={app} />
      <Status app={app} focused={focused.value} />
      <Overlays app={app} />
    </div>
  );
}

/** A tab per run; a diversion is never mistaken for the recording. */
function Runs({ app }: { app: App }): JSX.Element | null {
  const runs = app.runs.value;
  if (runs.length < 2) return null;
  return (
    <div class="pd-runs" role="tablist" aria-label="Runs">
      {runs.map((run) => (
        <button
          type="button"
          role="tab"
          class="pd-tab"
          key={run.number}
          aria-selected={run.number === app.run.value}
          onClick={() => app.showRun(run.number, app.cursor.value)}
        >
          {run.number > 0 && <span class="pd-chip">what if</span>}
          {run.label}
        </button>
      ))}
    </div>
  );
}

/** The current event in words; each part leads to its panel. */
function Now({ app }: { app: App }): JSX.Element {
  const { model, event } = app;
  if (event < 0) {
    return (
      <div class="pd-now pd-muted" data-pd="now">
        <span>Before the first event. Press → to step.</span>
      </div>
    );
  }
  const loc = model.locOf(event);
  const thread = model.events.thread[event];
  return (
    <div class="pd-now" data-pd="now" aria-live="polite">
      <button
        type="button"
        class="pd-link pd-quiet pd-now-what"
        onClick={() => showPanel(app, "events")}
      >
        {model.what(event)}
      </button>
      <button type="button" class="pd-link" onClick={() => app.focus({ thread })}>
        {model.threads.name(thread)}
      </button>
      {loc && (
        <button
          type="button"
          class="pd-link pd-mono"
          onClick={() => {
            showPanel(app, "source");
            app.focus({ thread });
            showLine(app, model.sourceOf(event), loc.line);
          }}
        >
          {fileName(loc.file)}:{loc.line}
        </button>
      )}
      <span class="pd-muted pd-second" title={WORDS.tick}>
        tick {model.tickOf(event)}
      </span>
      <Elsewhere app={app} thread={thread} />
    </div>
  );
}

/** What Source and Variables show where that is not the thread of the current event. */
function Elsewhere({ app, thread }: { app: App; thread: number }): JSX.Element | null {
  const { model } = app;
  const other = app.thread.value;
  if (other < 0 || other === thread) return null;
  const last = model.lastOfThread(other, app.cursor.value);
  const line = last >= 0 && model.lineOf(last);
  return (
    <span class="pd-looking">
      looking at {model.threads.name(other)}
      {line ? `, line ${line}` : last < 0 ? ", not started" : ""}
    </span>
  );
}

/** A recording that was cut can be continued; one that goes on can be stopped. */
function More({ app }: { app: App }): JSX.Element | null {
  const at = app.recording.value;
  if (at === null && !canRecordMore(app)) return null;
  return (
    <button
      type="button"
      class="pd-link"
      data-pd="more"
      title="The launch had not ended when the recording stopped. C at the end records more, too."
      onClick={() => void recordMore(app)}
    >
      {at === null ? "cut here: record more" : `recording ${at} · stop`}
    </button>
  );
}

function Status({ app, focused }: { app: App; focused: boolean }): JSX.Element {
  const { model } = app;
  const launch = model.launches[app.launch.value];
  const left = model.header.view?.values?.left_out as number | undefined;
  return (
    <div class="pd-status">
      <span class="pd-grow pd-ellipsis" role="status" data-pd="notice">
        {app.notice.value}
      </span>
      <More app={app} />
      {!focused && <span aria-hidden="true">click, then → steps; ? lists all keys</span>}
      {left ? (
        <span
          title={
            app.host
              ? "Larger values stayed in the kernel; they are asked for when they are looked at."
              : "Larger values were left out of this page: to_html(path, values_bytes=…) takes more along."
          }
        >
          {left} values {app.host ? "in the kernel" : "not included"}
        </span>
      ) : null}
      {launch && (
        <span
          class="pd-second pd-ellipsis"
          title={`${meaning(launch.backend)} ${launch.chip}: ${WORDS["as on …"]}`.trim()}
        >
          {launch.name} · {launch.backend}
          {launch.chip && ` as on ${launch.chip}`} · {launch.outcome.kind}
        </span>
      )}
      <span>{app.host ? "live" : "recorded"}</span>
    </div>
  );
}

/** Variables as a live kernel knows them, with what-if and expressions. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { showPanel } from "../../ui/commands";
import { ask, askForRun } from "../../ui/live";
import type { App } from "../../ui/store";
import { follow, type LiveAnswer, type LiveVariable } from "./live";
import { Recorded } from "./recorded";
import { Changed, Section } from "./section";

export function Live({ app }: { app: App }) {
  const answer = useSignal<LiveAnswer | null>(null);
  useEffect(() => {
    const live = follow(app);
    const forward = live.answer.subscribe((value) => {
      answer.value = value;
    });
    return () => {
      forward();
      live.stop();
    };
  }, [app]);
  const { value } = answer;
  const stale = value && (value.at !== app.cursor.value || value.thread !== app.thread.value);
  if (value?.error) {
    return (
      <>
        <p class="pd-muted" data-pd="why">
          {capital(value.error)}. {value.hint ? `To see them: ${value.hint}. ` : ""}Below is what
          the trace holds.
        </p>
        <Recorded app={app} thread={app.thread.value} />
      </>
    );
  }
  return (
    <Section title="Variables">
      <div
        class="pd-table"
        role="table"
        aria-label="Variables"
        style={{ opacity: stale ? 0.6 : 1 }}
      >
        {(value?.variables ?? []).map((one) => (
          <LiveRow key={one.name} app={app} one={one} />
        ))}
      </div>
      {value && !value.variables.length && (
        <p class="pd-muted">This thread has no variables here.</p>
      )}
      <Evaluate app={app} />
    </Section>
  );
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function LiveRow({ app, one }: { app: App; one: LiveVariable }) {
  const editing = useSignal(false);
  const type = one.shape?.length ? `${one.dtype}[${one.shape.join(", ")}]` : one.dtype;
  const buffer = one.buffer ?? -1;
  const scalar = !one.shape?.length && buffer < 0;
  const divert = (text: string) => {
    editing.value = false;
    if (text.trim() === one.text || !text.trim()) return;
    const args = { at: app.cursor.value, thread: app.thread.value, name: one.name, value: text };
    void askForRun(app, "divert", args);
  };
  const open = () => {
    if (scalar) editing.value = true;
    else if (buffer >= 0) {
      app.focus({ buffer });
      showPanel(app, "memory");
    }
  };
  const hint = scalar
    ? "Click to change it and run on as a what-if"
    : buffer >= 0
      ? "Click to see the memory"
      : "";
  return (
    <div class={`pd-variable pd-live ${one.changed ? "pd-changed" : ""}`} role="listitem">
      <span class="pd-mono pd-ellipsis" title={one.name}>
        {one.changed && <Changed />}
        {one.name}
      </span>
      {editing.value ? (
        <input
          class="pd-field pd-mono"
          aria-label={`New value of ${one.name}`}
          value={one.text}
          ref={(field) => field?.focus()}
          onBlur={() => {
            editing.value = false;
          }}
          onKeyDown={(event) => {
            if (event.key === "Enter") divert(event.currentTarget.value);
            if (event.key === "Escape") editing.value = false;
          }}
        />
      ) : (
        <button
          type="button"
          class="pd-link pd-quiet pd-mono pd-ellipsis"
          title={`${one.text}\n${hint}`}
          onClick={open}
        >
          {one.text}
        </button>
      )}
      <span class="pd-muted pd-ellipsis">{type}</span>
    </div>
  );
}

/** An expression over the thread's variables, answered by the kernel. */
function Evaluate({ app }: { app: App }) {
  const result = useSignal("");
  const run = async (expression: string) => {
    if (!expression.trim()) return;
    const args = { expression, thread: app.thread.value, at: app.cursor.value };
    const answer = await ask(app, "evaluate", args, "Evaluating…");
    result.value = answer ? String(answer.text) : app.notice.value;
  };
  return (
    <div class="pd-evaluate">
      <input
        class="pd-field pd-mono"
        aria-label="Expression over these variables"
        placeholder="expression, e.g. acc.max()"
        onKeyDown={(event) => {
          if (event.key === "Enter") void run(event.currentTarget.value);
        }}
      />
      <output class="pd-mono">{result.value}</output>
    </div>
  );
}

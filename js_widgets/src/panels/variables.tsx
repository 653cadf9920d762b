/** What the selected thread knows: where it is, its values, and its vector clock. */

import { useComputed, useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect } from "preact/hooks";
import { coordinates, tuple } from "../model/tables";
import { fileName } from "../model/text";
import { copyPython } from "../ui/clipboard";
import { showPanel } from "../ui/commands";
import { Icon } from "../ui/icons";
import { ask, askForRun } from "../ui/live";
import type { App } from "../ui/store";
import type { Panel } from "./panel";
import { follow, type LiveAnswer, type LiveVariable } from "./variables/live";
import { preview, summary, type Variable, variables } from "./variables/values";

function Variables({ app }: { app: App }): JSX.Element {
  const thread = app.thread.value;
  if (thread < 0) return <div class="pd-empty">Select a thread, or step.</div>;
  return (
    <div class="pd-scroll pd-variables">
      <Where app={app} thread={thread} />
      {app.host ? <Live app={app} /> : <Recorded app={app} thread={thread} />}
      <Clock app={app} thread={thread} />
    </div>
  );
}

function Section({
  title,
  tools,
  children,
}: {
  title: string;
  tools?: ComponentChildren;
  children: ComponentChildren;
}) {
  return (
    <section>
      <h3>
        <span class="pd-grow">{title}</span>
        {tools}
      </h3>
      {children}
    </section>
  );
}

/** The block's coordinates, the launch's scalars and where the thread stands. */
function Where({ app, thread }: { app: App; thread: number }) {
  const { model } = app;
  const launch = model.launches[app.launch.value];
  const last = model.lastOfThread(thread, app.cursor.value);
  const loc = last >= 0 ? model.locOf(last) : null;
  const place = launch && coordinates(launch, app.block.value);
  const facts: [string, ComponentChildren][] = [
    ["thread", <ThreadChoice key="thread" app={app} thread={thread} />],
  ];
  if (place) {
    const named = launch.axisNames.some(Boolean) && launch.axisNames.length === place.length;
    const text = named
      ? place.map((at, d) => `${launch.axisNames[d] || d}=${at}`).join(", ")
      : tuple(place);
    facts.push(["block", `${text} of ${tuple(launch.blockShape)}`]);
  }
  if (loc)
    facts.push([
      "at",
      <span
        class="pd-mono"
        key="at"
      >{`${fileName(loc.file)}:${loc.line} in ${loc.function}`}</span>,
    ]);
  if (last >= 0) facts.push(["last event", `#${last} ${model.what(last)}`]);
  for (const [name, value] of Object.entries(launch?.scalars ?? {}))
    facts.push([name, JSON.stringify(value)]);
  return (
    <dl class="pd-where">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd class="pd-ellipsis">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

const MOST_CHOICES = 64;

/** The thread's name, and where its block has others, a choice among them. */
function ThreadChoice({ app, thread }: { app: App; thread: number }) {
  const { model } = app;
  const others = model.threadsOfBlock(app.launch.value, app.block.value);
  if (others.length < 2 || others.length > MOST_CHOICES || !others.includes(thread)) {
    return <>{model.threads.name(thread)}</>;
  }
  return (
    <select
      class="pd-select"
      aria-label="Thread"
      value={thread}
      onChange={(event) => app.focus({ thread: Number(event.currentTarget.value) })}
    >
      {others.map((other) => (
        <option key={other} value={other}>
          {model.threads.name(other)}
        </option>
      ))}
    </select>
  );
}

function Recorded({ app, thread }: { app: App; thread: number }) {
  const found = useComputed(() => variables(app.model, app.thread.value, app.cursor.value));
  const last = app.model.lastOfThread(thread, app.cursor.value);
  if (!found.value.length) {
    return (
      <Section title="Values">
        <p class="pd-muted">This thread has read and written nothing in this block yet.</p>
      </Section>
    );
  }
  const copy = (
    <button
      type="button"
      class="pd-tool pd-small"
      aria-label="Copy as Python"
      title="Copy as Python"
      onClick={() => copyPython(app, `session.jump(${app.event}); session.locals`)}
    >
      <Icon name="copy" />
    </button>
  );
  return (
    <Section title="Values read and written" tools={copy}>
      <div class="pd-table" role="list" aria-label="Values read and written">
        {found.value.map((one) => (
          <Value key={one.name} app={app} one={one} changed={one.event === last} />
        ))}
      </div>
    </Section>
  );
}

function Value({ app, one, changed }: { app: App; one: Variable; changed: boolean }) {
  const open = () => {
    app.focus({ buffer: one.buffer });
    showPanel(app, "memory");
  };
  const type = one.shape.length ? `${one.dtype}[${one.shape.join(", ")}]` : one.dtype;
  const big = one.values !== null && one.values.length > 1;
  return (
    <div class={`pd-variable ${changed ? "pd-changed" : ""}`} role="listitem">
      <span class="pd-mono pd-ellipsis" title={one.name}>
        {changed && <Changed />}
        {one.name}
      </span>
      <button
        type="button"
        class="pd-link pd-quiet pd-mono pd-ellipsis"
        title="Show in memory"
        onClick={open}
      >
        {one.values ? preview(one.values, one.unset, one.dtype) : "value not included"}
      </button>
      <span class="pd-muted pd-ellipsis">
        {big && one.values ? summary(one.values, one.unset, one.dtype) : ""}
      </span>
      <span class="pd-muted pd-ellipsis">{type}</span>
      <button
        type="button"
        class="pd-link"
        title={`${one.kind} at event ${one.event}`}
        onClick={() => app.jump(one.event)}
      >
        #{one.event}
      </button>
    </div>
  );
}

function Live({ app }: { app: App }) {
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
        <p class="pd-muted">
          The kernel did not answer ({value.error}); this is what the trace holds.
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

function Changed() {
  return (
    <span class="pd-delta" role="img" aria-label="changed">
      ●
    </span>
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

const MOST_CLOCKS = 64;

/** The vector clock of the thread's last event, as numbers per thread. */
function Clock({ app, thread }: { app: App; thread: number }) {
  const { model } = app;
  const last = model.lastOfThread(thread, app.cursor.value);
  if (!model.clocks || last < 0) return null;
  const clock = [...model.clocks.at(last)].sort(([a], [b]) =>
    a === thread ? -1 : b === thread ? 1 : a - b,
  );
  return (
    <Section title="Vector clock: last tick known of each thread">
      <div class="pd-clock">
        {clock.slice(0, MOST_CLOCKS).map(([other, tick]) => (
          <button
            type="button"
            key={other}
            class={`pd-tick ${other === thread ? "pd-own" : ""}`}
            title={`${model.threads.name(other)}: knows its event ${tick}`}
            onClick={() => app.jump(model.eventsOfThread(other)[tick] ?? last)}
          >
            <span class="pd-ellipsis">{model.threads.name(other)}</span>
            <b>{tick}</b>
          </button>
        ))}
      </div>
      {clock.length > MOST_CLOCKS && (
        <p class="pd-muted">and {clock.length - MOST_CLOCKS} more threads</p>
      )}
    </Section>
  );
}

export const panel: Panel = { id: "variables", title: "Variables", Component: Variables };

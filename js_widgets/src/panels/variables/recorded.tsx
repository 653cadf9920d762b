/** Values as the trace holds them: the last read or write of each name. */

import { useComputed } from "@preact/signals";
import { copyPython } from "../../ui/clipboard";
import { showPanel } from "../../ui/commands";
import { Icon } from "../../ui/icons";
import type { App } from "../../ui/store";
import { Changed, Section } from "./section";
import { preview, summary, type Variable, variables } from "./values";

/** Where there is no kernel: how to get the other variables. */
function Missing({ app }: { app: App }) {
  if (app.host) return null;
  return (
    <p class="pd-muted" data-pd="missing">
      All variables need a kernel: <code>session = pallas_debug.debug(fn, *args)</code>, or for a
      saved trace <code>session = pallas_debug.debug(pallas_debug.load(path))</code> and{" "}
      <code>session.attach(fn, *args)</code>; then <code>session</code> shows this viewer.
    </p>
  );
}

export function Recorded({ app, thread }: { app: App; thread: number }) {
  const found = useComputed(() => variables(app.model, app.thread.value, app.cursor.value));
  const last = app.model.lastOfThread(thread, app.cursor.value);
  if (!found.value.length) {
    return (
      <Section title="Values">
        <p class="pd-muted">This thread has read and written nothing in this block yet.</p>
        <Missing app={app} />
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
      <Missing app={app} />
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

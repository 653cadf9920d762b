/** What lies over the panels for a moment: commands with their keys, and breakpoints. */

import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { literalText } from "../model/literals";
import { compile } from "../model/query";
import { copyPython } from "./clipboard";
import { addBreakpoint, commands, needsKernel, runCommand, watchQuery } from "./commands";
import { Icon } from "./icons";
import { keyText } from "./keys";
import type { App, Breakpoint } from "./store";

export function Overlays({ app }: { app: App }): JSX.Element | null {
  const name = app.overlay.value;
  if (name === "help") return <Help app={app} />;
  if (name === "origin") return <Origin app={app} />;
  if (name === "breakpoints") return <Breakpoints app={app} />;
  return null;
}

function Dialog(props: {
  app: App;
  title: string;
  tools?: ComponentChildren;
  children: ComponentChildren;
}) {
  const { app, title } = props;
  const dialog = useRef<HTMLDivElement>(null);
  const close = () => {
    app.overlay.value = null;
  };
  useEffect(() => {
    const root = dialog.current!.getRootNode() as ShadowRoot | Document;
    const before = root.activeElement as HTMLElement | null;
    (dialog.current!.querySelector<HTMLElement>("[data-first]") ?? dialog.current!).focus();
    return () => before?.focus?.();
  }, []);
  const key = (event: KeyboardEvent) => {
    if (event.key === "Escape") close();
    if (event.key === "Tab") keepInside(event, dialog.current!);
    event.stopPropagation();
  };
  return (
    <div
      class="pd-overlay"
      onClick={(event) => event.target === event.currentTarget && close()}
      onKeyDown={key}
    >
      <div
        class="pd-dialog"
        role="dialog"
        aria-modal="true"
        aria-label={title}
        tabIndex={-1}
        ref={dialog}
      >
        <header>
          <h2>{title}</h2>
          {props.tools}
          <button type="button" class="pd-tool" aria-label="Close" onClick={close}>
            <Icon name="close" />
          </button>
        </header>
        <div class="pd-scroll">{props.children}</div>
      </div>
    </div>
  );
}

function keepInside(event: KeyboardEvent, dialog: HTMLElement): void {
  const all = [...dialog.querySelectorAll<HTMLElement>("button, input, select")];
  const active = (dialog.getRootNode() as ShadowRoot | Document).activeElement;
  const edge = event.shiftKey ? all[0] : all[all.length - 1];
  if (active !== edge) return;
  (event.shiftKey ? all[all.length - 1] : all[0])?.focus();
  event.preventDefault();
}

function Help({ app }: { app: App }): JSX.Element {
  const filter = useSignal("");
  const wanted = filter.value.toLowerCase();
  const offered = commands().all.filter((one) => !one.live || app.host);
  const all = offered.filter((one) => one.title.toLowerCase().includes(wanted));
  const groups = [...new Set(all.map((one) => one.group ?? "Panels"))];
  const run = (id: string) => {
    app.overlay.value = null;
    runCommand(app, id);
  };
  const field = (
    <input
      class="pd-field"
      data-first
      aria-label="Find a command"
      placeholder="Find a command"
      value={filter.value}
      onInput={(event) => {
        filter.value = event.currentTarget.value;
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter" && all[0]) run(all[0].id);
      }}
    />
  );
  return (
    <Dialog app={app} title="Commands and keys" tools={field}>
      <div class="pd-commands">
        {groups.map((group) => (
          <section key={group}>
            <h3>{group}</h3>
            {all
              .filter((one) => (one.group ?? "Panels") === group)
              .map((one) => (
                <button type="button" key={one.id} onClick={() => run(one.id)}>
                  <span class="pd-ellipsis">{one.title}</span>
                  {one.keys?.map((key) => (
                    <span class="pd-key" key={key}>
                      {keyText(key)}
                    </span>
                  ))}
                </button>
              ))}
          </section>
        ))}
        {!all.length && <p class="pd-muted">No command is called that.</p>}
      </div>
    </Dialog>
  );
}

interface Link {
  readonly event: number;
  readonly text: string;
  readonly place: string;
  readonly source: string;
}

/** The way of a value, backwards; each event is a place to go to. */
function Origin({ app }: { app: App }): JSX.Element {
  const { links, path, born } = app.origin.value as {
    links: readonly Link[];
    path: readonly number[];
    born: number;
  };
  return (
    <Dialog app={app} title="Where this value came from">
      <ol class="pd-path pd-origin">
        {path.map((number) => {
          const { event, text, place, source } = links[number];
          return (
            <li key={number}>
              <button
                type="button"
                class="pd-link"
                disabled={event < 0}
                onClick={() => {
                  app.overlay.value = null;
                  app.jump(event);
                }}
              >
                {text}
              </button>
              <span class="pd-muted">
                {event >= 0 && ` #${event}`} {place}
                {number === born && " — here it was born"}
              </span>
              {source && <code>{source}</code>}
            </li>
          );
        })}
      </ol>
    </Dialog>
  );
}

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

function Breakpoints({ app }: { app: App }): JSX.Element {
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
        <button
          type="button"
          class="pd-button"
          onClick={() => addBreakpoint(app, { where: 'kind="write"' })}
        >
          <Icon name="plus" />
          Query
        </button>
      </div>
    </Dialog>
  );
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
  const note =
    fault ??
    (needsKernel(one) && !app.host ? "Its condition needs a live kernel; this page has none." : "");
  return (
    <div class="pd-break">
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
      <input
        class="pd-field"
        aria-label="Condition over the thread's variables"
        placeholder="when, e.g. acc.max() > 3"
        value={one.when}
        onInput={(event) => change({ when: event.currentTarget.value })}
      />
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

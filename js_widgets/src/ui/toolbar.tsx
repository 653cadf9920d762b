/** The row of buttons, the position as an editable number, and the choice of launch. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { grouped } from "../model/text";
import { commands, runCommand } from "./commands";
import { leaveTo } from "./focus";
import { Icon } from "./icons";
import { keyText } from "./keys";
import type { App } from "./store";
import { WORDS } from "./words";

/** Buttons by group; a group with a level disappears first where room is short. */
const GROUPS: readonly [level: string, ids: readonly string[]][] = [
  ["", ["first", "reverse_continue", "back", "step", "continue_", "last"]],
  ["pd-second", ["prev_line", "next_line", "over", "out"]],
  [
    "pd-third",
    ["prev_thread", "next_thread", "prev_block", "next_block", "prev_buffer", "next_buffer"],
  ],
  ["", ["prev_finding", "next_finding"]],
];

export function Toolbar({ app, root }: { app: App; root: () => HTMLElement | null }): JSX.Element {
  const hint = useSignal<{ id: string; left: number; right: boolean } | null>(null);
  const bar = useRef<HTMLDivElement>(null);
  const show = (event: Event) => {
    const button = (event.target as Element).closest<HTMLElement>(".pd-tool");
    // A click focuses, too, and has had its tooltip.
    const late = event.type === "focusin" && !button?.matches(":focus-visible");
    if (!button || !bar.current || late) {
      hint.value = null;
      return;
    }
    const box = bar.current.getBoundingClientRect();
    const rect = button.getBoundingClientRect();
    const right = rect.left - box.left > box.width / 2;
    const left = right ? box.right - rect.right : rect.left - box.left;
    hint.value = { id: button.dataset.pd ?? "", left, right };
  };
  const hide = () => {
    hint.value = null;
  };
  return (
    <div
      class="pd-toolbar"
      role="toolbar"
      aria-label="Debugger commands"
      ref={bar}
      onPointerOver={show}
      onPointerLeave={hide}
      onPointerDown={hide}
      onFocusIn={show}
      onFocusOut={hide}
      onKeyDown={(event) => {
        if (event.key === "Escape") hide();
        roam(event);
      }}
    >
      {GROUPS.map(([level, ids]) => (
        <div key={ids[0]} class={`pd-group ${level}`}>
          {ids.map((id) => (
            <Tool key={id} id={id} app={app} />
          ))}
        </div>
      ))}
      <Position app={app} />
      <Launches app={app} />
      <span class="pd-grow" />
      <Tool id="breakpoints" app={app} />
      <Tool id="help" app={app} />
      <button
        type="button"
        class="pd-tool"
        data-pd="fullscreen"
        aria-label="Full screen"
        onClick={(event) => {
          toggleFullscreen(root());
          if (event.detail) leaveTo(event);
        }}
      >
        <Icon name="fullscreen" />
      </button>
      {hint.value && <Hint {...hint.value} />}
    </div>
  );
}

function Hint({ id, left, right }: { id: string; left: number; right: boolean }) {
  const command = commands().all.find((one) => one.id === id);
  const style = { top: "42px", [right ? "right" : "left"]: `${Math.max(left, 4)}px` };
  return (
    <div class="pd-tooltip" aria-hidden="true" style={style}>
      {command?.title ?? "Full screen"}
      {command?.keys?.[0] && <span class="pd-key">{keyText(command.keys[0])}</span>}
    </div>
  );
}

/** Left and right move along the buttons while one of them has the focus by Tab. */
function roam(event: KeyboardEvent): void {
  const from = event.target as HTMLElement;
  if (!from.matches(".pd-tool:focus-visible") || !/^Arrow(Left|Right)$/.test(event.key)) return;
  const bar = event.currentTarget as HTMLElement;
  const all = [...bar.querySelectorAll<HTMLElement>(".pd-tool")].filter((one) => one.offsetParent);
  const next = all.indexOf(from) + (event.key === "ArrowRight" ? 1 : -1);
  all[(next + all.length) % all.length]?.focus();
  event.preventDefault();
  event.stopPropagation();
}

function Tool({ id, app }: { id: string; app: App }): JSX.Element {
  const command = commands().find(id);
  const able = command.enabled?.(app) ?? true;
  const open = app.overlay.value === id;
  return (
    <button
      type="button"
      class="pd-tool"
      data-pd={id}
      aria-label={command.title}
      aria-keyshortcuts={command.keys?.[0]}
      aria-disabled={!able}
      aria-expanded={command.group === "View" ? open : undefined}
      onClick={() => runCommand(app, id)}
    >
      <Icon name={id} />
    </button>
  );
}

function eventText(app: App): string {
  return app.event < 0 ? "" : `#${app.event}`;
}

function Position({ app }: { app: App }): JSX.Element {
  const { model } = app;
  const cursor = app.cursor.value;
  const step = cursor > 0 ? model.events.step[cursor - 1] : 0;
  const commit = (event: Event) => {
    const field = event.currentTarget as HTMLInputElement;
    const text = field.value.replaceAll(/[#,_\s]/g, "");
    const wanted = Number(text);
    if (Number.isNaN(wanted)) app.notice.value = `“${field.value}” is no event number.`;
    else if (text && Math.round(wanted) !== app.event) app.jump(Math.round(wanted));
    field.value = eventText(app);
  };
  const key = (event: KeyboardEvent) => {
    if (event.key !== "Enter") return;
    commit(event);
    leaveTo(event);
  };
  return (
    <label class="pd-position">
      <span class="pd-muted pd-second">event</span>
      <input
        class="pd-field"
        inputMode="numeric"
        aria-label="Current event"
        title="The event that just happened; events are numbered from #0"
        placeholder="before the first"
        data-pd="position"
        value={eventText(app)}
        onChange={commit}
        onKeyDown={key}
      />
      <span class="pd-muted">
        of #{grouped(model.count - 1)}
        <span class="pd-second" title={WORDS.step}>
          {" "}
          · step {grouped(step)}
        </span>
      </span>
    </label>
  );
}

function Launches({ app }: { app: App }): JSX.Element | null {
  const { launches } = app.model;
  if (launches.length < 2) return null;
  const choose = (event: Event) => {
    const launch = Number((event.currentTarget as HTMLSelectElement).value);
    app.moveTo(
      launches[launch].firstEvent +
        (launches[launch].lastEvent > launches[launch].firstEvent ? 1 : 0),
    );
    app.focus({ launch });
  };
  return (
    <select
      class="pd-select"
      aria-label="Launch"
      data-pd="launch"
      value={String(app.launch.value)}
      onChange={choose}
    >
      {launches.map((one) => (
        <option key={one.number} value={String(one.number)}>
          {one.number}: {one.name}
        </option>
      ))}
    </select>
  );
}

function toggleFullscreen(root: HTMLElement | null): void {
  if (!root) return;
  if (document.fullscreenElement) void document.exitFullscreen();
  else void root.requestFullscreen?.().catch(() => {});
}

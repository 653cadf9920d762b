/** The memory panel: the buffers, the values of one, and how much memory lives when. */

import { useEffect, useMemo, useRef } from "preact/hooks";
import { grouped } from "../../model/text";
import { count } from "../../model/values";
import { runCommand } from "../../ui/commands";
import { whileIdle } from "../../ui/later";
import type { App } from "../../ui/store";
import { meaning } from "../../ui/words";
import { CopyButton } from "../drawing/copy";
import { useSize } from "../drawing/size";
import type { Panel } from "../panel";
import { Axes } from "./axes";
import { layoutOf } from "./declared";
import { BufferList } from "./list";
import { SyncValues } from "./syncview";
import { Usage } from "./usageview";
import { Values } from "./values";
import { MemoryView, type Settings, type Show } from "./view";

const WIDE = 640;

function Memory({ app }: { app: App }) {
  const view = useMemo(() => new MemoryView(app), [app]);
  useEffect(() => {
    const made = () => {
      view.isRested.value = true;
    };
    return whileIdle([...view.ahead(), made]);
  }, [view, app.model]);
  const root = useRef<HTMLDivElement>(null);
  const wide = useSize(root).value.width >= WIDE;
  const { view: chosen } = view.settings.value;
  const shown = wide && chosen === "buffers" ? "values" : chosen;
  return (
    <div class="pd-panel" ref={root}>
      <div class="pd-bar pd-tools">
        <Tabs view={view} wide={wide} shown={shown} />
        {shown === "values" && <ValueControls view={view} />}
        <CopyButton app={app} text={() => view.python} />
        {(wide || shown === "buffers") && (
          <label class="pd-muted pd-check">
            <input
              type="checkbox"
              checked={view.settings.value.every}
              onChange={(event) => view.set({ every: event.currentTarget.checked })}
            />
            all blocks
          </label>
        )}
      </div>
      {shown === "values" && view.buffer.value >= 0 && <About view={view} />}
      <div class="pd-memory">
        {(wide || shown === "buffers") && (
          <div class={`pd-memory-list ${wide ? "pd-memory-side" : ""}`}>
            <BufferList view={view} />
          </div>
        )}
        {shown !== "buffers" && (
          <div class="pd-memory-main">
            {shown === "usage" ? <Usage view={view} /> : <Buffer view={view} />}
          </div>
        )}
      </div>
    </div>
  );
}

function Tabs({ view, wide, shown }: { view: MemoryView; wide: boolean; shown: Settings["view"] }) {
  const names: [Settings["view"], string][] = [
    ["values", "values"],
    ["buffers", "buffers"],
    ["usage", "over time"],
  ];
  return (
    <span class="pd-segments" role="group" aria-label="View">
      {names
        .filter(([id]) => !(wide && id === "buffers"))
        .map(([id, name]) => (
          <button
            key={id}
            type="button"
            class="pd-button"
            aria-pressed={shown === id}
            onClick={() => view.set({ view: id })}
          >
            {name}
          </button>
        ))}
    </span>
  );
}

function Buffer({ view }: { view: MemoryView }) {
  const { app } = view;
  const buffer = view.buffer.value;
  const sync = buffer >= 0 && app.model.buffers.isSync(buffer);
  const counted = !view.covered.value && view.sheet.value !== null;
  // Steps go to and fro between barriers and values: what was made once stays in the page.
  const made = useRef({ sync: false, values: false });
  made.current.sync ||= sync || (view.isRested.value && view.firstSync.value >= 0);
  made.current.values ||= counted;
  return (
    <>
      {made.current.values && (
        <div class={`pd-memory-kept ${counted ? "" : "pd-covered"}`}>
          <Values view={view} />
        </div>
      )}
      {made.current.sync && (
        <div class={`pd-memory-kept ${sync ? "" : "pd-covered"}`}>
          <SyncValues view={view} />
        </div>
      )}
      {!sync && !counted && <Instead view={view} />}
    </>
  );
}

/** What is said where nothing can be drawn. */
function Instead({ view }: { view: MemoryView }) {
  const buffer = view.buffer.value;
  if (buffer >= 0 && view.isHuge) return <Huge view={view} buffer={buffer} />;
  return (
    <div class="pd-empty">
      {buffer < 0
        ? "No buffer is selected: choose one, or step to an event that touches one."
        : "Too many accesses to count here."}
    </div>
  );
}

function Huge({ view, buffer }: { view: MemoryView; buffer: number }) {
  const elements = count(view.app.model.buffers.shape(buffer));
  const show = () => {
    view.allowed.value = new Set([...view.allowed.value, buffer]);
  };
  return (
    <div class="pd-empty">
      {`${view.app.model.buffers.name(buffer)} has ${grouped(elements)} elements; following them takes a moment.`}
      <button type="button" class="pd-button" onClick={show}>
        Show them
      </button>
    </div>
  );
}

function ValueControls({ view }: { view: MemoryView }) {
  const { app, settings } = view;
  const buffer = view.buffer.value;
  if (buffer < 0) return null;
  const { buffers } = app.model;
  const now = settings.value;
  const sync = buffers.isSync(buffer);
  const layout = layoutOf(app.model, buffer);
  return (
    <>
      <button
        type="button"
        class="pd-button"
        aria-pressed={Boolean(app.pins.value.buffer)}
        title="Keep this buffer while the cursor moves (K)"
        onClick={() => runCommand(app, "pin_buffer")}
      >
        pin
      </button>
      <select
        class="pd-select"
        aria-label="What the colors show"
        hidden={sync}
        value={now.show}
        onChange={(event) => view.set({ show: event.currentTarget.value as Show })}
      >
        <option value="values">values</option>
        <option value="reads">times read</option>
        <option value="writes">times written</option>
        <option value="blocks">blocks that touch</option>
      </select>
      {now.show === "values" && (
        <select
          class="pd-select"
          aria-label="Range of the colors"
          title="Colors span the values of all time, or those of now"
          hidden={sync}
          value={now.range}
          onChange={(event) => view.set({ range: event.currentTarget.value as "all" | "now" })}
        >
          <option value="all">scale: all</option>
          <option value="now">scale: now</option>
        </select>
      )}
      <button
        type="button"
        class="pd-button"
        hidden={sync || !layout}
        aria-pressed={now.physical}
        title={`Where elements lie in memory: ${layout?.text ?? "in order"}`}
        onClick={() => view.set({ physical: !now.physical })}
      >
        physical
      </button>
    </>
  );
}

/** What the buffer is; a line of its own, so that nothing moves from buffer to buffer. */
function About({ view }: { view: MemoryView }) {
  const { buffers } = view.app.model;
  const buffer = view.buffer.value;
  const text = `${buffers.type(buffer)} in ${buffers.space(buffer)} of ${buffers.owner(buffer)}`;
  const about = meaning(buffers.space(buffer));
  return (
    <div class="pd-bar">
      <strong class="pd-mono pd-ellipsis pd-buffer-title" title={buffers.name(buffer)}>
        {buffers.name(buffer)}
      </strong>
      <span class="pd-muted pd-ellipsis" title={about ? `${text}\n${about}` : text}>
        {text}
      </span>
      {view.physical.value ? (
        <span class="pd-muted pd-ellipsis">{`drawn as it lies in memory: ${view.physical.value.text}`}</span>
      ) : (
        <Axes view={view} shape={buffers.shape(buffer)} />
      )}
    </div>
  );
}

export const panel: Panel = { id: "memory", title: "Memory", Component: Memory };

/** The memory panel: the buffers, the values of one, and how much memory lives when. */

import { useMemo, useRef } from "preact/hooks";
import { grouped } from "../../model/text";
import { count } from "../../model/values";
import { runCommand } from "../../ui/commands";
import type { App } from "../../ui/store";
import { CopyButton } from "../drawing/copy";
import { useSize } from "../drawing/size";
import type { Panel } from "../panel";
import { layoutOf } from "./declared";
import { BufferList } from "./list";
import { SyncValues } from "./syncview";
import { Usage } from "./usageview";
import { Values } from "./values";
import { MemoryView, type Settings, type Show } from "./view";

const WIDE = 640;

function Memory({ app }: { app: App }) {
  const view = useMemo(() => new MemoryView(app), [app]);
  const root = useRef<HTMLDivElement>(null);
  const wide = useSize(root).value.width >= WIDE;
  const { view: chosen } = view.settings.value;
  const shown = wide && chosen === "buffers" ? "values" : chosen;
  return (
    <div class="pd-panel" ref={root}>
      <div class="pd-bar">
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
  if (buffer < 0)
    return (
      <div class="pd-empty">
        No buffer is selected: choose one, or step to an event that touches one.
      </div>
    );
  if (app.model.buffers.isSync(buffer)) return <SyncValues view={view} />;
  if (view.isHuge) return <Huge view={view} buffer={buffer} />;
  if (!view.sheet.value) return <div class="pd-empty">Too many accesses to count here.</div>;
  return <Values view={view} />;
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
      {!sync && (
        <>
          <select
            class="pd-select"
            aria-label="What the colors show"
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
              value={now.range}
              onChange={(event) => view.set({ range: event.currentTarget.value as "all" | "now" })}
            >
              <option value="all">scale: all time</option>
              <option value="now">scale: now</option>
            </select>
          )}
          {layoutOf(app.model, buffer) && (
            <button
              type="button"
              class="pd-button"
              aria-pressed={now.physical}
              title={`Where elements lie in memory: ${layoutOf(app.model, buffer)?.text}`}
              onClick={() => view.set({ physical: !now.physical })}
            >
              physical
            </button>
          )}
        </>
      )}
    </>
  );
}

/** What the buffer is; a line of its own, so that nothing moves from buffer to buffer. */
function About({ view }: { view: MemoryView }) {
  const { buffers } = view.app.model;
  const buffer = view.buffer.value;
  const text = `${buffers.type(buffer)} in ${buffers.space(buffer)} of ${buffers.owner(buffer)}`;
  return (
    <div class="pd-bar">
      <strong class="pd-mono pd-ellipsis pd-buffer-title" title={buffers.name(buffer)}>
        {buffers.name(buffer)}
      </strong>
      <span class="pd-muted pd-ellipsis" title={text}>
        {text}
      </span>
      {view.physical.value ? (
        <span class="pd-muted pd-ellipsis">{`drawn as it lies in memory: ${view.physical.value.text}`}</span>
      ) : (
        <Axes view={view} />
      )}
    </div>
  );
}

/** Which dimensions are drawn, and the indices of the others. */
function Axes({ view }: { view: MemoryView }) {
  const shape = view.app.model.buffers.shape(view.buffer.value);
  const slice = view.slice.value;
  const wide = shape.filter((size) => size > 1).length;
  if (shape.length < 3 || (wide < 3 && view.settings.value.axes === null)) return null;
  const pick = (x: number, y: number) => view.set({ axes: [x, y] });
  return (
    <>
      <DimensionSelect
        name="↓"
        shape={shape}
        value={slice.y}
        onPick={(to) => pick(to === slice.x ? slice.y : slice.x, to)}
      />
      <DimensionSelect
        name="→"
        shape={shape}
        value={slice.x}
        onPick={(to) => pick(to, to === slice.y ? slice.x : slice.y)}
      />
      {shape.map((size, d) =>
        d === slice.x || d === slice.y || size < 2 ? null : (
          <label class="pd-muted pd-slider" key={d}>
            {`dim ${d}: ${slice.fixed[d]}`}
            <input
              type="range"
              min={0}
              max={size - 1}
              value={slice.fixed[d]}
              aria-label={`index of dimension ${d}`}
              onInput={(event) => {
                const next = [...slice.fixed];
                next[d] = Number(event.currentTarget.value);
                view.set({ slice: next });
              }}
            />
          </label>
        ),
      )}
    </>
  );
}

interface DimensionProps {
  readonly name: string;
  readonly shape: readonly number[];
  readonly value: number;
  readonly onPick: (dimension: number) => void;
}

function DimensionSelect({ name, shape, value, onPick }: DimensionProps) {
  return (
    <label class="pd-muted">
      {name}{" "}
      <select
        class="pd-select"
        aria-label={name === "→" ? "dimension along x" : "dimension along y"}
        value={String(value)}
        onChange={(event) => onPick(Number(event.currentTarget.value))}
      >
        {shape.map((size, d) => (
          <option key={d} value={String(d)}>{`dim ${d} (${size})`}</option>
        ))}
      </select>
    </label>
  );
}

export const panel: Panel = { id: "memory", title: "Memory", Component: Memory };

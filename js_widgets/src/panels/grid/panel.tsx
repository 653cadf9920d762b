/** The grid panel: every block by state, numbers or use of a buffer; select one, jump to it. */

import { effect } from "@preact/signals";
import { useCallback, useEffect, useMemo, useRef } from "preact/hooks";
import { Canvas, type Pointer } from "../../ui/canvas";
import type { App } from "../../ui/store";
import { CopyButton } from "../drawing/copy";
import { useSize } from "../drawing/size";
import { Ramp, Swatch } from "../drawing/swatch";
import type { Panel } from "../panel";
import { axesOf, PADDING } from "./facets";
import { defaultPlacement } from "./layout";
import { COLORS, type Color, metricText } from "./legend";
import { paintCells, paintClusters, paintLabels, paintRing } from "./paint";
import { GridView } from "./view";

function Grid({ app }: { app: App }) {
  const view = useMemo(() => new GridView(app), [app]);
  const box = useRef<HTMLDivElement>(null);
  const size = useSize(box);
  useEffect(
    () =>
      effect(() => {
        view.size.value = size.value;
      }),
    [view],
  );
  useEffect(() => effect(() => reveal(view, box.current)), [view]);
  const cells = useCallback(
    (context: CanvasRenderingContext2D) => {
      const theme = app.theme.value;
      view.picture.value.facets.forEach((facet, i) => {
        paintCells(context, facet, view.shown(i), theme);
        paintClusters(context, facet, theme);
        paintLabels(context, facet, theme);
      });
    },
    [app, view],
  );
  const rings = useCallback(
    (context: CanvasRenderingContext2D) => {
      const theme = app.theme.value;
      const hover = view.hover.value;
      for (const facet of view.picture.value.facets) {
        if (facet.launch === app.launch.value)
          paintRing(context, facet, app.block.value, theme.accent, 2);
        if (facet.launch === hover?.launch) paintRing(context, facet, hover.block, theme.text, 1);
      }
    },
    [app, view],
  );
  const { width, height } = view.picture.value;
  const key = (event: KeyboardEvent) => onKey(view, event);
  const move = ({ x, y }: Pointer) => {
    const place = view.at(x, y);
    const before = view.hover.peek();
    if (place?.block !== before?.block || place?.launch !== before?.launch)
      view.hover.value = place;
  };
  const click = ({ x, y }: Pointer) => {
    const place = view.at(x, y);
    if (!place) return;
    if (place.launch === app.launch.value && place.block === app.block.value) view.enter(place);
    else view.select(place);
  };
  return (
    <div class="pd-panel">
      <Bar view={view} />
      <div class="pd-scroll pd-grid-frame" ref={box}>
        <div
          class="pd-grid-size"
          style={{ minWidth: `${width + 2 * PADDING}px`, minHeight: `${height + 2 * PADDING}px` }}
        >
          <Canvas class="pd-layer" label="" draw={cells} />
          <Canvas
            class="pd-layer"
            label={view.label}
            draw={rings}
            cursor="pointer"
            tip={(x, y) => {
              const place = view.at(x, y);
              return place && view.words(place);
            }}
            onMove={move}
            onLeave={() => {
              view.hover.value = null;
            }}
            onClick={click}
            onKey={key}
          />
        </div>
      </div>
      <Legend view={view} />
    </div>
  );
}

/** Scrolls to the selected block when it is out of sight, once the picture has its size. */
function reveal(view: GridView, frame: HTMLDivElement | null): void {
  const at = view.boxOf({ launch: view.app.launch.value, block: view.app.block.value });
  if (!at || !frame) return;
  requestAnimationFrame(() => {
    const axis = (place: number, cell: number, scroll: number, room: number) =>
      place >= scroll && place + cell <= scroll + room ? scroll : place - room / 2;
    frame.scrollLeft = axis(at.x, at.width, frame.scrollLeft, frame.clientWidth);
    frame.scrollTop = axis(at.y, at.height, frame.scrollTop, frame.clientHeight);
  });
}

const ARROWS: Record<string, readonly [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

function onKey(view: GridView, event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const arrow = ARROWS[event.key];
  const { launch, block } = view.app;
  if (arrow) {
    const far = event.shiftKey ? 10 : 1;
    for (let i = 0; i < far; i++) view.move(arrow[0], arrow[1]);
    return true;
  }
  if (event.key !== "Enter" || block.value < 0) return false;
  view.enter({ launch: launch.value, block: block.value }, event.shiftKey ? "last" : "first");
  return true;
}

function Bar({ view }: { view: GridView }) {
  const { app, settings } = view;
  const { model } = app;
  const one = model.launches[app.launch.value];
  const axes = axesOf(one);
  const usual = defaultPlacement(axes);
  const [x, y] = settings.value.axes ?? [
    usual.x.filter(plain).at(-1) ?? -1,
    usual.y.filter(plain).at(-1) ?? -1,
  ];
  function plain(axis: number): boolean {
    return !axes[axis].cluster;
  }
  const shown = axes.filter((axis) => !axis.cluster && axis.size > 1).length;
  const pick = (to: readonly number[]) => {
    settings.value = { ...settings.value, axes: to };
  };
  return (
    <div class="pd-bar">
      <label class="pd-muted">
        color{" "}
        <select
          class="pd-select"
          value={view.color}
          onChange={(event) => {
            settings.value = { ...settings.value, color: event.currentTarget.value as Color };
          }}
        >
          {Object.entries(COLORS).map(([id, text]) => (
            <option key={id} value={id} disabled={id === "coverage" && app.buffer.value < 0}>
              {id === "coverage" && view.color === id ? `use of ${view.target}` : text}
            </option>
          ))}
        </select>
      </label>
      {shown > 1 && (
        <>
          <AxisSelect
            name="→"
            axes={axes}
            value={x}
            onPick={(to) => pick([to, to === y ? x : y])}
          />
          <AxisSelect
            name="↓"
            axes={axes}
            value={y}
            onPick={(to) => pick([to === x ? y : x, to])}
          />
        </>
      )}
      {model.launches.length > 1 && (
        <label class="pd-muted">
          launch{" "}
          <select
            class="pd-select"
            value={String(app.launch.value)}
            onChange={(event) =>
              app.focus({ launch: Number(event.currentTarget.value), block: -1 })
            }
          >
            {model.launches.map((launch) => (
              <option key={launch.number} value={String(launch.number)}>
                {`${launch.number}: ${launch.name}`}
              </option>
            ))}
          </select>
        </label>
      )}
      <CopyButton app={app} text={() => view.python} />
    </div>
  );
}

interface AxisProps {
  readonly name: string;
  readonly axes: ReturnType<typeof axesOf>;
  readonly value: number;
  readonly onPick: (axis: number) => void;
}

function AxisSelect({ name, axes, value, onPick }: AxisProps) {
  return (
    <label class="pd-muted">
      {name}{" "}
      <select
        class="pd-select"
        aria-label={name === "→" ? "axis along x" : "axis along y"}
        value={String(value)}
        onChange={(event) => onPick(Number(event.currentTarget.value))}
      >
        {axes.map((axis, i) =>
          axis.cluster ? null : (
            <option key={i} value={String(i)}>
              {`${axis.name || `axis ${i}`} (${axis.size})`}
            </option>
          ),
        )}
      </select>
    </label>
  );
}

function Legend({ view }: { view: GridView }) {
  const { keys, color } = view;
  return (
    <div class="pd-legend" role="note">
      {keys.map(({ look, text }) => (
        <span class="pd-legend-key" key={text}>
          <Swatch {...look} />
          {text}
        </span>
      ))}
      {keys.length === 0 &&
        view.numbers.value.low === view.numbers.value.high &&
        `all ${metricText(color, view.numbers.value.low)}`}
      {keys.length === 0 && view.numbers.value.low !== view.numbers.value.high && (
        <Ramp
          kind="sequential"
          dark={view.app.theme.value.dark}
          low={metricText(color, view.numbers.value.low)}
          high={metricText(color, view.numbers.value.high)}
        />
      )}
    </div>
  );
}

export const panel: Panel = { id: "grid", title: "Grid", Component: Grid };

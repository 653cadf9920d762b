/** The whole axis in a strip: how many threads run, wait and fly; drag to move the window. */

import { computed, signal } from "@preact/signals";
import { useCallback, useMemo, useRef } from "preact/hooks";
import { Canvas, type Pointer } from "../../ui/canvas";
import { box, frame as outline } from "../drawing/patterns";
import { clamped } from "./axis";
import { density } from "./coalesce";
import { frameOf } from "./frame";
import type { ThreadsView } from "./view";

const COLUMNS = 1200;

export function Minimap({ view }: { view: ThreadsView }) {
  const { app } = view;
  const dragged = useRef<{ x: number; x0: number } | null>(null);
  const width = useRef(1);
  const counts = useMemo(
    () =>
      computed(() => density(app.model.spans, view.axis.value, COLUMNS, (t) => !view.isHost(t))),
    [app, view],
  );
  const findings = useMemo(() => computed(() => placesOfFindings(view)), [app, view]);
  const across = useMemo(() => signal(1), []);
  // In quarters of a pixel: most steps of a long run change nothing here.
  const mark = useMemo(
    () =>
      computed(() => {
        const axis = view.axis.value;
        if (app.cursor.value < 1) return -1;
        const place = axis.at(app.cursor.value - 1) + 0.5 - axis.low;
        return Math.round((place / (axis.high - axis.low)) * across.value * 4) / 4;
      }),
    [app, view],
  );

  const draw = useCallback(
    (context: CanvasRenderingContext2D, w: number, h: number) => {
      width.current = w;
      const frame = frameOf(w, h, app.model.clocks !== null);
      const theme = app.theme.value;
      const { counts: lists, most } = counts.value;
      const inks = [theme.run, theme.wait, theme.flight];
      const end = Math.round(frame.width);
      for (let x = 0; x < end; x++) {
        const column = Math.min(Math.floor((x * COLUMNS) / end), COLUMNS - 1);
        let top = h;
        for (let kind = 0; kind < 3; kind++) {
          const high = most > 0 ? (lists[kind][column] / most) * (h - 2) : 0;
          if (high <= 0) continue;
          box(context, inks[kind], frame.left + x, top - high, 1, high);
          top -= high;
        }
      }
      const axis = view.axis.value;
      const scale = frame.width / (axis.high - axis.low);
      const { x0, x1 } = view.window.value;
      const [a, b] = [(x0 - axis.low) * scale, (x1 - axis.low) * scale].map((x) => frame.left + x);
      context.globalAlpha = 0.72;
      box(context, theme.surface, frame.left, 0, a - frame.left, h);
      box(context, theme.surface, b, 0, frame.right - b, h);
      context.globalAlpha = 1;
      outline(context, theme.muted, 1, Math.round(a), 0, Math.max(Math.round(b - a), 3), h);
      for (const place of findings.value) {
        box(context, theme.error, frame.left + (place - axis.low) * scale - 1, 0, 2.5, 5);
      }
      across.value = frame.width;
      if (mark.value >= 0) box(context, theme.accent, frame.left + mark.value - 0.75, 0, 1.5, h);
    },
    [app, view],
  );

  const placeOf = (x: number) => {
    const frame = frameOf(width.current, 0, app.model.clocks !== null);
    const axis = view.axis.peek();
    return axis.low + ((x - frame.left) / frame.width) * (axis.high - axis.low);
  };
  const down = ({ x, event }: Pointer) => {
    const { x0, x1 } = view.window.peek();
    const place = placeOf(x);
    const half = (x1 - x0) / 2;
    if (place < x0 || place > x1)
      view.show(clamped({ x0: place - half, x1: place + half }, view.axis.peek()));
    dragged.current = { x: place, x0: view.window.peek().x0 };
    (event.currentTarget as HTMLElement).setPointerCapture?.(event.pointerId);
  };
  const move = ({ x, event }: Pointer) => {
    if (!dragged.current || event.buttons === 0) {
      dragged.current = null;
      return;
    }
    const window = view.window.peek();
    const x0 = dragged.current.x0 + placeOf(x) - dragged.current.x;
    view.show(clamped({ x0, x1: x0 + window.x1 - window.x0 }, view.axis.peek()));
  };
  return (
    <div class="pd-minimap">
      <Canvas
        label="Overview of the whole launch; drag or use the left and right arrows to move the shown part."
        draw={draw}
        cursor="grab"
        onDown={down}
        onMove={move}
        onUp={() => {
          dragged.current = null;
        }}
        onDoubleClick={() => view.fit()}
        onKey={(event) => key(view, event)}
        onWheel={(x, _, event) => {
          view.zoom(Math.exp(event.deltaY * 0.002), placeOf(x));
          return true;
        }}
      />
    </div>
  );
}

/** Arrows move the window by a quarter of its width. */
function key(view: ThreadsView, event: KeyboardEvent): boolean {
  const by = { ArrowLeft: -0.25, ArrowRight: 0.25 }[event.key];
  const { x0, x1 } = view.window.peek();
  if (by !== undefined) view.pan(by * (x1 - x0));
  return by !== undefined;
}

const MOST_PLACES = 400;

/** Where findings point to on the axis of the launch. */
function placesOfFindings(view: ThreadsView): number[] {
  const axis = view.axis.value;
  const found = new Set<number>();
  for (const finding of view.model.findings) {
    for (const event of finding.events) {
      if (event >= axis.first && event < axis.last && found.size < MOST_PLACES)
        found.add(axis.at(event));
    }
  }
  return [...found];
}

/** The whole run as one strip: where threads waited, where findings are, where the cursor is. */

import { computed, signal } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { grouped } from "../model/text";
import type { Model } from "../model/trace";
import { Kind } from "../schema.gen";
import { Canvas, type Pointer } from "./canvas";
import { type App, clamp } from "./store";
import type { Theme } from "./theme";

const INSET = 10;
const RANK = { info: 0, warning: 1, error: 2 } as const;

const waiting = new WeakMap<Model, Int32Array>();

/** Events at which a thread fell asleep. */
function waits(model: Model): Int32Array {
  let found = waiting.get(model);
  if (!found) {
    const { kind } = model.events;
    const list: number[] = [];
    for (let e = 0; e < model.count; e++) if (kind[e] === Kind.BLOCK) list.push(e);
    found = Int32Array.from(list);
    waiting.set(model, found);
  }
  return found;
}

export function Scrubber({ app }: { app: App }): JSX.Element {
  const draw = useMemo(() => {
    const room = signal(1);
    // Most steps of a long run end in the same pixel, and nothing is drawn.
    const place = computed(() => Math.round(INSET + app.cursor.value * scaleOf(app, room.value)));
    return (context: CanvasRenderingContext2D, width: number, height: number) => {
      room.value = width;
      paint(app, context, width, height, place.value);
    };
  }, [app]);
  const cursorAt = (x: number, width: number) =>
    Math.round(clamp((x - INSET) / Math.max(width - 2 * INSET, 1), 0, 1) * app.model.count);
  const seek = ({ x, event }: Pointer) => {
    const canvas = event.currentTarget as HTMLElement;
    if (event.buttons & 1)
      app.moveTo(nearFinding(app, cursorAt(x, canvas.clientWidth), x, canvas.clientWidth));
  };
  const down = (at: Pointer) => {
    (at.event.currentTarget as HTMLElement).setPointerCapture(at.event.pointerId);
    seek(at);
  };
  const key = (event: KeyboardEvent) => {
    const page = Math.max(Math.round(app.model.count / 50), 1);
    if (event.key === "PageDown") app.moveTo(app.cursor.value + page);
    else if (event.key === "PageUp") app.moveTo(app.cursor.value - page);
    else return false;
    return true;
  };
  return (
    <div
      class="pd-scrub"
      role="slider"
      aria-label="Position in the run"
      aria-valuemin={0}
      aria-valuemax={app.model.count}
      aria-valuenow={app.cursor.value}
      aria-valuetext={
        app.event < 0
          ? "before the first event"
          : `event #${grouped(app.event)} of #${grouped(app.model.count - 1)}`
      }
    >
      <Canvas
        draw={draw}
        label="Position in the run"
        cursor="pointer"
        onDown={down}
        onMove={seek}
        onKey={key}
      />
    </div>
  );
}

/** Snaps to a finding's event that is drawn under the pointer. */
function nearFinding(app: App, cursor: number, x: number, width: number): number {
  const scale = scaleOf(app, width);
  let best = cursor;
  let distance = 4;
  for (const one of app.model.findings) {
    for (const event of one.events) {
      const away = Math.abs(INSET + (event + 1) * scale - x);
      if (away < distance) [best, distance] = [event + 1, away];
    }
  }
  return best;
}

/** Pixels per event. */
function scaleOf(app: App, width: number): number {
  return (width - 2 * INSET) / Math.max(app.model.count, 1);
}

function paint(
  app: App,
  context: CanvasRenderingContext2D,
  width: number,
  height: number,
  x: number,
): void {
  const { model } = app;
  const theme = app.theme.value;
  const scale = scaleOf(app, width);
  const middle = Math.round(height / 2) + 3;
  context.fillStyle = theme.idle;
  context.fillRect(INSET, middle - 3, width - 2 * INSET, 6);
  drawWaits(model, context, theme, scale, middle);
  context.fillStyle = theme.accent;
  context.globalAlpha = 0.25;
  context.fillRect(INSET, middle - 3, x - INSET, 6);
  context.globalAlpha = 1;
  context.fillStyle = theme.muted;
  for (const launch of model.launches.slice(1)) {
    context.fillRect(Math.round(INSET + launch.firstEvent * scale), middle - 6, 1, 12);
  }
  drawFindings(model, context, theme, scale, middle);
  context.fillStyle = theme.accent;
  context.fillRect(x - 1, 3, 2, height - 6);
  context.beginPath();
  context.arc(x, middle, 4.5, 0, Math.PI * 2);
  context.fill();
}

function drawWaits(
  model: Model,
  context: CanvasRenderingContext2D,
  theme: Theme,
  scale: number,
  middle: number,
): void {
  context.fillStyle = theme.wait;
  let [from, to] = [-1, -1];
  for (const event of waits(model)) {
    const x = Math.floor(INSET + event * scale);
    if (x < to) continue;
    if (x > to) {
      context.fillRect(from, middle - 3, to - from, 6);
      from = x;
    }
    to = x + 1;
  }
  context.fillRect(from, middle - 3, to - from, 6);
}

function drawFindings(
  model: Model,
  context: CanvasRenderingContext2D,
  theme: Theme,
  scale: number,
  middle: number,
): void {
  const marks: { x: number; severity: keyof typeof RANK }[] = [];
  for (const one of model.findings) {
    for (const event of one.events)
      marks.push({ x: INSET + (event + 1) * scale, severity: one.severity });
  }
  marks.sort((a, b) => RANK[a.severity] - RANK[b.severity]);
  for (const { x, severity } of marks) {
    context.fillStyle = theme[severity];
    context.beginPath();
    context.moveTo(x, middle - 4);
    context.lineTo(x - 4, middle - 11);
    context.lineTo(x + 4, middle - 11);
    context.fill();
  }
}

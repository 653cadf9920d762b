/** Events on a lane, where there is room to tell them apart: each kind has a shape of its own. */

import { lowerBound } from "../../model/groups";
import { Kind } from "../../schema.gen";
import type { Theme } from "../../ui/theme";
import { box } from "../drawing/patterns";
import type { Frame } from "./frame";
import type { Lane } from "./lanes";
import type { ThreadsView } from "./view";

type Context = CanvasRenderingContext2D;
const ROOM = 7;
/** Their number says which phase, or how many units. */
const NUMBERED = new Set<number>([Kind.PHASE, Kind.WAIT, Kind.SIGNAL]);
const DENSE = 5;
const CENTER = 10;

/** The marks of a lane's events, and of findings at any density. */
export function paintMarks(
  context: Context,
  view: ThreadsView,
  lane: Lane,
  y: number,
  frame: Frame,
): void {
  if (lane.kind === "worker") {
    marksOf(context, view, lane.thread, y + CENTER, frame, true);
    return;
  }
  const { spans } = view.model;
  const { x0, x1 } = view.window.value;
  const axis = view.axis.value;
  // Marks of agents need more room than their bars have when many are in sight.
  const rows = view.rowsOf(lane);
  const shown = rows.filter(
    (span) => axis.at(spans.end[span]) >= x0 && axis.at(spans.start[span]) <= x1,
  );
  if (shown.length > frame.width / 40) return;
  for (const span of shown)
    marksOf(context, view, spans.thread[span], y + lane.height / 2 + 1, frame, false);
}

/** Whether a unit of the axis has room for the mark of an agent's event. */
export function hasAgentMarks(view: ThreadsView, frame: Frame): boolean {
  const { x0, x1 } = view.window.value;
  return frame.width / (x1 - x0) >= ROOM;
}

function marksOf(
  context: Context,
  view: ThreadsView,
  thread: number,
  y: number,
  frame: Frame,
  worker: boolean,
): void {
  const { model } = view;
  const theme = view.app.theme.value;
  const axis = view.axis.value;
  const { x0, x1 } = view.window.value;
  const list = model.eventsOfThread(thread);
  const first = lowerBound(list, axis.eventAt(Math.floor(x0) - 1), 0, list.length);
  const end = lowerBound(list, axis.eventAt(Math.ceil(x1) + 1), first, list.length);
  // Agents say by their text what they do; marks only where a unit is wide.
  if (end - first > frame.width / ROOM || (!worker && !hasAgentMarks(view, frame))) return;
  if (end <= first) return;
  // Marks on top of each other say nothing: where they are dense the bar speaks alone.
  if (view.xOf(list[end - 1], frame) - view.xOf(list[first], frame) < (end - first - 1) * DENSE)
    return;
  let last = Number.NEGATIVE_INFINITY;
  for (let i = first; i < end; i++) {
    const event = list[i];
    const x = view.xOf(event, frame);
    if (x - last < ROOM) continue;
    last = x;
    paintMark(context, model.events.kind[event], x, y, theme);
    const next = i + 1 < end ? view.xOf(list[i + 1], frame) : frame.right;
    if (NUMBERED.has(model.events.kind[event]) && next - x > 24) {
      context.font = `600 9px ${theme.sans}`;
      context.textBaseline = "middle";
      box(
        context,
        theme.background,
        x + 5,
        y - 5,
        context.measureText(`${model.events.aux[event]}`).width + 2,
        10,
      );
      context.fillStyle = theme.text;
      context.fillText(`${model.events.aux[event]}`, x + 6, y + 0.5);
    }
    if (worker && model.events.kind[event] === Kind.GRID)
      box(context, theme.muted, x, y - 9, 1, 18);
  }
}

/** One event's mark around a point. */
export function paintMark(
  context: Context,
  kind: number,
  x: number,
  y: number,
  theme: Theme,
): void {
  const shape = SHAPES[kind];
  if (!shape) return;
  context.beginPath();
  context.fillStyle = context.strokeStyle = theme[shape.ink];
  context.lineWidth = 1.25;
  shape.path(context, x, y);
  if (shape.filled) context.fill();
  else context.stroke();
  if (shape.filled) {
    // An edge of ground keeps marks apart from the bar below.
    context.strokeStyle = theme.background;
    context.lineWidth = 1;
    context.stroke();
  }
}

type Ink = "read" | "write" | "text" | "wait" | "flight" | "error" | "background";
interface Shape {
  readonly ink: Ink;
  readonly filled: boolean;
  path(context: Context, x: number, y: number): void;
}

const R = 3.5;

function polygon(points: readonly (readonly [number, number])[]) {
  return (context: Context, x: number, y: number) => {
    points.forEach(([dx, dy], i) => {
      if (i === 0) context.moveTo(x + dx * R, y + dy * R);
      else context.lineTo(x + dx * R, y + dy * R);
    });
    context.closePath();
  };
}

const circle = (context: Context, x: number, y: number) => context.arc(x, y, R, 0, 7);
const square = polygon([
  [-0.9, -0.9],
  [0.9, -0.9],
  [0.9, 0.9],
  [-0.9, 0.9],
]);
const diamond = polygon([
  [0, -1.2],
  [1.2, 0],
  [0, 1.2],
  [-1.2, 0],
]);
const up = polygon([
  [0, -1.2],
  [1.1, 0.9],
  [-1.1, 0.9],
]);
const down = polygon([
  [0, 1.2],
  [1.1, -0.9],
  [-1.1, -0.9],
]);
const right = polygon([
  [-0.9, -1.1],
  [1.2, 0],
  [-0.9, 1.1],
]);
const bar = polygon([
  [-0.25, -1.2],
  [0.25, -1.2],
  [0.25, 1.2],
  [-0.25, 1.2],
]);

const SHAPES: Record<number, Shape> = {
  [Kind.READ]: { ink: "read", filled: true, path: circle },
  [Kind.WRITE]: { ink: "write", filled: true, path: square },
  [Kind.UPDATE]: { ink: "write", filled: true, path: diamond },
  [Kind.ARRIVE]: { ink: "text", filled: true, path: up },
  [Kind.SIGNAL]: { ink: "text", filled: true, path: up },
  [Kind.LAND]: { ink: "text", filled: false, path: up },
  [Kind.PHASE]: { ink: "text", filled: false, path: circle },
  [Kind.WAIT]: { ink: "text", filled: true, path: down },
  [Kind.JOIN]: { ink: "text", filled: true, path: down },
  [Kind.SPAWN]: { ink: "flight", filled: true, path: right },
  [Kind.FENCE]: { ink: "text", filled: true, path: bar },
  [Kind.COMMIT]: { ink: "text", filled: true, path: bar },
  [Kind.STUB]: { ink: "error", filled: true, path: diamond },
  [Kind.ASSERT]: { ink: "text", filled: false, path: square },
  [Kind.PRINT]: { ink: "text", filled: false, path: square },
};

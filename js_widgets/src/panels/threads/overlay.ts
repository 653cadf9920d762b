/** Draws what moves with the cursor: its line, the arrows of the current event, the clocks, the selection. */

import { grouped } from "../../model/text";
import { EDGE_KINDS, Kind } from "../../schema.gen";
import type { Theme } from "../../ui/theme";
import { box, frame as outline } from "../drawing/patterns";
import { fitted, measurer } from "../drawing/text";
import { extent } from "./coalesce";
import { type Frame, HEAD } from "./frame";
import { SPAN } from "./lanes";
import { paintMark } from "./marks";
import { ticksOf, visibleLanes } from "./paint";
import type { ThreadsView } from "./view";
import { waitText } from "./words";

type Context = CanvasRenderingContext2D;
const MOST_ARROWS = 60;
const LOOK_BACK = 64;
const SPAWN = EDGE_KINDS.indexOf("spawn");

/** The moving picture, above the base. */
export function paintOverlay(context: Context, view: ThreadsView, frame: Frame): void {
  const theme = view.app.theme.value;
  const cursor = view.app.cursor.value;
  paintSelection(context, view, frame, theme);
  context.save();
  context.beginPath();
  context.rect(frame.left - 1, HEAD, frame.width + 2, frame.height - HEAD);
  context.clip();
  paintCursor(context, view, frame, theme, cursor);
  if (cursor > 0) paintArrows(context, view, frame, theme, cursor - 1);
  paintEndless(context, view, frame, theme);
  paintHover(context, view, frame, theme);
  context.restore();
  if (cursor > 0 && frame.clocks) paintClocks(context, view, frame, theme, cursor);
  paintAxis(context, view, frame, theme, cursor);
}

function paintSelection(context: Context, view: ThreadsView, frame: Frame, theme: Theme): void {
  const lane = view.laneOf(view.app.thread.value);
  if (lane < 0) return;
  const { list } = view.lanes.value;
  const y = view.yOf(lane) - list[lane].height / 2;
  if (y + list[lane].height < HEAD || y > frame.height) return;
  context.save();
  context.beginPath();
  context.rect(0, HEAD, frame.right, frame.height);
  context.clip();
  context.globalAlpha = 0.1;
  box(context, theme.accent, 0, y, frame.right, list[lane].height);
  context.globalAlpha = 1;
  box(context, theme.accent, 0, y, 3, list[lane].height);
  context.restore();
}

function paintCursor(
  context: Context,
  view: ThreadsView,
  frame: Frame,
  theme: Theme,
  cursor: number,
): void {
  const x = cursorX(view, frame, cursor);
  box(context, theme.accent, Math.round(x) - 0.5, HEAD, 1.5, frame.height);
  if (cursor === 0) return;
  const lane = view.laneOf(view.model.events.thread[cursor - 1]);
  if (lane < 0) return;
  const y = view.yOf(lane);
  context.beginPath();
  context.arc(x, y, 6.5, 0, 7);
  context.fillStyle = theme.background;
  context.fill();
  context.strokeStyle = theme.accent;
  context.lineWidth = 2;
  context.stroke();
  paintMark(context, view.model.events.kind[cursor - 1], x, y, theme);
}

function cursorX(view: ThreadsView, frame: Frame, cursor: number): number {
  return cursor > 0 ? view.xOf(cursor - 1, frame) : frame.left + 0.5;
}

/** The labels of the axis; the cursor's own goes before those it would cover. */
function paintAxis(
  context: Context,
  view: ThreadsView,
  frame: Frame,
  theme: Theme,
  cursor: number,
): void {
  context.textBaseline = "middle";
  context.font = `600 10px ${theme.sans}`;
  const x = cursorX(view, frame, cursor);
  const shown = cursor > 0 && x >= frame.left && x <= frame.right;
  const text = shown ? grouped(view.axis.value.at(cursor - 1)) : "";
  const width = context.measureText(text).width + 10;
  const left = shown ? Math.min(Math.max(x - width / 2, frame.left), frame.right - width) : -1000;
  context.font = `10px ${theme.sans}`;
  context.fillStyle = theme.muted;
  context.fillText(view.settings.value.axis === "step" ? "steps" : "events", 17, HEAD / 2);
  context.textAlign = "center";
  let last = frame.left - 8;
  for (const { x: at, tick, half } of ticksOf(view, frame, measurer(context))) {
    const free = at + half + 4 < left || at - half - 4 > left + width;
    if (!free || at - half < last + 6 || at + half > frame.right + 8) continue;
    context.fillText(grouped(tick), at, HEAD / 2);
    last = at + half;
  }
  context.textAlign = "left";
  if (!shown) return;
  box(context, theme.accent, left, 3, width, HEAD - 7);
  context.fillStyle = theme.background;
  context.font = `600 10px ${theme.sans}`;
  context.fillText(text, left + 5, HEAD / 2);
}

interface Arrow {
  readonly edge: number;
  readonly faint: boolean;
}

/** Edges of the current event; for orientation the last that came into its thread before. */
export function arrowsOf(view: ThreadsView, event: number): Arrow[] {
  const { model } = view;
  const { edges } = model;
  const found: Arrow[] = [];
  for (const side of ["dst", "src"] as const) {
    for (const edge of model.edgesAt(event, side))
      found.push({ edge, faint: edges.kind[edge] === SPAWN });
  }
  const list = model.eventsOfThread(model.events.thread[event]);
  let at = view.model.tickOf(event);
  if (model.events.kind[event] === Kind.BLOCK && at + 1 < list.length) {
    // Who wakes the sleeper comes later: shown faintly.
    for (const edge of model.edgesAt(list[at + 1], "dst")) found.push({ edge, faint: true });
  }
  for (let back = 0; back < LOOK_BACK && at > 0; back++) {
    at--;
    const before = model.edgesAt(list[at], "dst");
    for (const edge of before) found.push({ edge, faint: true });
    if (before.length > 0) break;
  }
  return found.slice(0, MOST_ARROWS);
}

function paintArrows(
  context: Context,
  view: ThreadsView,
  frame: Frame,
  theme: Theme,
  event: number,
): void {
  const { edges } = view.model;
  if (edges.count === 0) return;
  const names: Point[] = [];
  for (const { edge, faint } of arrowsOf(view, event)) {
    const [from, to] = [
      view.laneOf(view.model.events.thread[edges.src[edge]]),
      view.laneOf(view.model.events.thread[edges.dst[edge]]),
    ];
    if (from < 0 || to < 0) continue;
    const a = { x: view.xOf(edges.src[edge], frame), y: near(view.yOf(from), frame) };
    const b = { x: view.xOf(edges.dst[edge], frame), y: near(view.yOf(to), frame) };
    context.globalAlpha = faint ? 0.45 : 1;
    context.strokeStyle = context.fillStyle = theme.text;
    context.lineWidth = faint ? 1 : 1.5;
    context.setLineDash(faint ? [4, 3] : []);
    arrow(context, a, b);
    context.setLineDash([]);
    const middle = { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
    const taken = names.some(
      (at) => Math.abs(at.x - middle.x) < 56 && Math.abs(at.y - middle.y) < 16,
    );
    if (faint || taken || Math.abs(b.y - a.y) < 34) continue;
    names.push(middle);
    paintEdgeName(context, EDGE_KINDS[edges.kind[edge]], middle, frame, theme);
  }
  context.globalAlpha = 1;
}

/** A lane far out of sight, a bit out of sight: a browser cuts every dash of a line that nobody sees. */
function near(y: number, { height }: Frame): number {
  return Math.min(Math.max(y, -height), 2 * height);
}

interface Point {
  readonly x: number;
  readonly y: number;
}

/** A curve that leaves and comes in along the lanes. */
function arrow(context: Context, a: Point, b: Point): void {
  const bend = Math.min(Math.max(Math.abs(b.x - a.x) / 2, 10), 60);
  context.beginPath();
  context.moveTo(a.x, a.y);
  context.bezierCurveTo(a.x + bend, a.y, b.x - bend, b.y, b.x - 5, b.y);
  context.stroke();
  context.beginPath();
  context.moveTo(b.x - 2, b.y);
  context.lineTo(b.x - 9, b.y - 4);
  context.lineTo(b.x - 9, b.y + 4);
  context.closePath();
  context.fill();
}

function paintEdgeName(
  context: Context,
  name: string,
  { x, y }: Point,
  frame: Frame,
  theme: Theme,
): void {
  if (x < frame.left || x > frame.right) return;
  context.font = `10px ${theme.sans}`;
  const width = context.measureText(name).width + 6;
  box(context, theme.background, x - width / 2, y - 7, width, 13);
  context.fillStyle = theme.muted;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(name, x, y);
  context.textAlign = "left";
}

/** Waits that nothing ended say so, inside the bar or before it. */
function paintEndless(context: Context, view: ThreadsView, frame: Frame, theme: Theme): void {
  const { list } = view.lanes.value;
  const { spans } = view.model;
  const [first, end] = visibleLanes(view, frame.height);
  context.font = `600 10px ${theme.sans}`;
  context.textBaseline = "middle";
  const measure = measurer(context);
  for (let i = first; i < end; i++) {
    const span = list[i].kind === "worker" ? (view.spansOf(list[i].thread).at(-1) ?? -1) : -1;
    if (span < 0 || spans.kind[span] !== SPAN.waits || !view.isEndless(span)) continue;
    const from = Math.max(view.xAt(extent(span, spans, view.axis.value).from, frame), frame.left);
    const to = Math.min(view.xAt(view.axis.value.high, frame), frame.right);
    const text = `still waits for ${waitText(view.model, span)}`;
    const inside = measure(text) + 30 <= to - from;
    const shown = fitted(text, inside ? to - from - 8 : from - frame.left - 8, measure);
    if (!shown || from > frame.right) continue;
    const at = inside ? from + 5 : from - measure(shown) - 6;
    box(context, theme.background, at - 3, view.yOf(i) - 7, measure(shown) + 6, 13);
    context.fillStyle = theme.error;
    context.fillText(shown, at, view.yOf(i) + 0.5);
  }
}

function paintHover(context: Context, view: ThreadsView, frame: Frame, theme: Theme): void {
  const hover = view.hover.value;
  if (!hover || hover.event < 0) return;
  const [x, y] = [view.xOf(hover.event, frame), view.yOf(hover.lane)];
  outline(context, theme.text, 1, x - 6, y - 7, 12, 14);
}

/** For each thread the last of its ticks that comes before the current event, and how far it is. */
function paintClocks(
  context: Context,
  view: ThreadsView,
  frame: Frame,
  theme: Theme,
  cursor: number,
): void {
  const { model } = view;
  const known = model.clocks?.at(cursor - 1);
  if (!known) return;
  context.font = `10px ${theme.mono}`;
  context.textBaseline = "middle";
  context.textAlign = "right";
  const measure = measurer(context);
  const right = frame.right + 58;
  context.fillStyle = theme.muted;
  context.fillText("clock", right, HEAD / 2);
  const { list } = view.lanes.value;
  const [first, end] = visibleLanes(view, frame.height);
  for (let i = first; i < end; i++) {
    if (list[i].kind !== "worker") continue;
    const y = view.yOf(i);
    if (y < HEAD + 6) continue;
    const tick = known.get(list[i].thread);
    const own = model.lastOfThread(list[i].thread, cursor);
    const text = `${tick ?? "–"}/${own < 0 ? "–" : model.tickOf(own)}`;
    context.fillStyle = tick === undefined ? theme.muted : theme.text;
    context.fillText(fitted(text, 56, measure), right, y);
  }
  context.textAlign = "left";
}

/** Draws what does not move with the cursor: the axis, the names, the bars of the visible lanes. */

import { grouped } from "../../model/text";
import type { Theme } from "../../ui/theme";
import { ticks } from "../../ui/ticks";
import { box, hatch, frame as outline } from "../drawing/patterns";
import { fitted, fittedInside, type Measure, measurer } from "../drawing/text";
import { type Bar, bars } from "./coalesce";
import { type Frame, HEAD } from "./frame";
import { type Lane, SPAN } from "./lanes";
import { hasAgentMarks, paintMarks } from "./marks";
import type { ThreadsView } from "./view";
import { flightText, waitText } from "./words";

type Context = CanvasRenderingContext2D;

/** Lanes from the first to the last visible one. */
export function visibleLanes(view: ThreadsView, height: number): [first: number, end: number] {
  const { tops, list } = view.lanes.value;
  const top = view.scroll.value;
  let first = 0;
  let high = list.length;
  while (first < high) {
    const middle = (first + high) >> 1;
    if (tops[middle + 1] <= top) first = middle + 1;
    else high = middle;
  }
  let end = first;
  while (end < list.length && tops[end] - top < height - HEAD) end++;
  return [first, end];
}

/** The base picture: all but what the cursor moves. */
export function paintLanes(context: Context, view: ThreadsView, frame: Frame): void {
  const theme = view.app.theme.value;
  const [first, end] = visibleLanes(view, frame.height);
  paintRules(context, view, frame, theme);
  context.save();
  context.beginPath();
  context.rect(0, HEAD, frame.right + 2, frame.height - HEAD);
  context.clip();
  for (let i = first; i < end; i++) paintLane(context, view, i, frame, theme);
  paintFindings(context, view, frame, theme);
  context.restore();
  paintNames(context, view, frame, theme, first, end);
}

function paintLane(
  context: Context,
  view: ThreadsView,
  number: number,
  frame: Frame,
  theme: Theme,
): void {
  const { list, tops } = view.lanes.value;
  const lane = list[number];
  const y = Math.round(HEAD + tops[number] - view.scroll.value);
  if (lane.kind === "worker") box(context, theme.line, frame.left, y, frame.width, 1);
  context.save();
  context.beginPath();
  context.rect(frame.left, y, frame.width, lane.height);
  context.clip();
  const found = barsOf(view, view.rowsOf(lane), frame);
  if (view.isHost(lane.thread)) {
    // What starts the others is no code of the kernel's.
    for (const bar of found)
      box(context, theme.done, frame.left + bar.from, y + 10, bar.to - bar.from, 2);
  } else {
    const [top, height] = lane.kind === "worker" ? [y + 4, 13] : [y + 2, lane.height - 3];
    for (const bar of found) paintBar(context, view, bar, frame, top, height, theme);
  }
  if (lane.kind === "worker" && !view.isOpen(lane.thread))
    paintStrip(context, view, lane, y + 18, frame, theme);
  paintMarks(context, view, lane, y, frame);
  context.restore();
}

function barsOf(view: ThreadsView, rows: Int32Array, frame: Frame): Bar[] {
  return bars(rows, view.model.spans, view.axis.value, view.window.value, frame.width);
}

function paintBar(
  context: Context,
  view: ThreadsView,
  bar: Bar,
  frame: Frame,
  y: number,
  height: number,
  theme: Theme,
): void {
  const x = frame.left + bar.from;
  // A hairline of ground between neighbors, where there is room for it.
  const width = Math.max(bar.to - bar.from - (bar.to - bar.from > 3 ? 1 : 0), 1);
  if (bar.kind === SPAN.waits) {
    context.globalAlpha = 0.3;
    box(context, theme.wait, x, y, width, height);
    context.globalAlpha = 1;
    if (width > 4) box(context, hatch(context, "rising", theme.wait), x, y, width, height);
    box(context, theme.wait, x, y + height - 1, width, 1);
  } else box(context, bar.kind === SPAN.flies ? theme.flight : theme.run, x, y, width, height);
  if (bar.span < 0) return;
  if (bar.kind === SPAN.waits && view.isEndless(bar.span)) {
    outline(context, theme.error, 1.5, x, y, Math.max(width, 3), height);
    return;
  }
  if (width < 36) return;
  paintText(
    context,
    view,
    bar,
    Math.max(x, frame.left),
    Math.min(x + width, frame.right),
    y + height / 2,
    frame,
    theme,
  );
}

const ON_FLIGHT = "#101418"; // The color of flights is light on every page.

/** What a bar says where it is wide enough: whom it waits for, what it copies. */
function paintText(
  context: Context,
  view: ThreadsView,
  bar: Bar,
  left: number,
  right: number,
  middle: number,
  frame: Frame,
  theme: Theme,
): void {
  const { model } = view;
  if (bar.kind === SPAN.runs) return;
  context.font = `10px ${theme.sans}`;
  context.textBaseline = "middle";
  const measure = measurer(context);
  const text =
    bar.kind === SPAN.waits
      ? waitText(model, bar.span)
      : flightText(model, model.spans.thread[bar.span]);
  const end =
    bar.kind === SPAN.flies ? Math.min(right, firstMark(view, bar.span, left, frame)) : right;
  const shown = fitted(text, end - left - 8, measure);
  if (!shown) return;
  if (bar.kind === SPAN.waits) {
    box(context, theme.background, left + 2, middle - 6, measure(shown) + 4, 11);
    context.fillStyle = theme.text;
  } else context.fillStyle = ON_FLIGHT;
  context.fillText(shown, left + 4, middle + 0.5);
}

/** Where an agent's marks begin: text ends before. */
function firstMark(view: ThreadsView, span: number, left: number, frame: Frame): number {
  const events = view.model.eventsOfThread(view.model.spans.thread[span]);
  for (const event of events) {
    const x = view.xOf(event, frame);
    if (x >= left) return hasAgentMarks(view, frame) ? x - 2 : Number.POSITIVE_INFINITY;
  }
  return Number.POSITIVE_INFINITY;
}

/** Agents whose rows are closed: thin lines below the thread that started them. */
function paintStrip(
  context: Context,
  view: ThreadsView,
  lane: Lane,
  y: number,
  frame: Frame,
  theme: Theme,
): void {
  if (!view.hasAgents(lane.thread)) return;
  const rows = view.packsAt(view.crew.value.owner[lane.thread]).flatMap((pack) => pack.rows);
  context.fillStyle = theme.flight;
  context.globalAlpha = 0.75;
  for (const row of rows.slice(0, 6)) {
    for (const bar of barsOf(view, row, frame))
      context.fillRect(frame.left + bar.from, y, bar.to - bar.from, 3);
  }
  context.globalAlpha = 1;
}

function paintNames(
  context: Context,
  view: ThreadsView,
  frame: Frame,
  theme: Theme,
  first: number,
  end: number,
): void {
  const { list, tops } = view.lanes.value;
  const { threads } = view.model;
  context.textBaseline = "middle";
  context.save();
  context.beginPath();
  context.rect(0, HEAD, frame.left, frame.height - HEAD);
  context.clip();
  context.font = `11px ${theme.sans}`;
  const measure = measurer(context);
  for (let i = first; i < end; i++) {
    const lane = list[i];
    const y = HEAD + tops[i] + lane.height / 2 - view.scroll.value;
    if (lane.kind === "worker") {
      context.fillStyle = theme.muted;
      if (view.hasAgents(lane.thread)) context.fillText(view.isOpen(lane.thread) ? "▾" : "▸", 4, y);
      context.fillStyle = theme.text;
      context.fillText(laneName(threads.name(lane.thread), frame.left - 24, measure), 17, y);
    } else if (lane.row === 0) {
      context.fillStyle = theme.muted;
      context.fillText(fitted(lane.agents, frame.left - 36, measure), 29, y);
    }
  }
  context.restore();
}

/** A thread's name in little room: `wg 1 (0, 3)` says as much as the long one. */
function laneName(name: string, width: number, measure: Measure): string {
  if (measure(name) <= width) return name;
  const short = name
    .replace(" of block ()", "")
    .replace(" of block ", " ")
    .replace("warpgroup", "wg")
    .replace(" on device ", " dev ");
  return fittedInside(short, width, measure);
}

/** Places of the axis' labels that have room. */
export function ticksOf(
  view: ThreadsView,
  frame: Frame,
  measure: Measure,
): { x: number; tick: number; half: number }[] {
  const { x0, x1 } = view.window.value;
  const unit = frame.width / (x1 - x0);
  const room = measure(grouped(Math.round(x1))) + 24;
  return ticks(x0, x1, frame.width / room, 1).map((tick) => ({
    x: Math.round(frame.left + (tick - x0) * unit) + 0.5,
    tick,
    half: measure(grouped(tick)) / 2,
  }));
}

const MOST_FINDINGS = 300;

/** Events that findings point to: a wedge at the foot of their lanes. */
function paintFindings(context: Context, view: ThreadsView, frame: Frame, theme: Theme): void {
  const axis = view.axis.value;
  let left = MOST_FINDINGS;
  for (const finding of view.model.findings) {
    context.fillStyle = finding.severity === "error" ? theme.error : theme[finding.severity];
    for (const event of finding.events) {
      if (event < axis.first || event >= axis.last || left-- <= 0) continue;
      const lane = view.laneOf(view.model.events.thread[event]);
      if (lane < 0) continue;
      const [x, y] = [
        view.xOf(event, frame),
        view.yOf(lane) + view.lanes.value.list[lane].height / 2,
      ];
      if (x < frame.left || y < HEAD || y > frame.height + 22) continue;
      context.beginPath();
      context.moveTo(x, y - 7);
      context.lineTo(x + 4.5, y);
      context.lineTo(x - 4.5, y);
      context.closePath();
      context.fill();
    }
  }
}

function paintRules(context: Context, view: ThreadsView, frame: Frame, theme: Theme): void {
  context.font = `10px ${theme.sans}`;
  for (const { x } of ticksOf(view, frame, measurer(context))) {
    box(context, theme.line, x - 0.5, HEAD - 4, 1, frame.height);
  }
  box(context, theme.line, 0, HEAD - 1, frame.right, 1);
}

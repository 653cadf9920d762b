/** Bars of a lane joined per pixel, so that a picture costs its pixels and not its spans. Pure. */

import type { Axis, Window } from "./axis";
import { SPAN, type Spans } from "./lanes";

export interface Bar {
  /** Pixels. */
  readonly from: number;
  readonly to: number;
  readonly kind: number;
  /** The span, or -1 where several were joined. */
  readonly span: number;
}

/** Where a span begins and ends on an axis. */
export function extent(span: number, spans: Spans, axis: Axis): { from: number; to: number } {
  const from = axis.at(spans.start[span]);
  const end = spans.end[span];
  // Waits and flights last until the next event happens. So does a run that goes on in a wait, for
  // what comes before it takes steps; else a run ends with its last event.
  const whole =
    spans.kind[span] !== SPAN.runs || (end < axis.last && axis.owner[end] === spans.thread[span]);
  const to = whole ? axis.at(end) : axis.at(end - 1) + 1;
  return { from, to: Math.max(to, from) };
}

/** The bars of `rows` (spans that do not overlap, sorted by start) inside a window. */
export function bars(
  rows: ArrayLike<number>,
  spans: Spans,
  axis: Axis,
  window: Window,
  width: number,
): Bar[] {
  const scale = width / (window.x1 - window.x0);
  const found: Bar[] = [];
  let i = firstVisible(rows, spans, axis, window.x0);
  while (i < rows.length) {
    const { from, to } = extent(rows[i], spans, axis);
    if (from > window.x1) break;
    const a = Math.max((from - window.x0) * scale, -2);
    const b = Math.min((to - window.x0) * scale, width + 2);
    push(found, a, Math.max(b, a + 1), spans.kind[rows[i]], rows[i]);
    i =
      b - a < 1 ? nextPixel(rows, spans, axis, i, window.x0 + (Math.floor(a) + 1) / scale) : i + 1;
  }
  return found;
}

function push(found: Bar[], from: number, to: number, kind: number, span: number): void {
  const last = found[found.length - 1];
  if (last && last.kind === kind && from <= last.to + 0.5 && (last.span < 0 || to - from <= 1)) {
    found[found.length - 1] = { ...last, to: Math.max(last.to, to), span: -1 };
  } else if (!last || to > last.to) {
    found.push({ from: last ? Math.max(from, Math.min(last.to, to - 0.5)) : from, to, kind, span });
  }
}

/** The first of the rows that ends after a place. */
function firstVisible(rows: ArrayLike<number>, spans: Spans, axis: Axis, place: number): number {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (extent(rows[middle], spans, axis).to < place) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The first row after `i` that reaches past the pixel that `i` lies in. */
function nextPixel(
  rows: ArrayLike<number>,
  spans: Spans,
  axis: Axis,
  i: number,
  edge: number,
): number {
  // Doubling first: the next one is mostly near.
  let jump = 1;
  while (i + jump < rows.length && extent(rows[i + jump], spans, axis).to < edge) jump *= 2;
  let [low, high] = [i + (jump >> 1), Math.min(i + jump, rows.length)];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (extent(rows[middle], spans, axis).to < edge) low = middle + 1;
    else high = middle;
  }
  return Math.max(low, i + 1);
}

/** How many threads run, wait and fly in each of `columns` equal parts of an axis. */
export interface Density {
  readonly columns: number;
  readonly counts: readonly Float64Array[];
  readonly most: number;
}

/** The shares of all spans inside an axis: what the minimap shows. */
export function density(
  spans: Spans,
  axis: Axis,
  columns: number,
  shown = (_thread: number) => true,
): Density {
  const counts = [0, 1, 2].map(() => new Float64Array(columns + 1));
  const scale = columns / (axis.high - axis.low);
  for (let span = 0; span < spans.start.length; span++) {
    if (spans.start[span] < axis.first || spans.start[span] >= axis.last) continue;
    if (!shown(spans.thread[span])) continue;
    const kind = spans.kind[span];
    const { from, to } = extent(span, spans, axis);
    add(counts[kind], (from - axis.low) * scale, (to - axis.low) * scale, columns);
  }
  let most = 0;
  for (const list of counts) integrate(list);
  for (let c = 0; c < columns; c++) {
    most = Math.max(most, counts[0][c] + counts[1][c] + counts[2][c]);
  }
  return { columns, counts, most };
}

/** Adds a piece to a list of differences: whole columns by their ends, parts by share. */
function add(list: Float64Array, from: number, to: number, columns: number): void {
  const first = Math.min(Math.floor(from), columns - 1);
  const last = Math.min(Math.floor(to), columns - 1);
  if (first === last) {
    list[first] += to - from;
    list[first + 1] -= to - from;
    return;
  }
  const head = first + 1 - from;
  const tail = to - last;
  list[first] += head;
  list[first + 1] += 1 - head;
  list[last] += tail - 1;
  list[last + 1] -= tail;
}

function integrate(list: Float64Array): void {
  let sum = 0;
  for (let i = 0; i < list.length; i++) {
    sum += list[i];
    list[i] = Math.max(sum, 0);
  }
}

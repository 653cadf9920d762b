/** Where the cells of a heat map are drawn: fitted, zoomed, moved. Pure. */

import type { Slice } from "./slice";

/** Cells in CSS pixels; `x0`, `y0` is the corner of cell (0, 0), which may lie outside the box. */
export interface Plot {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  readonly x0: number;
  readonly y0: number;
  readonly cellWidth: number;
  readonly cellHeight: number;
  /** The visible cells: first and count. */
  readonly column: number;
  readonly columns: number;
  readonly row: number;
  readonly rows: number;
}

/** Zoom 1 is fitted; `x`, `y` move the picture, in pixels. */
export interface View {
  readonly zoom: number;
  readonly x: number;
  readonly y: number;
}

export const FITTED: View = { zoom: 1, x: 0, y: 0 };
export const NUMBER_WIDTH = 34;
export const NUMBER_HEIGHT = 15;
const HEAD = 16;
/** Cells need not be larger than their numbers. */
const LARGEST_CELL = 72;
const TALLEST_CELL = 28;

/** Cells that show a slice in a box; with room for labels at the left and top. */
export function plotOf(slice: Slice, box: { width: number; height: number }, view: View): Plot {
  const left = 10 + 7 * Math.max(String(labelOfRow(slice, slice.rows - 1)).length, 2);
  const [width, height] = [Math.max(box.width - left - 4, 1), Math.max(box.height - HEAD - 4, 1)];
  const fit = fitted(slice, width, height);
  const cellWidth = whole(fit.width * view.zoom);
  // Cells that were long to be seen need not stay so when they are large.
  const cellHeight = whole(Math.min(fit.height * view.zoom, Math.max(fit.height, TALLEST_CELL)));
  const x0 = left + held(view.x, cellWidth * slice.columns, width);
  const y0 = HEAD + held(view.y, cellHeight * slice.rows, height);
  const column = Math.max(Math.floor((left - x0) / cellWidth), 0);
  const row = Math.max(Math.floor((HEAD - y0) / cellHeight), 0);
  const columns = Math.min(Math.ceil((left + width - x0) / cellWidth), slice.columns) - column;
  const rows = Math.min(Math.ceil((HEAD + height - y0) / cellHeight), slice.rows) - row;
  return {
    left,
    top: HEAD,
    width,
    height,
    x0,
    y0,
    cellWidth,
    cellHeight,
    column,
    columns,
    row,
    rows,
  };
}

/** Wide cells where numbers fit, else square ones. */
function fitted(slice: Slice, width: number, height: number): { width: number; height: number } {
  const [w, h] = [width / slice.columns, height / slice.rows];
  if (w >= NUMBER_WIDTH && h >= NUMBER_HEIGHT)
    return { width: Math.min(w, 56), height: Math.min(h, 24) };
  const side = Math.min(w, h, 24);
  // A flat or thin buffer gets longer cells, so that it stays visible.
  const longer = Math.max(side, Math.min(side * 3, 12), 2);
  return { width: Math.min(w, longer), height: Math.min(h, longer) };
}

/** Whole pixels for large cells, halves for small ones: no uneven columns, little lost room. */
function whole(size: number): number {
  return size >= 8 ? Math.floor(size) : size >= 2 ? Math.floor(size * 2) / 2 : size;
}

/** A shift that leaves no hole: nothing to move where all fits. */
function held(shift: number, length: number, room: number): number {
  return length <= room ? 0 : Math.min(Math.max(shift, room - length), 0);
}

/** Zooms around a point that stays where it is. */
export function zoomedPlot(
  slice: Slice,
  box: { width: number; height: number },
  view: View,
  factor: number,
  x: number,
  y: number,
): View {
  const before = plotOf(slice, box, view);
  const most = Math.max((LARGEST_CELL / before.cellWidth) * view.zoom, view.zoom);
  const zoom = Math.min(Math.max(view.zoom * factor, 1), most);
  if (zoom === 1) return FITTED;
  const after = plotOf(slice, box, { ...view, zoom });
  const [column, row] = [(x - before.x0) / before.cellWidth, (y - before.y0) / before.cellHeight];
  return {
    zoom,
    x: x - after.left - column * after.cellWidth,
    y: y - after.top - row * after.cellHeight,
  };
}

/** A view moved by pixels, from where it was really drawn. */
export function movedPlot(plot: Plot, view: View, dx: number, dy: number): View {
  return { ...view, x: plot.x0 - plot.left + dx, y: plot.y0 - plot.top + dy };
}

/** The view that brings a cell into the box. */
export function revealed(plot: Plot, view: View, row: number, column: number): View {
  const x = plot.x0 + column * plot.cellWidth;
  const y = plot.y0 + row * plot.cellHeight;
  const inside =
    x >= plot.left - 0.5 &&
    y >= plot.top - 0.5 &&
    x + plot.cellWidth <= plot.left + plot.width + 0.5 &&
    y + plot.cellHeight <= plot.top + plot.height + 0.5;
  if (inside) return view;
  return movedPlot(plot, view, plot.left + plot.width / 2 - x, plot.top + plot.height / 2 - y);
}

/** The cell under a point, null outside. */
export function cellUnder(
  plot: Plot,
  slice: Slice,
  x: number,
  y: number,
): [row: number, column: number] | null {
  if (x < plot.left || y < plot.top || x > plot.left + plot.width || y > plot.top + plot.height)
    return null;
  const column = Math.floor((x - plot.x0) / plot.cellWidth);
  const row = Math.floor((y - plot.y0) / plot.cellHeight);
  return row >= 0 && column >= 0 && row < slice.rows && column < slice.columns
    ? [row, column]
    : null;
}

/** The index that names a row: that of its first element where a line was broken. */
export function labelOfRow(slice: Slice, row: number): number {
  return slice.y < 0 ? row * slice.columns : row;
}

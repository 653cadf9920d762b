/** Draws the blocks of a grid: large cells one by one with marks, small ones as pixels. */

import type { Theme } from "../../ui/theme";
import { box, frame, hatch, packed } from "../drawing/patterns";
import { fitted, type Measure, measurer } from "../drawing/text";
import type { Facet } from "./facets";
import { LABEL } from "./facets";
import { axisName, labelsOf } from "./labels";
import type { GridLayout, Line } from "./layout";

/** How one class of cells looks: a color, with a mark in large cells and a pattern in smaller ones. */
export interface Look {
  readonly color: string;
  readonly pattern?: "rising" | "falling" | "cross" | "dots";
  readonly mark?: string;
  /** Drawn as an outline; `fill` is for cells too small for one. */
  readonly hollow?: boolean;
  readonly fill?: string;
}

/** What a facet shows: for each block a number of a look, or of nothing. */
export interface Shown {
  readonly classes: ArrayLike<number>;
  readonly looks: readonly (Look | undefined)[];
}

const DRAWN_ONE_BY_ONE = 8;

type Context = CanvasRenderingContext2D;

/** The cells of one facet. */
export function paintCells(context: Context, facet: Facet, shown: Shown, theme: Theme): void {
  const { columns, rows } = facet.grid;
  if (Math.min(columns.cell, rows.cell) >= DRAWN_ONE_BY_ONE)
    paintLarge(context, facet, shown, theme);
  else paintSmall(context, facet, shown);
}

function paintLarge(context: Context, facet: Facet, shown: Shown, theme: Theme): void {
  const { grid } = facet;
  const [w, h] = [grid.columns.cell - 1, grid.rows.cell - 1];
  context.font = `600 ${Math.min(w, h, 15)}px ${theme.sans}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (let block = 0; block < grid.blocks; block++) {
    const look = shown.looks[shown.classes[block]];
    if (!look) continue;
    const x = facet.x + grid.columns.offsets[grid.column[block]];
    const y = facet.y + grid.rows.offsets[grid.row[block]];
    if (look.hollow) frame(context, look.color, 1, x, y, w, h);
    else box(context, look.color, x, y, w, h);
    if (look.pattern) box(context, hatch(context, look.pattern, theme.background), x, y, w, h);
    if (look.mark && w >= 11 && h >= 11) {
      context.fillStyle = look.hollow ? look.color : theme.background;
      context.fillText(look.mark as string, x + w / 2, y + h / 2 + 0.5);
    }
  }
  context.textAlign = "left";
}

interface Drawn {
  readonly image: ImageData;
  readonly inks: readonly number[];
  readonly classes: Int16Array;
}

/** The last pixels of a grid: a step changes few of its cells. */
const drawn = new WeakMap<GridLayout, Drawn>();

/** A pixel for each pixel of a cell. */
function paintSmall(context: Context, facet: Facet, shown: Shown): void {
  const { grid } = facet;
  const ratio = context.getTransform().a;
  const [width, height] = [grid.columns.length, grid.rows.length].map((n) => Math.ceil(n * ratio));
  if (!(width > 0 && height > 0)) return;
  const inks = shown.looks.map((look) => (look ? packed(context, look.fill ?? look.color) : 0));
  let last = drawn.get(grid);
  if (last?.image.width !== width || last.image.height !== height || !same(last.inks, inks)) {
    const image = context.createImageData(width, height);
    last = { image, inks, classes: new Int16Array(grid.blocks).fill(-1) };
    drawn.set(grid, last);
  }
  const { image, classes } = last;
  const out = new Uint32Array(image.data.buffer);
  const spacing = grid.columns.cell >= 4 ? 1 : 0;
  const edges = ({ offsets, cell }: Line, to: number) =>
    Int32Array.from(offsets, (at) => Math.round((at + (to ? cell - spacing : 0)) * ratio));
  const [left, right] = [edges(grid.columns, 0), edges(grid.columns, 1)];
  const [top, bottom] = [edges(grid.rows, 0), edges(grid.rows, 1)];
  for (let block = 0; block < grid.blocks; block++) {
    const found = shown.classes[block];
    if (classes[block] === found) continue;
    classes[block] = found;
    const ink = inks[found] ?? 0;
    const [row, column] = [grid.row[block], grid.column[block]];
    for (let y = top[row]; y < bottom[row]; y++)
      for (let x = y * width + left[column]; x < y * width + right[column]; x++) out[x] = ink;
  }
  context.putImageData(image, Math.round(facet.x * ratio), Math.round(facet.y * ratio));
}

function same(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((one, i) => one === b[i]);
}

/** Frames around the clusters. */
export function paintClusters(context: Context, facet: Facet, theme: Theme): void {
  const { grid } = facet;
  const size = (axes: readonly number[]) =>
    axes.reduce((n, axis) => n * (grid.axes[axis]?.cluster ? grid.axes[axis].size : 1), 1);
  const [across, down] = [size(grid.columns.axes), size(grid.rows.axes)];
  if (across * down < 2 || grid.wrapped > 0) return;
  context.globalAlpha = 0.6;
  for (let row = 0; row < grid.rows.offsets.length; row += down) {
    for (let column = 0; column < grid.columns.offsets.length; column += across) {
      const x = facet.x + grid.columns.offsets[column] - 2;
      const y = facet.y + grid.rows.offsets[row] - 2;
      const right = facet.x + grid.columns.offsets[column + across - 1] + grid.columns.cell + 1;
      const bottom = facet.y + grid.rows.offsets[row + down - 1] + grid.rows.cell + 1;
      frame(context, theme.muted, 1, x, y, right - x, bottom - y);
    }
  }
  context.globalAlpha = 1;
}

/** Index labels along the top and the left side, names of the axes, the title of the facet. */
export function paintLabels(context: Context, facet: Facet, theme: Theme): void {
  const { grid } = facet;
  context.font = `10px ${theme.sans}`;
  context.fillStyle = theme.muted;
  context.textBaseline = "middle";
  const measure = measurer(context);
  const room = measure("0".repeat(String(grid.blocks).length)) + 8;
  context.textAlign = "center";
  for (const label of labelsOf(grid.columns, grid.axes, room)) {
    context.fillText(label.text, facet.x + label.place, facet.y - 10 - label.level * LABEL);
  }
  context.textAlign = "right";
  for (const label of grid.wrapped > 0
    ? wrappedLabels(facet)
    : labelsOf(grid.rows, grid.axes, LABEL)) {
    const width = facet.x - 6 - label.level * LABEL;
    context.fillText(
      fitted(label.text, width, measure),
      facet.x - 5 - label.level * LABEL,
      facet.y + label.place,
    );
  }
  paintAxisNames(context, facet, measure);
  if (!facet.title) return;
  context.fillStyle = theme.text;
  context.font = `600 11px ${theme.sans}`;
  const top = facet.y - 14 - Math.max(grid.columns.axes.length, 1) * LABEL;
  context.fillText(
    fitted(facet.title, facet.right - facet.x + facet.left, measurer(context)),
    facet.x - facet.left,
    top,
  );
}

/** The name of the rows' axis in the corner, of the columns' behind their labels, where they fit. */
function paintAxisNames(context: Context, facet: Facet, measure: Measure): void {
  const { grid } = facet;
  const [across, down] = [grid.columns.axes.at(-1), grid.rows.axes.at(-1)];
  const right = facet.x + grid.columns.length + 6;
  // The canvas' own width: asking the page for it would lay the page out.
  const width = context.canvas.width / context.getTransform().a;
  const room = Math.min(width, facet.right) - right;
  context.textAlign = "right";
  if (down !== undefined) {
    context.fillText(
      fitted(`↓ ${axisName(grid.axes, down)}`, facet.left - 10, measure),
      facet.x - 10,
      facet.y - 10,
    );
  }
  context.textAlign = "left";
  const name = across === undefined ? "" : `→ ${axisName(grid.axes, across)}`;
  if (measure(name) <= room) context.fillText(name, right, facet.y - 10);
}

/** A broken line names the first block of some of its rows. */
function wrappedLabels({ grid }: Facet) {
  const every = Math.max(Math.ceil(LABEL / grid.rows.cell), 1);
  const found: { text: string; place: number; level: number }[] = [];
  for (let row = 0; row < grid.rows.offsets.length; row += every) {
    const place = grid.rows.offsets[row] + grid.rows.cell / 2;
    found.push({ text: String(row * grid.wrapped), place, level: 0 });
  }
  return found;
}

/** A ring around a block. */
export function paintRing(
  context: Context,
  facet: Facet,
  block: number,
  color: string,
  thickness: number,
): void {
  const { grid } = facet;
  if (!(block >= 0 && block < grid.blocks)) return;
  const x = facet.x + grid.columns.offsets[grid.column[block]] - thickness;
  const y = facet.y + grid.rows.offsets[grid.row[block]] - thickness;
  const [w, h] = [grid.columns.cell - 1 + 2 * thickness, grid.rows.cell - 1 + 2 * thickness];
  frame(context, color, thickness, x, y, w, h);
}

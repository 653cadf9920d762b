/** Draws a heat map: pixels, numbers, labels, what the current event touches, what changed. */

import { formatNumber } from "../../model/values";
import type { Theme } from "../../ui/theme";
import { frame, hatch, packed } from "../drawing/patterns";
import { Recent } from "../drawing/recent";
import { between, type Range, STEPS, stopsOf, table, wantsDarkText } from "../drawing/scales";
import { niceStep } from "../drawing/steps";
import { type Measure, measurer } from "../drawing/text";
import { CODE, type Contents, codeOf, codes, type Inks, paint } from "./heat";
import { labelOfRow, NUMBER_HEIGHT, NUMBER_WIDTH, type Plot } from "./plot";
import { positionAt, type Slice } from "./slice";

type Context = CanvasRenderingContext2D;

export interface Sheet {
  readonly contents: Contents;
  readonly dtype: string;
  readonly slice: Slice;
  readonly plot: Plot;
  readonly order: Int32Array | null;
  readonly range: Range;
  /** Whether every element is a finite number. */
  readonly allPlain: boolean;
  /** Same key, same pixels. */
  readonly key: string;
}

/** The last pixels of a canvas, drawn again as long as nothing in them changes. */
export class Pixels {
  private spare: ImageData | null = null;
  private readonly images = new Recent<ImageData>(8, (image) => {
    this.spare = image;
  });

  draw(context: Context, sheet: Sheet, theme: Theme): void {
    const { plot } = sheet;
    const ratio = context.getTransform().a;
    const x = Math.max(plot.x0 + plot.column * plot.cellWidth, plot.left);
    const y = Math.max(plot.y0 + plot.row * plot.cellHeight, plot.top);
    const right = Math.min(
      plot.x0 + (plot.column + plot.columns) * plot.cellWidth,
      plot.left + plot.width,
    );
    const bottom = Math.min(
      plot.y0 + (plot.row + plot.rows) * plot.cellHeight,
      plot.top + plot.height,
    );
    const [width, height] = [Math.round((right - x) * ratio), Math.round((bottom - y) * ratio)];
    if (width < 1 || height < 1) return;
    const key = [
      sheet.key,
      theme.dark,
      ratio,
      width,
      height,
      plot.x0,
      plot.y0,
      plot.cellWidth,
    ].join(" ");
    const image = this.images.of(key, () => this.render(context, sheet, theme, width, height));
    context.putImageData(image, Math.round(x * ratio), Math.round(y * ratio));
  }

  /** Pixels to be drawn over: those that were dropped last, if they have the size. */
  private blank(context: Context, width: number, height: number): ImageData {
    const { spare } = this;
    this.spare = null;
    return spare?.width === width && spare.height === height
      ? spare
      : context.createImageData(width, height);
  }

  private render(
    context: Context,
    sheet: Sheet,
    theme: Theme,
    width: number,
    height: number,
  ): ImageData {
    const { plot, slice, contents, order, range, allPlain } = sheet;
    const image = this.blank(context, width, height);
    const part = { row: plot.row, column: plot.column, rows: plot.rows, columns: plot.columns };
    const picture = codes(contents, slice, order, range, part, { width, height }, allPlain);
    const ratio = context.getTransform().a;
    // Cells cut by the border begin before the picture.
    const shift = (first: number, cell: number, corner: number, edge: number) =>
      Math.max((edge - corner - first * cell) * ratio, 0);
    paint(picture, new Uint32Array(image.data.buffer), width, height, inks(context, range, theme), {
      x: shift(plot.column, plot.cellWidth, plot.x0, plot.left),
      y: shift(plot.row, plot.cellHeight, plot.y0, plot.top),
      width: (plot.columns * plot.cellWidth * ratio) / picture.columns,
      height: (plot.rows * plot.cellHeight * ratio) / picture.rows,
    });
    return image;
  }
}

function inks(context: Context, range: Range, theme: Theme): Inks {
  const ink = (color: string) => packed(context, color);
  const ground = ink(theme.background);
  return {
    table: table(range.kind, theme.dark),
    patterns: [
      { ground: ink(theme.surface), line: ink(theme.muted) },
      { ground, line: ink(theme.done) },
      { ground: ink(theme.read), line: ground },
      { ground: ink(theme.write), line: ground },
      { ground: ink(theme.abort), line: ground },
      { ground: 0, line: 0 },
    ],
  };
}

/** Whether cells are large enough for their values. */
export function hasNumbers(plot: Plot): boolean {
  return plot.cellWidth >= NUMBER_WIDTH && plot.cellHeight >= NUMBER_HEIGHT;
}

/** The values in the cells. */
export function paintNumbers(context: Context, sheet: Sheet, theme: Theme): void {
  const { plot, slice, contents, order, range, dtype } = sheet;
  const stops = stopsOf(range.kind, theme.dark);
  context.font = `10px ${theme.mono}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  const measure = measurer(context);
  for (let r = plot.row; r < plot.row + plot.rows; r++) {
    for (let c = plot.column; c < plot.column + plot.columns; c++) {
      const at = positionAt(slice, r, c);
      if (at < 0) continue;
      const element = order ? order[at] : at;
      const code = codeOf(contents, element, range);
      const [x, y] = [plot.x0 + (c + 0.5) * plot.cellWidth, plot.y0 + (r + 0.5) * plot.cellHeight];
      const text =
        code < STEPS
          ? fittedNumber(contents.values[element], dtype, plot.cellWidth - 4, measure)
          : LETTERS[code];
      if (code >= STEPS) {
        // A pattern lies below: its letters need quiet ground.
        context.fillStyle = theme.background;
        const half = measure(text) / 2 + 2;
        context.fillRect(x - half, y - 6, 2 * half, 12);
        context.fillStyle = theme.text;
      } else
        context.fillStyle = wantsDarkText(between(stops, code / (STEPS - 1)))
          ? "#101214"
          : "#f4f6f8";
      context.fillText(text, x, y + 0.5);
    }
  }
  context.textAlign = "left";
}

const LETTERS: Record<number, string> = {
  [CODE.missing]: "·",
  [CODE.unset]: "?",
  [CODE.minus]: "−∞",
  [CODE.plus]: "∞",
  [CODE.nan]: "NaN",
};

/** As many digits as fit. */
function fittedNumber(value: number, dtype: string, width: number, measure: Measure): string {
  for (let digits = 5; digits > 1; digits--) {
    const text = formatNumber(value, dtype, digits);
    if (measure(text) <= width) return text;
  }
  const short = formatNumber(value, dtype, 1);
  return measure(short) <= width ? short : "…";
}

/** Indices along the top and the left side. */
export function paintIndices(context: Context, sheet: Sheet, theme: Theme): void {
  const { plot, slice } = sheet;
  context.font = `10px ${theme.sans}`;
  context.fillStyle = theme.muted;
  context.textBaseline = "middle";
  const measure = measurer(context);
  const room = measure(String(slice.columns)) + 10;
  const across = niceStep(plot.cellWidth, room, slice.columns);
  context.textAlign = "center";
  for (
    let c = Math.ceil(plot.column / across) * across;
    c < plot.column + plot.columns;
    c += across
  ) {
    const x = plot.x0 + (c + 0.5) * plot.cellWidth;
    if (x >= plot.left && x <= plot.left + plot.width) context.fillText(String(c), x, plot.top - 8);
  }
  const down = niceStep(plot.cellHeight, 13, slice.rows);
  context.textAlign = "right";
  for (let r = Math.ceil(plot.row / down) * down; r < plot.row + plot.rows; r += down) {
    const y = plot.y0 + (r + 0.5) * plot.cellHeight;
    if (y < plot.top || y > plot.top + plot.height - 2) continue;
    context.fillText(String(labelOfRow(slice, r)), plot.left - 5, y);
  }
  context.textAlign = "left";
}

/** Clips to the cells. */
export function clipped(context: Context, plot: Plot, draw: () => void): void {
  context.save();
  context.beginPath();
  context.rect(plot.left - 2, plot.top - 2, plot.width + 4, plot.height + 4);
  context.clip();
  draw();
  context.restore();
}

export type Cell = readonly [row: number, column: number];

/** Cells that hold another value than before: a corner each, readable on any color. */
export function paintChanges(
  context: Context,
  plot: Plot,
  cells: Iterable<Cell>,
  theme: Theme,
): void {
  const size = Math.max(Math.min(plot.cellWidth, plot.cellHeight) * 0.34, 1.5);
  for (const [row, column] of cells) {
    const [x, y] = [plot.x0 + (column + 1) * plot.cellWidth, plot.y0 + row * plot.cellHeight];
    if (x < plot.left || y > plot.top + plot.height || x > plot.left + plot.width + plot.cellWidth)
      continue;
    context.beginPath();
    context.moveTo(x - size, y);
    context.lineTo(x, y);
    context.lineTo(x, y + size);
    context.closePath();
    context.fillStyle = theme.text;
    context.fill();
    if (size > 4) {
      context.strokeStyle = theme.background;
      context.lineWidth = 1;
      context.stroke();
    }
  }
}

export interface Rectangle {
  readonly row: number;
  readonly column: number;
  readonly rows: number;
  readonly columns: number;
}

/** What the current event touches: a solid frame for writes, a dashed one for reads, hatched for both. */
export function paintAccess(
  context: Context,
  plot: Plot,
  rectangles: readonly Rectangle[],
  how: "read" | "write" | "update",
  theme: Theme,
): void {
  const color = how === "read" ? theme.read : theme.write;
  const single = rectangles.length === 1;
  for (const { row, column, rows, columns } of rectangles) {
    const [x, y] = [plot.x0 + column * plot.cellWidth, plot.y0 + row * plot.cellHeight];
    const [w, h] = [columns * plot.cellWidth, rows * plot.cellHeight];
    const part = (w * h) / (plot.width * plot.height);
    if (single && how !== "read" && Math.min(w, h) > 12 && part < 0.25 && !hasNumbers(plot)) {
      context.globalAlpha = 0.22;
      context.fillStyle = hatch(context, how === "write" ? "rising" : "cross", color);
      context.fillRect(x, y, w, h);
      context.globalAlpha = 1;
    }
    context.setLineDash([]);
    frame(context, theme.background, 4, x - 2, y - 2, Math.max(w, 2) + 4, Math.max(h, 2) + 4);
    context.setLineDash(how === "read" ? [5, 3] : []);
    frame(context, color, 2, x - 1, y - 1, Math.max(w, 2) + 2, Math.max(h, 2) + 2);
  }
  context.setLineDash([]);
}

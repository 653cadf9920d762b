/** A heat map as pixels: values by a table of colors, what is no value by a pattern. Pure. */

import { type Range, STEPS, stepOf } from "../drawing/scales";
import type { Slice } from "./slice";

/** Codes above the steps of the color table. */
export const CODE = {
  missing: STEPS,
  unset: STEPS + 1,
  minus: STEPS + 2,
  plus: STEPS + 3,
  nan: STEPS + 4,
  outside: STEPS + 5,
} as const;

export interface Contents {
  readonly values: ArrayLike<number>;
  readonly initialized: ArrayLike<number>;
  readonly recorded: ArrayLike<number>;
}

/** What the shown elements are: the range of the finite ones and how many are none. */
export interface Survey {
  readonly low: number;
  readonly high: number;
  readonly nan: number;
  readonly infinite: number;
  readonly unset: number;
  readonly missing: number;
  readonly total: number;
  /** False where only a part was counted. */
  readonly exact: boolean;
}

/** More elements than this are not all looked at: every second, third, … stands for its neighbors. */
const MOST_ELEMENTS = 1 << 20;

/** Whether every element was looked at and is a finite number. */
export function isPlain({ exact, nan, infinite, unset, missing }: Survey): boolean {
  return exact && nan + infinite + unset + missing === 0;
}

/** Counts a buffer; of a very large one a part, with the counts scaled up. */
export function survey(contents: Contents, most = MOST_ELEMENTS): Survey {
  const { values, initialized, recorded } = contents;
  const skip = Math.ceil(values.length / most) || 1;
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  let [nan, infinite, unset, missing] = [0, 0, 0, 0];
  for (let i = 0; i < values.length; i += skip) {
    const value = values[i];
    if (!initialized[i]) unset++;
    else if (!recorded[i]) missing++;
    else if (value - value === 0) {
      if (value < low) low = value;
      if (value > high) high = value;
    } else if (Number.isNaN(value)) nan++;
    else infinite++;
  }
  const total = values.length;
  const all = (n: number) => Math.min(n * skip, total);
  return {
    low,
    high,
    nan: all(nan),
    infinite: all(infinite),
    unset: all(unset),
    missing: all(missing),
    total,
    exact: skip === 1,
  };
}

/** The least and the largest finite value. */
export function finite(values: ArrayLike<number>): { low: number; high: number } {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (value - value !== 0) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return { low, high };
}

/** The code of one element. */
export function codeOf(contents: Contents, element: number, range: Range): number {
  if (element < 0) return CODE.outside;
  if (!contents.initialized[element]) return CODE.unset;
  if (!contents.recorded[element]) return CODE.missing;
  const value = contents.values[element];
  if (Number.isNaN(value)) return CODE.nan;
  if (!Number.isFinite(value)) return value > 0 ? CODE.plus : CODE.minus;
  return stepOf(value, range);
}

export interface Picture {
  readonly codes: Uint8Array;
  readonly rows: number;
  readonly columns: number;
}

export interface Part {
  readonly row: number;
  readonly column: number;
  readonly rows: number;
  readonly columns: number;
}

/** Of a cell with plain numbers only the first one is shown, so that the others need not be looked at. */
function firstCodes(
  { values }: Contents,
  slice: Slice,
  order: Int32Array | null,
  range: Range,
  part: Part,
  { codes: out, rows, columns }: Picture,
): void {
  const factor = (STEPS - 1) / (range.high - range.low);
  const plain = Number.isFinite(factor) && factor > 0;
  const places = Int32Array.from(
    { length: columns },
    (_, column) =>
      (part.column + Math.ceil((column * part.columns) / columns)) * slice.columnStride,
  );
  for (let row = 0; row < rows; row++) {
    const first = (part.row + Math.ceil((row * part.rows) / rows)) * slice.rowStride;
    for (let column = 0; column < columns; column++) {
      const place = first + places[column];
      if (place >= slice.limit) break;
      const at = slice.base + place;
      const value = values[order ? order[at] : at];
      const step = plain ? (value - range.low) * factor + 0.5 : stepOf(value, range);
      out[row * columns + column] = step < 0 ? 0 : step >= STEPS ? STEPS - 1 : step | 0;
    }
  }
}

/**
 * The codes of a part of a slice, joined to at most `width × height`. A picture smaller than the
 * buffer must not lose the single NaN in it: what is no value wins, else the first value. `allPlain`
 * says that every element is a finite number.
 */
export function codes(
  contents: Contents,
  slice: Slice,
  order: Int32Array | null,
  range: Range,
  part: Part,
  most: { readonly width: number; readonly height: number },
  allPlain = false,
): Picture {
  const rows = Math.max(Math.min(part.rows, Math.floor(most.height)), 1);
  const columns = Math.max(Math.min(part.columns, Math.floor(most.width)), 1);
  const out = new Uint8Array(rows * columns).fill(CODE.outside);
  const picture = { codes: out, rows, columns };
  if (allPlain) {
    firstCodes(contents, slice, order, range, part, picture);
    return picture;
  }
  const { values, initialized, recorded } = contents;
  const factor = (STEPS - 1) / (range.high - range.low);
  const plain = Number.isFinite(factor) && factor > 0;
  const across = Int32Array.from({ length: part.columns }, (_, c) =>
    Math.floor((c * columns) / part.columns),
  );
  const skip = Math.max(Math.floor(Math.sqrt((part.rows * part.columns) / MOST_ELEMENTS)), 1);
  const { columnStride, limit } = slice;
  for (let r = 0; r < part.rows; r += skip) {
    const target = Math.floor((r * rows) / part.rows) * columns;
    let place = (part.row + r) * slice.rowStride + part.column * columnStride;
    for (let c = 0; c < part.columns; c += skip, place += columnStride * skip) {
      const cell = target + across[c];
      if (place >= limit) break;
      const at = order ? order[slice.base + place] : slice.base + place;
      const shown = out[cell];
      const value = values[at];
      // Nearly all are plain numbers, of which the first one of a cell is shown.
      if (initialized[at] !== 0 && recorded[at] !== 0 && value - value === 0) {
        if (shown !== CODE.outside) continue;
        const step = plain ? (value - range.low) * factor + 0.5 : stepOf(value, range);
        out[cell] = step < 0 ? 0 : step >= STEPS ? STEPS - 1 : step | 0;
        continue;
      }
      const found = codeOf(contents, at, range);
      if (shown === CODE.outside || found > shown) out[cell] = found;
    }
  }
  return picture;
}

export interface Inks {
  readonly table: Uint32Array;
  /** Ground and line of each pattern, by code − STEPS. */
  readonly patterns: readonly { readonly ground: number; readonly line: number }[];
}

/** Where the first cell begins before the pixels, and how large cells are, in pixels. */
export interface Placing {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Draws a picture into packed pixels. */
export function paint(
  picture: Picture,
  out: Uint32Array,
  width: number,
  height: number,
  inks: Inks,
  placing: Placing = { x: 0, y: 0, width: width / picture.columns, height: height / picture.rows },
): void {
  const cell = (pixel: number, shift: number, size: number, most: number) =>
    Math.min(Math.floor((pixel + 0.5 + shift) / size), most - 1);
  const column = new Int32Array(width);
  for (let x = 0; x < width; x++) column[x] = cell(x, placing.x, placing.width, picture.columns);
  let plain = -1;
  for (let y = 0; y < height; y++) {
    const row = cell(y, placing.y, placing.height, picture.rows);
    const start = y * width;
    if (row === plain) {
      out.copyWithin(start, start - width, start);
      continue;
    }
    plain = paintLine(picture, row, column, out, start, y, inks) ? row : -1;
  }
}

/** One line of pixels; false if a pattern makes the next one of the same row differ. */
function paintLine(
  picture: Picture,
  row: number,
  column: Int32Array,
  out: Uint32Array,
  start: number,
  y: number,
  inks: Inks,
): boolean {
  const first = row * picture.columns;
  let same = true;
  for (let x = 0; x < column.length; x++) {
    const code = picture.codes[first + column[x]];
    if (code < STEPS) out[start + x] = inks.table[code];
    else {
      same = false;
      const ink = inks.patterns[code - STEPS];
      out[start + x] = onPattern(code, x, y) ? ink.line : ink.ground;
    }
  }
  return same;
}

/** Whether a pixel lies on the line of a code's pattern: each has its own, readable without color. */
function onPattern(code: number, x: number, y: number): boolean {
  switch (code) {
    case CODE.unset:
      return (x + y) % 6 === 0;
    case CODE.missing:
      return x % 5 === 2 && y % 5 === 2;
    case CODE.nan:
      return ((x >> 1) + (y >> 1)) % 2 === 0;
    case CODE.plus:
      return y % 4 === 0;
    case CODE.minus:
      return x % 4 === 0;
    default:
      return false;
  }
}

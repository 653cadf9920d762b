/** The cells of a slice that a region covers, as few rectangles. Pure. */

import { eachElement, effective, type Region } from "../../model/regions";
import { RegionKind } from "../../schema.gen";
import type { Rectangle } from "./heatpaint";
import { cellOf, placeOf, type Slice } from "./slice";

const MOST_CELLS = 60_000;
const MOST_RECTANGLES = 1500;

/** Rectangles of a region; `position` gives where a logical element is drawn if not in order. */
export function rectanglesOf(
  region: Region,
  shape: readonly number[],
  slice: Slice,
  position: Int32Array | null = null,
): Rectangle[] {
  if (region.kind === RegionKind.BOX && !position) {
    const box = effective(region, shape);
    if (box.size.some((size) => size <= 0)) return [];
    const plain = box.stride.every((stride, d) => stride === 1 || box.size[d] === 1);
    if (plain && slice.y >= 0) return boxOn(slice, box);
    if (plain) return lineOn(slice, box.start[0] ?? 0, box.size[0] ?? 1);
  }
  return runs(cellsOf(region, shape, slice, position), slice.columns);
}

function boxOn(
  slice: Slice,
  box: { start: readonly number[]; size: readonly number[] },
): Rectangle[] {
  for (let d = 0; d < box.start.length; d++) {
    if (d === slice.x || d === slice.y) continue;
    if (slice.fixed[d] < box.start[d] || slice.fixed[d] >= box.start[d] + box.size[d]) return [];
  }
  const { x, y } = slice;
  return [{ row: box.start[y], column: box.start[x], rows: box.size[y], columns: box.size[x] }];
}

/** A part of a broken line: the rest of its first row, whole rows, the beginning of the last. */
function lineOn(slice: Slice, start: number, size: number): Rectangle[] {
  const { columns } = slice;
  const found: Rectangle[] = [];
  let at = start;
  const end = start + size;
  while (at < end) {
    const [row, column] = [Math.floor(at / columns), at % columns];
    const whole = column === 0 ? Math.floor((end - at) / columns) : 0;
    if (whole > 0) {
      found.push({ row, column: 0, rows: whole, columns });
      at += whole * columns;
    } else {
      const length = Math.min(columns - column, end - at);
      found.push({ row, column, rows: 1, columns: length });
      at += length;
    }
  }
  return found;
}

function cellsOf(
  region: Region,
  shape: readonly number[],
  slice: Slice,
  position: Int32Array | null,
): Set<number> {
  const cells = new Set<number>();
  eachElement(region, shape, (flat) => {
    if (cells.size >= MOST_CELLS) return;
    if (position) {
      cells.add(position[flat]);
      return;
    }
    const cell = cellOf(slice, placeOf(shape, flat));
    if (cell) cells.add(cell[0] * slice.columns + cell[1]);
  });
  return cells;
}

/** Cells joined along rows, and equal runs of neighboring rows joined. */
function runs(cells: Set<number>, columns: number): Rectangle[] {
  const sorted = Int32Array.from(cells).sort();
  const found: Rectangle[] = [];
  // Runs by where they begin, to be made longer by the next row.
  let above = new Map<number, number>();
  let current = new Map<number, number>();
  let line = -1;
  for (let i = 0; i < sorted.length && found.length < MOST_RECTANGLES; ) {
    const row = Math.floor(sorted[i] / columns);
    const column = sorted[i] % columns;
    let length = 1;
    while (sorted[i + length] === sorted[i] + length && column + length < columns) length++;
    if (row !== line) {
      above = row === line + 1 ? current : new Map();
      current = new Map();
      line = row;
    }
    const same = above.get(column);
    if (same !== undefined && found[same].columns === length) {
      found[same] = { ...found[same], rows: found[same].rows + 1 };
      current.set(column, same);
    } else {
      current.set(column, found.length);
      found.push({ row, column, rows: 1, columns: length });
    }
    i += length;
  }
  return found;
}

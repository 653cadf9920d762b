/** Where each block of a grid is drawn: axes nested along x and y, with gaps between groups. Pure. */

export interface Axis {
  readonly name: string;
  readonly size: number;
  /** A cluster's axis lies innermost, with a frame around each cluster. */
  readonly cluster: boolean;
}

export interface Placement {
  /** Axis numbers from the outermost to the innermost. */
  readonly x: readonly number[];
  readonly y: readonly number[];
}

/** One direction: the place of each column (or row) and where its groups begin. */
export interface Line {
  readonly axes: readonly number[];
  readonly sizes: readonly number[];
  readonly offsets: Float64Array;
  readonly cell: number;
  readonly length: number;
}

export interface GridLayout {
  readonly axes: readonly Axis[];
  readonly blocks: number;
  readonly columns: Line;
  readonly rows: Line;
  /** Column and row of each linear block number. */
  readonly column: Int32Array;
  readonly row: Int32Array;
  /** Linear block number of `row * columns + column`, -1 where there is none. */
  readonly at: Int32Array;
  /** Blocks in a row where one axis was broken into rows, else 0. */
  readonly wrapped: number;
}

export interface Space {
  readonly width: number;
  readonly height: number;
}

export const LARGEST_CELL = 36;
export const SMALLEST_CELL = 2;
const GROUP_GAP = 8;
const CLUSTER_GAP = 4;

/** The usual choice: the last axis runs along x, the one before along y, outer ones in turn. */
export function defaultPlacement(axes: readonly Axis[]): Placement {
  const clusters = axes.flatMap((axis, i) => (axis.cluster && axis.size > 1 ? [i] : []));
  const grid = axes.flatMap((axis, i) => (!axis.cluster && axis.size > 1 ? [i] : []));
  const x: number[] = [];
  const y: number[] = [];
  [...grid].reverse().forEach((axis, i) => {
    (i % 2 === 0 ? x : y).unshift(axis);
  });
  [...clusters].reverse().forEach((axis, i) => {
    (i % 2 === 0 ? x : y).push(axis);
  });
  return { x, y };
}

/** A placement with two chosen axes innermost (clusters stay inside them). */
export function placementWith(axes: readonly Axis[], x: number, y: number): Placement {
  const usual = defaultPlacement(axes);
  const inner = (list: readonly number[]) => list.filter((axis) => axes[axis].cluster);
  const outer = [...usual.x, ...usual.y]
    .filter((axis) => !axes[axis].cluster && axis !== x && axis !== y)
    .sort((a, b) => a - b);
  const along: { x: number[]; y: number[] } = { x: [], y: [] };
  [...outer].reverse().forEach((axis, i) => {
    (i % 2 === 0 ? along.y : along.x).unshift(axis);
  });
  if (x >= 0) along.x.push(x);
  if (y >= 0 && y !== x) along.y.push(y);
  return { x: [...along.x, ...inner(usual.x)], y: [...along.y, ...inner(usual.y)] };
}

/** Lays out a grid in a space; cells are as large as fits, down to `SMALLEST_CELL`. */
export function layout(axes: readonly Axis[], placement: Placement, space: Space): GridLayout {
  const blocks = axes.reduce((product, axis) => product * axis.size, 1);
  const count = (list: readonly number[]) => list.reduce((n, axis) => n * axes[axis].size, 1);
  const [nx, ny] = [count(placement.x), count(placement.y)];
  const single = ny === 1 ? placement.x : nx === 1 ? placement.y : [];
  if (single.length === 1) {
    const broken = wrap(axes[single[0]].size, space);
    if (broken > 0) return wrapped(axes, single[0], broken, space);
  }
  const columns = lineOf(axes, placement.x);
  const rows = lineOf(axes, placement.y);
  const cell = cellSize(columns, rows, space);
  return {
    axes,
    blocks,
    columns: spread(columns, cell.x),
    rows: spread(rows, cell.y),
    ...places(axes, placement, blocks, nx, ny),
    wrapped: 0,
  };
}

/** How many blocks stand in a row when a line of blocks is too long for the space; 0: it fits. */
function wrap(size: number, space: Space): number {
  if (size * 12 <= space.width) return 0;
  for (let cell = LARGEST_CELL; cell > SMALLEST_CELL; cell--) {
    const perRow = roundRow(Math.floor(space.width / cell));
    if (perRow > 0 && Math.ceil(size / perRow) * cell <= space.height) return perRow;
  }
  return Math.max(roundRow(Math.floor(space.width / SMALLEST_CELL)), 1);
}

/** Rows of 10, 50, 100 … blocks are easier to count than full ones. */
function roundRow(most: number): number {
  const unit = most >= 100 ? 50 : most >= 20 ? 10 : most >= 10 ? 5 : 1;
  return Math.floor(most / unit) * unit;
}

function wrapped(axes: readonly Axis[], axis: number, perRow: number, space: Space): GridLayout {
  const blocks = axes[axis].size;
  const rows = Math.ceil(blocks / perRow);
  const fit = Math.min(space.width / perRow, space.height / rows, LARGEST_CELL);
  const cell = Math.max(Math.floor(fit), SMALLEST_CELL);
  const plain = (size: number, numbers: number[]): Line => ({
    axes: numbers,
    sizes: [size],
    offsets: Float64Array.from({ length: size }, (_, i) => i * cell),
    cell,
    length: size * cell,
  });
  const at = new Int32Array(rows * perRow).fill(-1);
  for (let block = 0; block < blocks; block++) at[block] = block;
  return {
    axes,
    blocks,
    columns: plain(perRow, [axis]),
    rows: plain(rows, []),
    column: Int32Array.from({ length: blocks }, (_, block) => block % perRow),
    row: Int32Array.from({ length: blocks }, (_, block) => Math.floor(block / perRow)),
    at,
    wrapped: perRow,
  };
}

interface Draft {
  readonly axes: readonly number[];
  readonly sizes: readonly number[];
  readonly gaps: readonly number[];
  readonly count: number;
  readonly gap: number;
}

/** The gap after each group of an axis, and the sum of all gaps of the line. */
function lineOf(axes: readonly Axis[], list: readonly number[]): Draft {
  const sizes = list.map((axis) => axes[axis].size);
  const gaps = list.map((_, level) => {
    if (level === list.length - 1) return 0;
    return axes[list[level + 1]].cluster ? CLUSTER_GAP : GROUP_GAP;
  });
  let groups = 1;
  let gap = 0;
  sizes.forEach((size, level) => {
    gap += groups * (size - 1) * gaps[level];
    groups *= size;
  });
  return { axes: list, sizes, gaps, count: groups, gap };
}

function cellSize(columns: Draft, rows: Draft, space: Space): { x: number; y: number } {
  const fit = (line: Draft, length: number) => (length - line.gap) / line.count;
  const fx = Math.min(fit(columns, space.width), LARGEST_CELL);
  const fy = Math.min(fit(rows, space.height), LARGEST_CELL);
  const whole = (size: number) => Math.max(Math.floor(size), SMALLEST_CELL);
  // A long thin grid has long thin cells, within reason.
  const square = Math.min(fx, fy);
  const most = Math.max(whole(square) * 4, 6);
  return { x: Math.min(whole(fx), most), y: Math.min(whole(fy), most) };
}

function spread(draft: Draft, cell: number): Line {
  const offsets = new Float64Array(draft.count);
  let place = 0;
  for (let i = 0; i < draft.count; i++) {
    offsets[i] = place;
    place += cell;
    let inner = 1;
    for (let level = draft.sizes.length - 1; level >= 0; level--) {
      // The step to the next index of `level` crosses every boundary inside it.
      if ((i + 1) % inner !== 0) break;
      if ((i + 1) % (inner * draft.sizes[level]) !== 0) place += draft.gaps[level];
      inner *= draft.sizes[level];
    }
  }
  const length = draft.count > 0 ? offsets[draft.count - 1] + cell : 0;
  return { axes: draft.axes, sizes: draft.sizes, offsets, cell, length };
}

function places(
  axes: readonly Axis[],
  placement: Placement,
  blocks: number,
  nx: number,
  ny: number,
) {
  const strides = (list: readonly number[]) => {
    const found = new Int32Array(axes.length);
    let stride = 1;
    for (let i = list.length - 1; i >= 0; i--) {
      found[list[i]] = stride;
      stride *= axes[list[i]].size;
    }
    return found;
  };
  const [sx, sy] = [strides(placement.x), strides(placement.y)];
  const column = new Int32Array(blocks);
  const row = new Int32Array(blocks);
  const at = new Int32Array(nx * ny).fill(-1);
  for (let block = 0; block < blocks; block++) {
    let rest = block;
    let c = 0;
    let r = 0;
    for (let axis = axes.length - 1; axis >= 0; axis--) {
      const place = rest % axes[axis].size;
      rest = (rest - place) / axes[axis].size;
      c += place * sx[axis];
      r += place * sy[axis];
    }
    column[block] = c;
    row[block] = r;
    at[r * nx + c] = block;
  }
  return { column, row, at };
}

/** The place on a line under a coordinate: an index, or -1 in a gap and outside. */
function indexAt(line: Line, place: number): number {
  if (place < 0 || line.offsets.length === 0) return -1;
  let low = 0;
  let high = line.offsets.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (line.offsets[middle] <= place) low = middle;
    else high = middle - 1;
  }
  return place < line.offsets[low] + line.cell ? low : -1;
}

/** The block under a point, -1 if none. */
export function blockAt(grid: GridLayout, x: number, y: number): number {
  const [column, row] = [indexAt(grid.columns, x), indexAt(grid.rows, y)];
  if (column < 0 || row < 0) return -1;
  return grid.at[row * grid.columns.offsets.length + column];
}

/** The block next to another in a direction of the picture; the same at the edge. */
export function neighbor(grid: GridLayout, block: number, dx: number, dy: number): number {
  if (block < 0) return grid.blocks > 0 ? 0 : -1;
  const [nx, ny] = [grid.columns.offsets.length, grid.rows.offsets.length];
  const column = grid.column[block] + dx;
  const row = grid.row[block] + dy;
  if (column < 0 || row < 0 || column >= nx || row >= ny) return block;
  const found = grid.at[row * nx + column];
  return found < 0 ? block : found;
}

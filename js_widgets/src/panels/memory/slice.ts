/** A two-dimensional view of a buffer of any rank: which element stands in which cell. Pure. */

export interface Slice {
  readonly rows: number;
  readonly columns: number;
  readonly base: number;
  readonly rowStride: number;
  readonly columnStride: number;
  /** Elements of a line that was broken into rows; cells past it are empty. */
  readonly limit: number;
  /** Dimensions along x and y, -1 where there is none. */
  readonly x: number;
  readonly y: number;
  readonly fixed: readonly number[];
}

export interface Choice {
  readonly x?: number;
  readonly y?: number;
  readonly fixed?: readonly number[];
}

const LONGEST_LINE = 64;

/** Row-major strides of a shape. */
export function strides(shape: readonly number[]): number[] {
  const found = new Array<number>(shape.length);
  let stride = 1;
  for (let d = shape.length - 1; d >= 0; d--) {
    found[d] = stride;
    stride *= shape[d];
  }
  return found;
}

/** The slice of a shape; by default the last two dimensions at index 0 of the others. */
export function sliceOf(shape: readonly number[], choice: Choice = {}): Slice {
  const fixed = shape.map((size, d) => Math.min(Math.max(choice.fixed?.[d] ?? 0, 0), size - 1));
  if (shape.length < 2) return line(shape[0] ?? 1, shape.length - 1, fixed);
  const valid = (d: number | undefined, other: number) =>
    d !== undefined && Number.isInteger(d) && d >= 0 && d < shape.length && d !== other;
  const usual = usualDimensions(shape);
  const x = valid(choice.x, -1) ? (choice.x as number) : usual[0];
  const y = valid(choice.y, x) ? (choice.y as number) : usual[x === usual[1] ? 0 : 1];
  const step = strides(shape);
  let base = 0;
  shape.forEach((_, d) => {
    if (d !== x && d !== y) base += fixed[d] * step[d];
  });
  return {
    rows: shape[y],
    columns: shape[x],
    base,
    rowStride: step[y],
    columnStride: step[x],
    limit: Number.POSITIVE_INFINITY,
    x,
    y,
    fixed,
  };
}

/** The last two dimensions that have more than one index, else the last two. */
function usualDimensions(shape: readonly number[]): [x: number, y: number] {
  const last = shape.map((_, d) => d).reverse();
  const wide = last.filter((d) => shape[d] > 1);
  const found = [...wide, ...last.filter((d) => shape[d] <= 1)].slice(0, 2);
  // Along x lies the later one.
  return [Math.max(...found), Math.min(...found)];
}

/** A vector stands in one row, a long one in rows of equal length. */
function line(size: number, x: number, fixed: readonly number[]): Slice {
  const columns = size <= LONGEST_LINE ? size : rowLength(size);
  const rows = Math.max(Math.ceil(size / Math.max(columns, 1)), 1);
  return {
    rows,
    columns,
    base: 0,
    rowStride: columns,
    columnStride: 1,
    limit: size,
    x,
    y: -1,
    fixed,
  };
}

/** A power of two near the square root, so that places are easy to name. */
function rowLength(size: number): number {
  return 2 ** Math.max(Math.round(Math.log2(Math.sqrt(size * 2))), 5);
}

/** Position of a cell's element, -1 past the end. */
export function positionAt(slice: Slice, row: number, column: number): number {
  if (row < 0 || column < 0 || row >= slice.rows || column >= slice.columns) return -1;
  const place = row * slice.rowStride + column * slice.columnStride;
  return place >= slice.limit ? -1 : slice.base + place;
}

/** The cell that shows coordinates of a shape; null if another slice does. */
export function cellOf(
  slice: Slice,
  place: readonly number[],
): [row: number, column: number] | null {
  if (slice.y < 0) {
    const flat = place[0] ?? 0;
    return [Math.floor(flat / slice.columns), flat % slice.columns];
  }
  for (let d = 0; d < place.length; d++) {
    if (d !== slice.x && d !== slice.y && place[d] !== slice.fixed[d]) return null;
  }
  return [place[slice.y], place[slice.x]];
}

/** Coordinates of a row-major element number. */
export function placeOf(shape: readonly number[], flat: number): number[] {
  const found = new Array<number>(shape.length);
  let rest = flat;
  for (let d = shape.length - 1; d >= 0; d--) {
    found[d] = rest % shape[d];
    rest = Math.floor(rest / shape[d]);
  }
  return found;
}

/** Row-major number of an element. */
export function flatOf(shape: readonly number[], place: readonly number[]): number {
  let flat = 0;
  for (let d = 0; d < shape.length; d++) flat = flat * shape[d] + place[d];
  return flat;
}

/** Where each number stands in a permutation. */
export function inverse(order: Int32Array | null): Int32Array | null {
  if (!order) return null;
  const found = new Int32Array(order.length);
  for (let i = 0; i < order.length; i++) found[order[i]] = i;
  return found;
}

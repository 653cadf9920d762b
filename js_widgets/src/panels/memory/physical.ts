/** Tiling and swizzle of shared memory: where each element really lies. Pure layout, from the kernel's own words. */

import { strides } from "./slice";

export interface Physical {
  /** Shape of the memory as rows of it are drawn. */
  readonly shape: readonly number[];
  /** Row-major logical element that lies at each position. */
  readonly logical: Int32Array;
  /** In words: `tiles of 8 × 64, swizzle 128`. */
  readonly text: string;
}

export interface Layout {
  readonly tiling: readonly number[];
  /** Bytes, 0 without. */
  readonly swizzle: number;
}

const CHUNK = 16;
const BANK_ROW = 128;

/** Reads the transforms of a declaration; null where one of them is not understood. */
export function parseTransforms(transforms: readonly string[]): Layout | null {
  let tiling: number[] = [];
  let swizzle = 0;
  for (const text of transforms) {
    const tiles = /tiling=\(([\d, ]+)\)/i.exec(text);
    const bytes = /swizzle=(\d+)/i.exec(text);
    if (tiles && tiling.length === 0) tiling = tiles[1].split(",").filter(Boolean).map(Number);
    else if (bytes) swizzle = Number(bytes[1]);
    else return null;
  }
  return tiling.length > 0 || swizzle > 0 ? { tiling, swizzle } : null;
}

/** The physical order of a buffer; null where the tiles do not divide its shape. */
export function physicalOf(
  shape: readonly number[],
  bits: number,
  layout: Layout,
): Physical | null {
  const tiled = tiledShape(shape, layout.tiling);
  if (!tiled) return null;
  const total = shape.reduce((n, size) => n * size, 1);
  let logical: Int32Array | undefined;
  const row = layout.tiling.at(-1) ?? shape.at(-1) ?? 1;
  const parts = [];
  if (layout.tiling.length > 0) parts.push(`tiles of ${layout.tiling.join(" × ")}`);
  if (layout.swizzle > CHUNK) parts.push(`swizzle ${layout.swizzle}`);
  return {
    shape: [total / row, row],
    text: parts.join(", "),
    // Mostly only the text is asked for.
    get logical() {
      logical ??= orderOf(shape, bits, layout, total);
      return logical;
    },
  };
}

function orderOf(
  shape: readonly number[],
  bits: number,
  layout: Layout,
  total: number,
): Int32Array {
  const inTiles = tiledOrder(shape, layout.tiling, total);
  const found = new Int32Array(total);
  for (let at = 0; at < total; at++) found[swizzled(at, bits, layout.swizzle)] = inTiles[at];
  return found;
}

function tiledShape(shape: readonly number[], tiling: readonly number[]): number[] | null {
  const untouched = shape.length - tiling.length;
  if (untouched < 0) return null;
  const outer = shape.slice(0, untouched);
  const inner = shape.slice(untouched);
  if (inner.some((size, i) => size % tiling[i] !== 0)) return null;
  return [...outer, ...inner.map((size, i) => size / tiling[i]), ...tiling];
}

/** The logical element at each position of the tiled memory. */
function tiledOrder(
  shape: readonly number[],
  tiling: readonly number[],
  total: number,
): Int32Array {
  const tiled = tiledShape(shape, tiling) as number[];
  const outer = shape.length - tiling.length;
  const steps = strides(shape);
  // Strides in logical elements of each dimension of the tiled shape.
  const along = tiled.map((_, d) => {
    if (d < outer) return steps[d];
    const tile = d - outer - tiling.length;
    return tile < 0 ? steps[d] * tiling[d - outer] : steps[outer + tile];
  });
  const found = new Int32Array(total);
  const place = new Array<number>(tiled.length).fill(0);
  let flat = 0;
  for (let at = 0; at < total; at++) {
    found[at] = flat;
    for (let d = tiled.length - 1; d >= 0; d--) {
      place[d]++;
      flat += along[d];
      if (place[d] < tiled[d]) break;
      flat -= place[d] * along[d];
      place[d] = 0;
    }
  }
  return found;
}

/** Where the hardware puts an element: 16-byte chunks change places by the row of 128 bytes they lie in. */
export function swizzled(at: number, bits: number, swizzle: number): number {
  if (swizzle <= CHUNK) return at;
  const perChunk = (CHUNK * 8) / bits;
  const chunk = Math.floor(at / perChunk);
  const row = Math.floor(chunk / (BANK_ROW / CHUNK));
  const moved = chunk ^ (row & (swizzle / CHUNK - 1));
  return moved * perChunk + (at - chunk * perChunk);
}

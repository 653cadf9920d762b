/** Regions: which elements of a buffer an event touches, as requested and as possible. */

import { RegionKind } from "../schema.gen";
import { count } from "./values";

export interface Region {
  readonly kind: number;
  /** The box as requested, one number per dimension; empty for a set of elements. */
  readonly start: readonly number[];
  readonly size: readonly number[];
  readonly stride: readonly number[];
  /** Of the box's requested shape; only nonzero elements are touched. */
  readonly mask: ArrayLike<number> | null;
  /** Flat element numbers in the order of the value. */
  readonly elements: ArrayLike<number> | null;
}

/** The part of a dimension inside `0 … dim-1`: steps skipped, first element, size. */
export function clip(
  start: number,
  size: number,
  stride: number,
  dim: number,
): [number, number, number] {
  const step = stride || 1;
  let first = start < 0 ? -Math.floor(start / step) : 0;
  let stop = -Math.floor((start - dim) / step);
  first = Math.min(first, size);
  stop = Math.max(Math.min(size, stop), first);
  return [first, start + first * step, stop - first];
}

/** The effective box: the part of the requested one that lies inside the buffer. */
export function effective(
  region: Region,
  shape: readonly number[],
): { start: number[]; size: number[]; stride: number[] } {
  const clips = shape.map((dim, d) => clip(region.start[d], region.size[d], region.stride[d], dim));
  return {
    start: clips.map((one) => one[1]),
    size: clips.map((one) => one[2]),
    stride: region.stride.map((one) => one || 1),
  };
}

/** Whether a region touches every element of a buffer of this shape. */
export function covers(region: Region, shape: readonly number[]): boolean {
  if (region.kind !== RegionKind.BOX) return false;
  const inside = effective(region, shape);
  return shape.every(
    (dim, d) => inside.size[d] === dim && (region.stride[d] === 1 || region.size[d] <= 1),
  );
}

/**
 * Calls `visit(flat, source)` for each touched element inside the buffer, in the order of the
 * value: its flat number and the position in the value.
 */
export function eachElement(
  region: Region,
  shape: readonly number[],
  visit: (flat: number, source: number) => void,
): void {
  if (region.kind === RegionKind.ELEMENTS) {
    const total = count(shape);
    const elements = region.elements ?? [];
    for (let i = 0; i < elements.length; i++) {
      if (elements[i] >= 0 && elements[i] < total) visit(elements[i], i);
    }
    return;
  }
  const masked = region.kind === RegionKind.MASKED;
  if (masked && !region.mask) return;
  if (!shape.length) {
    if (!masked || region.mask?.[0]) visit(0, 0);
    return;
  }
  const clips = shape.map((dim, d) => clip(region.start[d], region.size[d], region.stride[d], dim));
  const last = shape.length - 1;
  const step = region.stride[last] || 1;
  const walk = (d: number, flat: number, source: number): void => {
    const [first, start, size] = clips[d];
    if (d === last) {
      let target = flat * shape[d] + start;
      let from = source * region.size[d] + first;
      for (let i = 0; i < size; i++, target += step, from++) {
        if (!masked || region.mask?.[from]) visit(target, from);
      }
      return;
    }
    const stride = region.stride[d] || 1;
    for (let i = 0; i < size; i++) {
      walk(d + 1, flat * shape[d] + start + i * stride, source * region.size[d] + first + i);
    }
  };
  walk(0, 0, 0);
}

/**
 * Calls `visit(flat, source, length)` for each run of neighbors inside the buffer; false if the
 * region has none, so that its elements have to be visited one by one.
 */
export function eachRun(
  region: Region,
  shape: readonly number[],
  visit: (flat: number, source: number, length: number) => void,
): boolean {
  const last = shape.length - 1;
  if (region.kind !== RegionKind.BOX || last < 0) return false;
  const clips = shape.map((dim, d) => clip(region.start[d], region.size[d], region.stride[d], dim));
  const [skipped, start, length] = clips[last];
  if (length > 1 && region.stride[last] > 1) return false;
  const walk = (d: number, flat: number, source: number): void => {
    if (d === last) {
      visit(flat * shape[d] + start, source * region.size[d] + skipped, length);
      return;
    }
    const [first, from, size] = clips[d];
    const stride = region.stride[d] || 1;
    for (let i = 0; i < size; i++) {
      walk(d + 1, flat * shape[d] + from + i * stride, source * region.size[d] + first + i);
    }
  };
  if (length > 0) walk(0, 0, 0);
  return true;
}

/** Whether a region touches one element, given by its coordinates. */
export function touches(
  region: Region,
  shape: readonly number[],
  element: readonly number[],
): boolean {
  if (region.kind === RegionKind.ELEMENTS) {
    let flat = 0;
    for (let d = 0; d < shape.length; d++) flat = flat * shape[d] + element[d];
    const elements = region.elements ?? [];
    for (let i = 0; i < elements.length; i++) if (elements[i] === flat) return true;
    return false;
  }
  let source = 0;
  for (let d = 0; d < shape.length; d++) {
    const offset = element[d] - region.start[d];
    const stride = region.stride[d] || 1;
    const place = offset / stride;
    if (offset % stride !== 0 || place < 0 || place >= region.size[d]) return false;
    source = source * region.size[d] + place;
  }
  return region.kind !== RegionKind.MASKED || Boolean(region.mask?.[source]);
}

/**
 * Like a subscript: `[0:64, 3]`; element sets name the first few.
 *
 * Barriers and semaphores have numbers; with the array's `shape` they are named by place.
 */
export function regionText(region: Region, shape: readonly number[] = []): string {
  if (region.start.length === 1 && shape.length > 1) return elementText(region.start[0], shape);
  if (region.kind === RegionKind.ELEMENTS) return `[${few(region.elements)}]`;
  if (!region.start.length) return "";
  const inner = region.start
    .map((start, d) => {
      const [size, stride] = [region.size[d], region.stride[d]];
      if (size === 1) return String(start);
      if (stride === 1) return `${start}:${start + size}`;
      return `${start}:${start + (size - 1) * stride + 1}:${stride}`;
    })
    .join(", ");
  if (region.kind !== RegionKind.MASKED || !region.mask) return `[${inner}]`;
  let set = 0;
  for (let i = 0; i < region.mask.length; i++) if (region.mask[i]) set++;
  return `[${inner}, ${set} of ${region.mask.length} by mask]`;
}

function elementText(number: number, shape: readonly number[]): string {
  const at: number[] = [];
  let rest = number;
  for (const size of [...shape].reverse()) {
    at.unshift(rest % size);
    rest = Math.floor(rest / size);
  }
  return number < 0 || rest ? `[${number}]` : `[${at.join(", ")}]`;
}

function few(elements: ArrayLike<number> | null, most = 4): string {
  if (!elements) return "…";
  const shown = Array.from({ length: Math.min(elements.length, most) }, (_, i) => elements[i]).join(
    ", ",
  );
  return elements.length <= most ? shown : `${shown}, … ${elements.length} elements`;
}

/** Which index labels stand along the sides of a grid, without touching each other. Pure. */

import { niceStep } from "../drawing/steps";
import type { Axis, Line } from "./layout";

export interface Label {
  readonly text: string;
  /** Middle of the label along the line. */
  readonly place: number;
  /** 0 for the innermost axis; outer axes are further out. */
  readonly level: number;
}

/** An axis' name; its number where it has none. */
export function axisName(axes: readonly Axis[], number: number): string {
  return axes[number]?.name || `axis ${number}`;
}

/** Labels of all levels of a line; `room` is the length that one needs. */
export function labelsOf(line: Line, axes: readonly Axis[], room: number): Label[] {
  const found: Label[] = [];
  let inner = 1;
  for (let depth = line.sizes.length - 1; depth >= 0; depth--) {
    const size = line.sizes[depth];
    const level = line.sizes.length - 1 - depth;
    found.push(...labelsOfAxis(line, axes, line.axes[depth], inner, size, level, room));
    inner *= size;
  }
  return found;
}

function labelsOfAxis(
  line: Line,
  axes: readonly Axis[],
  number: number,
  inner: number,
  size: number,
  level: number,
  room: number,
): Label[] {
  const total = line.offsets.length;
  const groups = total / inner;
  const length = groups > 1 ? line.offsets[inner] - line.offsets[0] : line.length;
  const outer = level > 0 ? `${axisName(axes, number)}=` : "";
  const needed = outer ? room + outer.length * 6 : room;
  const step = niceStep(length, needed, size);
  const found: Label[] = [];
  for (let group = 0; group < groups; group++) {
    const index = group % size;
    if (index % step !== 0) continue;
    const first = line.offsets[group * inner];
    const last = line.offsets[group * inner + inner - 1] + line.cell;
    found.push({ text: `${outer}${index}`, place: (first + last) / 2, level });
  }
  return thinned(found, needed);
}

/** Labels restart in every group of the next axis; those too near the one before go. */
function thinned(labels: Label[], room: number): Label[] {
  let last = Number.NEGATIVE_INFINITY;
  return labels.filter((label) => {
    if (label.place - last < room) return false;
    last = label.place;
    return true;
  });
}

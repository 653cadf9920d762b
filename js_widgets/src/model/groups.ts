/** Event numbers grouped by a small integer: one counting sort, then slices without copies. */

import type { Ints } from "../bundle";

export class Groups {
  private constructor(
    private readonly numbers: Int32Array,
    private readonly starts: Int32Array,
  ) {}

  /** `key(i)` is the group of number `i`, or negative for none. */
  static by(total: number, groups: number, key: (i: number) => number): Groups {
    const keys = new Int32Array(total);
    for (let i = 0; i < total; i++) keys[i] = key(i);
    return Groups.ofKeys(keys, groups);
  }

  /** `keys[e]` is the group of event `e`, or negative for none. */
  static ofKeys(keys: Ints, groups: number): Groups {
    const total = keys.length;
    const starts = new Int32Array(groups + 1);
    for (let e = 0; e < total; e++) if (keys[e] >= 0) starts[keys[e] + 1]++;
    for (let g = 0; g < groups; g++) starts[g + 1] += starts[g];
    const next = starts.slice();
    const numbers = new Int32Array(starts[groups]);
    for (let e = 0; e < total; e++) if (keys[e] >= 0) numbers[next[keys[e]]++] = e;
    return new Groups(numbers, starts);
  }

  /** Sorted event numbers of a group; a view, not to be written. */
  of(group: number): Int32Array {
    if (!(group >= 0 && group + 1 < this.starts.length)) return this.numbers.subarray(0, 0);
    return this.numbers.subarray(this.starts[group], this.starts[group + 1]);
  }
}

/** The first place in `from … to` of a sorted array whose number is not smaller than `value`. */
export function lowerBound(
  sorted: ArrayLike<number>,
  value: number,
  from = 0,
  to = sorted.length,
): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** How many numbers of a sorted array are at most `value`. */
export function upperBound(sorted: ArrayLike<number>, value: number): number {
  return lowerBound(sorted, value + 1);
}

/** Event numbers grouped by a small integer: one counting sort, then slices without copies. */

export class Groups {
  private constructor(
    private readonly numbers: Int32Array,
    private readonly starts: Int32Array,
  ) {}

  /** `key(e)` is the group of event `e`, or negative for none. */
  static by(total: number, groups: number, key: (event: number) => number): Groups {
    const starts = new Int32Array(groups + 1);
    for (let e = 0; e < total; e++) {
      const group = key(e);
      if (group >= 0) starts[group + 1]++;
    }
    for (let g = 0; g < groups; g++) starts[g + 1] += starts[g];
    const next = starts.slice();
    const numbers = new Int32Array(starts[groups]);
    for (let e = 0; e < total; e++) {
      const group = key(e);
      if (group >= 0) numbers[next[group]++] = e;
    }
    return new Groups(numbers, starts);
  }

  /** Sorted event numbers of a group; a view, not to be written. */
  of(group: number): Int32Array {
    if (!(group >= 0 && group + 1 < this.starts.length)) return this.numbers.subarray(0, 0);
    return this.numbers.subarray(this.starts[group], this.starts[group + 1]);
  }
}

/** How many numbers of a sorted array are smaller than `value`. */
export function lowerBound(sorted: ArrayLike<number>, value: number): number {
  let low = 0;
  let high = sorted.length;
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

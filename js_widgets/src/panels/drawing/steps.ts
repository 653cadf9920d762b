/** Steps between labels. Pure. */

const NICE = [1, 2, 5];

/** A step of the form 1, 2, 5 × 10ⁿ that leaves `room` between labels of cells. */
export function niceStep(cell: number, room: number, size: number): number {
  for (let scale = 1; ; scale *= 10) {
    for (const nice of NICE) {
      const step = nice * scale;
      if (step * cell >= room || step >= size) return step;
    }
  }
}

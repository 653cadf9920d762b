/** Several pictures of one panel: the launches of a device mesh side by side. Pure. */

import type { Launch } from "../../model/tables";
import { axisName } from "./labels";
import { type Axis, defaultPlacement, type GridLayout, layout, placementWith } from "./layout";

/** One grid with its place in the panel; `x`, `y` is the corner of its first cell. */
export interface Facet {
  readonly launch: number;
  readonly title: string;
  readonly x: number;
  readonly y: number;
  /** Room for labels left of the first cell. */
  readonly left: number;
  /** Where the next facet begins. */
  readonly right: number;
  readonly grid: GridLayout;
}

export interface Picture {
  readonly facets: readonly Facet[];
  readonly width: number;
  readonly height: number;
}

export const LABEL = 14;
const TITLE = 18;
const GAP = 16;
const LEAST_WIDTH = 120;
const MOST_NAME = 96;
export const PADDING = 8;

/** Launches of the same kernel over the devices of one mesh, in the order of the launches. */
export function siblings(launches: readonly Launch[], launch: number): number[] {
  const one = launches[launch];
  const same = (other: Launch) =>
    other.kernel === one.kernel &&
    other.mesh.length === 0 &&
    String(other.blockShape) === String(one.blockShape) &&
    JSON.stringify(other.axes) === JSON.stringify(one.axes);
  const devices = Object.values(one.axes).reduce((n, size) => n * size, 1);
  if (devices < 2 || one.mesh.length > 0) return [launch];
  // A mesh is launched device by device: the group that holds this launch begins at a multiple.
  const run = launches.filter(same).map((other) => other.number);
  const first = Math.floor(run.indexOf(launch) / devices) * devices;
  return run.slice(first, first + devices);
}

/** The axes of a launch's blocks: its grid, then its cluster. */
export function axesOf(launch: Launch): Axis[] {
  const grid = launch.blockShape.length - launch.cluster.length;
  return launch.blockShape.map((size, i) => ({
    name: launch.axisNames[i] ?? "",
    size,
    cluster: i >= grid,
  }));
}

/** Chosen axes, if they exist in this grid. */
export function chosen(axes: readonly Axis[], wanted: unknown): readonly [number, number] | null {
  if (!Array.isArray(wanted) || wanted.length !== 2) return null;
  const [x, y] = wanted as number[];
  const valid = (axis: number) => axis === -1 || (axis >= 0 && axis < axes.length);
  return valid(x) && valid(y) && x !== y ? [x, y] : null;
}

/** Room for the name of the rows' axis; letters are mostly narrower. */
function roomFor(axes: readonly Axis[], axis: number | undefined): number {
  return axis === undefined ? 0 : Math.min(26 + 6 * axisName(axes, axis).length, MOST_NAME);
}

/** Places one facet per launch in a panel of some size. */
export function arrange(
  launches: readonly {
    readonly number: number;
    readonly title: string;
    readonly axes: readonly Axis[];
  }[],
  wanted: unknown,
  width: number,
  height: number,
): Picture {
  const titled = launches.length > 1;
  const most = Math.max(Math.floor(width / LEAST_WIDTH), 1);
  const across = Math.min(launches.length, most);
  const down = Math.ceil(launches.length / across);
  const facets: Facet[] = [];
  let top = 0;
  let right = 0;
  for (let row = 0; row < down; row++) {
    let tallest = 0;
    for (let column = 0; column < across; column++) {
      const launch = launches[row * across + column];
      if (!launch) break;
      const box = {
        width: (width - GAP * (across - 1)) / across,
        height: (height - GAP * (down - 1)) / down,
      };
      const pick = chosen(launch.axes, wanted);
      const place = pick
        ? placementWith(launch.axes, pick[0], pick[1])
        : defaultPlacement(launch.axes);
      const left = Math.max(
        LABEL * Math.max(place.y.length, 1) + 22,
        roomFor(launch.axes, place.y.at(-1)),
      );
      const head = LABEL * Math.max(place.x.length, 1) + 4 + (titled ? TITLE : 0);
      const space = {
        width: Math.max(box.width - left, 20),
        height: Math.max(box.height - head, 20),
      };
      const grid = layout(launch.axes, place, space);
      const x = PADDING + column * (box.width + GAP) + left;
      const y = PADDING / 2 + top + head;
      facets.push({
        launch: launch.number,
        title: titled ? launch.title : "",
        x,
        y,
        left,
        right: x - left + box.width,
        grid,
      });
      tallest = Math.max(tallest, head + grid.rows.length);
      right = Math.max(right, x + grid.columns.length);
    }
    top += tallest + GAP;
  }
  return { facets, width: right, height: top - GAP };
}

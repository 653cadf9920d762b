import { describe, expect, test } from "vitest";
import { eachElement, type Region, regionText } from "../../src/model/regions";
import { rangeOf, STEPS, stepOf, table } from "../../src/panels/drawing/scales";
import { rectanglesOf } from "../../src/panels/memory/access";
import { Differences, rangeOverTime, tally } from "../../src/panels/memory/contents";
import {
  CODE,
  type Contents,
  codeOf,
  codes,
  isPlain,
  paint,
  survey,
} from "../../src/panels/memory/heat";
import { parseTransforms, physicalOf, swizzled } from "../../src/panels/memory/physical";
import {
  cellUnder,
  FITTED,
  movedPlot,
  plotOf,
  revealed,
  zoomedPlot,
} from "../../src/panels/memory/plot";
import { cellOf, placeOf, positionAt, sliceOf, strides } from "../../src/panels/memory/slice";
import { syncAt } from "../../src/panels/memory/sync";
import { bytesAt, spacesOf } from "../../src/panels/memory/usage";
import { RegionKind } from "../../src/schema.gen";
import { CASES, modelOf } from "../golden";

test.each([
  [4, [2, 3], "[1, 1]"],
  [9, [2, 3], "[9]"],
  [-1, [2, 3], "[-1]"],
  [1, [2], "[1]"],
])("barrier %i of an array %o is %s", (number, shape, text) => {
  const region = { kind: RegionKind.BOX, start: [number], size: [1], stride: [1] };
  expect(regionText(region as unknown as Region, shape)).toBe(text);
});

const total = (shape: readonly number[]) => shape.reduce((n, size) => n * size, 1);
const ones = (n: number) => new Uint8Array(n).fill(1);
const known = (values: number[]): Contents => ({
  values: Float64Array.from(values),
  initialized: ones(values.length),
  recorded: ones(values.length),
});

describe("colors", () => {
  test("values on both sides of zero get a symmetrical range", () => {
    expect(rangeOf(-1, 3)).toEqual({ kind: "diverging", low: -3, high: 3 });
    expect(rangeOf(2, 3)).toEqual({ kind: "sequential", low: 2, high: 3 });
    expect(rangeOf(Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY).kind).toBe("sequential");
  });

  test("steps run from the lowest to the highest, at any size", () => {
    for (const [low, high] of [
      [0, 1],
      [-5, 5],
      [1e300, 1.7e308],
      [-1.7e308, 1.7e308],
    ]) {
      const range = { kind: "sequential" as const, low, high };
      expect(stepOf(low, range)).toBe(0);
      expect(stepOf(high, range)).toBe(STEPS - 1);
      expect(stepOf(low / 2 + high / 2, range)).toBeCloseTo((STEPS - 1) / 2, -1);
    }
    expect(stepOf(4, { kind: "sequential", low: 4, high: 4 })).toBeGreaterThanOrEqual(0);
  });

  test.each([true, false])(
    "lightness of the sequential scale only grows (dark page: %s)",
    (dark) => {
      const light = [...table("sequential", dark)].map(
        (p) => 0.299 * (p & 255) + 0.587 * ((p >> 8) & 255) + 0.114 * ((p >> 16) & 255),
      );
      for (let i = 1; i < light.length; i++)
        expect(light[i]).toBeGreaterThanOrEqual(light[i - 1] - 0.6);
    },
  );
});

const SHAPES = [[], [1], [7], [300], [5, 6], [2, 3, 4], [1, 4, 1], [3, 1, 8], [2, 2, 3, 4]];

describe("slices", () => {
  test.each(SHAPES.map((shape) => [shape]))(
    "%j: cells and elements go into each other",
    (shape) => {
      const slice = sliceOf(shape);
      const step = strides(shape);
      let seen = 0;
      for (let row = 0; row < slice.rows; row++) {
        for (let column = 0; column < slice.columns; column++) {
          const at = positionAt(slice, row, column);
          if (at < 0) continue;
          seen++;
          const place = placeOf(shape, at);
          expect(place.reduce((n, p, d) => n + p * step[d], 0)).toBe(at);
          expect(cellOf(slice, place)).toEqual([row, column]);
        }
      }
      const fixed = shape.filter((_, d) => shape.length > 1 && d !== slice.x && d !== slice.y);
      expect(seen).toBe(total(shape) / total(fixed));
      expect(positionAt(slice, slice.rows, 0)).toBe(-1);
    },
  );

  test("dimensions can be chosen; wrong ones fall back", () => {
    const slice = sliceOf([2, 3, 4], { x: 0, y: 2, fixed: [0, 2, 0] });
    expect([slice.columns, slice.rows, positionAt(slice, 1, 1)]).toEqual([2, 4, 12 + 8 + 1]);
    expect(sliceOf([2, 3], { x: 5, y: 5 })).toEqual(sliceOf([2, 3]));
    expect(sliceOf([2, 3, 4], { fixed: [99, 0, 0] }).base).toBe(12);
  });
});

describe("the heat map", () => {
  test("every special value has a code of its own", () => {
    const contents: Contents = {
      values: [0, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 5, 5],
      initialized: [1, 1, 1, 1, 0, 1],
      recorded: [1, 1, 1, 1, 0, 0],
    };
    const range = rangeOf(0, 1);
    const found = [0, 1, 2, 3, 4, 5, -1].map((i) => codeOf(contents, i, range));
    expect(found).toEqual([
      0,
      CODE.nan,
      CODE.plus,
      CODE.minus,
      CODE.unset,
      CODE.missing,
      CODE.outside,
    ]);
    const flat = codes(
      contents,
      sliceOf([6]),
      null,
      range,
      { row: 0, column: 0, rows: 1, columns: 6 },
      { width: 6, height: 1 },
    );
    expect([...flat.codes]).toEqual(found.slice(0, 6));
    const counts = survey(contents);
    expect(counts).toMatchObject({
      nan: 1,
      infinite: 2,
      unset: 1,
      missing: 1,
      low: 0,
      high: 0,
      exact: true,
    });
  });

  test("a picture smaller than the buffer still has its single NaN", () => {
    const values = Array.from({ length: 10_000 }, (_, i) => (i === 4321 ? Number.NaN : i));
    const slice = sliceOf([100, 100]);
    const part = { row: 0, column: 0, rows: 100, columns: 100 };
    const small = codes(known(values), slice, null, rangeOf(0, 9999), part, {
      width: 10,
      height: 10,
    });
    expect(small.codes.filter((code) => code === CODE.nan)).toHaveLength(1);
    expect(small.codes[4 * 10 + 2]).toBe(CODE.nan);
  });

  test("where all are plain numbers, looking at the first ones of cells shows the same", () => {
    const values = Array.from({ length: 60 * 47 }, (_, i) => Math.sin(i) * 100);
    const contents = known(values);
    const order = Int32Array.from(values, (_, i) => values.length - 1 - i);
    expect(isPlain(survey(contents))).toBe(true);
    expect(isPlain(survey(known([1, Number.NaN])))).toBe(false);
    expect(isPlain(survey(contents, 1000))).toBe(false);
    const [slice, line] = [sliceOf([60, 47]), sliceOf([60 * 47])];
    const parts = [
      { row: 0, column: 0, rows: 60, columns: 47 },
      { row: 7, column: 3, rows: 40, columns: 44 },
    ];
    for (const most of [
      { width: 200, height: 200 },
      { width: 13, height: 9 },
      { width: 5, height: 60 },
    ])
      for (const part of parts)
        for (const way of [null, order]) {
          const all = codes(contents, slice, way, rangeOf(-100, 100), part, most);
          expect(codes(contents, slice, way, rangeOf(-100, 100), part, most, true)).toEqual(all);
        }
    const broken = { row: 0, column: 0, rows: line.rows, columns: line.columns };
    const most = { width: line.columns, height: line.rows };
    const all = codes(contents, line, null, rangeOf(-100, 100), broken, most);
    expect(codes(contents, line, null, rangeOf(-100, 100), broken, most, true)).toEqual(all);
  });

  test("cells are painted where they belong, patterns by pixel", () => {
    const picture = { codes: Uint8Array.of(0, STEPS - 1, CODE.nan, 10), rows: 2, columns: 2 };
    const out = new Uint32Array(16 * 16);
    const patterns = Array.from({ length: 6 }, (_, i) => ({ ground: 1000 + i, line: 2000 + i }));
    paint(picture, out, 16, 16, {
      table: Uint32Array.from({ length: STEPS }, (_, i) => i),
      patterns,
    });
    expect([out[0], out[15], out[16 * 15 + 15]]).toEqual([0, STEPS - 1, 10]);
    const nan = CODE.nan - STEPS;
    const corner = new Set(
      [...Array(8).keys()].flatMap((y) => [...out.subarray((y + 8) * 16, (y + 8) * 16 + 8)]),
    );
    expect(corner).toEqual(new Set([1000 + nan, 2000 + nan]));
  });

  test("zoom keeps the cell under the pointer, moves stay inside, a far cell can be revealed", () => {
    const slice = sliceOf([64, 64]);
    const box = { width: 400, height: 300 };
    const before = plotOf(slice, box, FITTED);
    const at = cellUnder(before, slice, 200, 150)!;
    const view = zoomedPlot(slice, box, FITTED, 6, 200, 150);
    const after = plotOf(slice, box, view);
    expect(after.cellWidth).toBeGreaterThan(before.cellWidth * 4);
    const moved = cellUnder(after, slice, 200, 150)!;
    expect(Math.abs(moved[0] - at[0]) + Math.abs(moved[1] - at[1])).toBeLessThanOrEqual(2);
    const far = plotOf(slice, box, movedPlot(after, view, 1e6, 1e6));
    expect([far.row, far.column]).toEqual([0, 0]);
    const last = plotOf(slice, box, revealed(far, view, 63, 63));
    expect(last.row + last.rows).toBe(64);
    expect(zoomedPlot(slice, box, view, 0.001, 200, 150)).toEqual(FITTED);
  });
});

describe("the current access", () => {
  const region = (start: number[], size: number[], stride = start.map(() => 1)) => ({
    kind: RegionKind.BOX,
    start,
    size,
    stride,
    mask: null,
    elements: null,
  });
  const shapes = [[300], [6, 7], [3, 6, 7]];
  const cases = [
    { shape: [300], region: region([50], [200]) },
    { shape: [300], region: region([-5], [400], [3]) },
    { shape: [6, 7], region: region([1, 2], [3, 9]) },
    { shape: [6, 7], region: region([0, 0], [3, 3], [2, 3]) },
    { shape: [3, 6, 7], region: region([1, 0, 0], [2, 6, 3]) },
    {
      shape: [3, 6, 7],
      region: { ...region([], []), kind: RegionKind.ELEMENTS, elements: [0, 1, 2, 43, 50, 999] },
    },
  ];

  test.each(cases)(
    "$shape: rectangles cover the region's cells, each once",
    ({ shape, region }) => {
      for (const fixed of shape.length > 2 ? [0, 1, 2] : [0]) {
        const slice = sliceOf(shape, { fixed: shape.map(() => fixed) });
        const wanted = new Set<string>();
        eachElement(region, shape, (flat) => {
          const cell = cellOf(slice, placeOf(shape, flat));
          if (cell) wanted.add(String(cell));
        });
        const drawn: string[] = [];
        for (const { row, column, rows, columns } of rectanglesOf(region, shape, slice)) {
          for (let r = row; r < row + rows; r++)
            for (let c = column; c < column + columns; c++) drawn.push(`${r},${c}`);
        }
        expect(drawn.sort()).toEqual([...wanted].sort());
      }
      expect(shapes).toContainEqual(shape);
    },
  );
});

describe("the physical layout", () => {
  test("is read from the kernel's words, or not at all", () => {
    const words = ["UnswizzleRef(swizzle=128)", "UntilingTransform(tiling=(8, 64))"];
    expect(parseTransforms(words)).toEqual({ tiling: [8, 64], swizzle: 128 });
    expect(parseTransforms(["TransposeTransform((1, 0))"])).toBeNull();
    expect(parseTransforms([])).toBeNull();
  });

  test.each([16, 32, 64, 128])(
    "a swizzle of %i bytes moves 16-byte chunks inside their rows",
    (swizzle) => {
      const places = Array.from({ length: 1024 }, (_, at) => swizzled(at, 16, swizzle));
      expect(new Set(places).size).toBe(1024);
      places.forEach((to, at) => {
        expect(Math.floor(to / 64)).toBe(Math.floor(at / 64));
        expect(to % 8).toBe(at % 8);
      });
      // In the row number 1 of 128 bytes the first chunk takes the place of the second.
      expect(places[64]).toBe(swizzle > 16 ? 72 : 64);
    },
  );

  test("tiles lie one after another", () => {
    const found = physicalOf([4, 6], 32, { tiling: [2, 3], swizzle: 0 })!;
    expect([...found.logical.subarray(0, 12)]).toEqual([0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10, 11]);
    expect(found.shape).toEqual([8, 3]);
    const outer = physicalOf([2, 16, 64], 16, { tiling: [8, 64], swizzle: 128 })!;
    expect(new Set(outer.logical).size).toBe(2 * 16 * 64);
    expect(physicalOf([5, 6], 32, { tiling: [2, 3], swizzle: 0 })).toBeNull();
  });
});

describe("recorded kernels", () => {
  test.each(CASES)(
    "%s: no two living buffers overlap in the map, and the levels add up",
    async (name) => {
      const model = await modelOf(name);
      const blocks = new Set(Array.from(model.buffers.block));
      for (const { number } of model.launches) {
        for (const block of blocks) {
          for (const map of spacesOf(model, number, block)) {
            map.allocations.forEach((a, i) => {
              for (const b of map.allocations.slice(i + 1)) {
                const together = a.from < b.to && b.from < a.to;
                const apart = a.low + a.bytes <= b.low || b.low + b.bytes <= a.low;
                expect(!together || apart).toBe(true);
              }
            });
            for (let cursor = 0; cursor <= model.count; cursor += 5) {
              const living = map.allocations.filter((one) => one.from < cursor && cursor <= one.to);
              expect(bytesAt(map, cursor)).toBe(living.reduce((n, one) => n + one.bytes, 0));
              expect(bytesAt(map, cursor)).toBeLessThanOrEqual(map.peak);
            }
          }
        }
      }
    },
  );

  test.each(CASES)("%s: what changed is what another fold finds", async (name) => {
    const model = await modelOf(name);
    for (let buffer = 0; buffer < model.buffers.count; buffer++) {
      if (model.buffers.root[buffer] !== buffer || !model.history(buffer)) continue;
      const differences = new Differences();
      let before: { values: ArrayLike<number>; initialized: ArrayLike<number> } | null = null;
      for (let cursor = 0; cursor <= model.count; cursor += 3) {
        const memory = model.memory(buffer, cursor)!;
        const found = differences.at(model, memory, cursor);
        const last = before;
        let wanted = 0;
        for (let i = 0; last && i < memory.values.length; i++) {
          const same =
            Object.is(memory.values[i], last.values[i]) || memory.values[i] === last.values[i];
          if (!same || memory.initialized[i] !== last.initialized[i]) wanted++;
        }
        expect(found.total).toBe(wanted);
        before = { values: memory.values.slice(), initialized: memory.initialized.slice() };
      }
    }
  });

  test.each(CASES)("%s: the range of all time holds every value", async (name) => {
    const model = await modelOf(name);
    for (let buffer = 0; buffer < model.buffers.count; buffer++) {
      if (model.buffers.root[buffer] !== buffer || !model.history(buffer)) continue;
      const range = rangeOverTime(model, buffer);
      for (let cursor = 0; cursor <= model.count; cursor += 7) {
        const found = survey(model.memory(buffer, cursor)!);
        if (!(found.low <= found.high)) continue;
        expect(range.low).toBeLessThanOrEqual(found.low);
        expect(range.high).toBeGreaterThanOrEqual(found.high);
      }
    }
  });

  test("a block counts once for an element, however often it comes", async () => {
    const model = await modelOf("elementwise");
    const { buffers, launches } = model;
    const out = Array.from({ length: buffers.count }, (_, b) => b).find(
      (b) => buffers.role(b) === "output",
    )!;
    const counts = tally(model, out, "blocks", model.count)!;
    expect(Math.max(...counts)).toBe(1);
    expect(counts.reduce((a, b) => a + b, 0)).toBeGreaterThan(launches[0].blocks);
    const writes = tally(model, out, "writes", model.count)!;
    expect(Math.min(...writes)).toBeGreaterThanOrEqual(1);
    expect(Math.max(...tally(model, out, "writes", 0)!)).toBe(0);
  });

  test("barriers count arrivals, phases and who waits", async () => {
    const model = await modelOf("deadlock");
    const { buffers } = model;
    const barrier = Array.from({ length: buffers.count }, (_, b) => b).find((b) =>
      buffers.isSync(b),
    )!;
    expect(syncAt(model, barrier, 0)[0]).toMatchObject({
      phase: 0,
      arrived: 0,
      waiting: [],
      last: -1,
    });
    const end = syncAt(model, barrier, model.count)[0];
    expect(end.phase).toBe(0);
    expect(end.arrived).toBeLessThan(buffers.arrivals[barrier]);
    expect(end.waiting.length).toBeGreaterThan(0);
  });

  test.each(CASES)("%s: semaphores never owe units", async (name) => {
    const model = await modelOf(name);
    for (let buffer = 0; buffer < model.buffers.count; buffer++) {
      if (!model.buffers.isSync(buffer)) continue;
      for (let cursor = 0; cursor <= model.count; cursor++) {
        for (const state of syncAt(model, buffer, cursor)) {
          expect(state.units).toBeGreaterThanOrEqual(0);
          expect(state.arrived).toBeLessThanOrEqual(Math.max(model.buffers.arrivals[buffer], 1));
        }
      }
    }
  });
});

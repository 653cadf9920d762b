import { describe, expect, test } from "vitest";
import {
  axisOf,
  clamped,
  LEAST_UNITS,
  panned,
  revealing,
  whole,
  zoomed,
} from "../../src/panels/threads/axis";
import { bars, density, extent } from "../../src/panels/threads/coalesce";
import {
  byThread,
  crewOf,
  type Lanes,
  laneAt,
  pack,
  packsOf,
  SPAN,
  type Spans,
  stack,
} from "../../src/panels/threads/lanes";
import { CASES, modelOf } from "../golden";

/** Numbers that look random and are the same every time. */
function random(seed: number) {
  let state = seed;
  return (most: number) => {
    state = (state * 1103515245 + 12345) % 2 ** 31;
    return state % most;
  };
}

function spansOf(rows: [start: number, end: number, kind?: number, thread?: number][]): Spans {
  const column = (f: (row: (typeof rows)[number]) => number) => Int32Array.from(rows, f);
  return {
    start: column((r) => r[0]),
    end: column((r) => r[1]),
    kind: column((r) => r[2] ?? SPAN.runs),
    thread: column((r) => r[3] ?? 0),
    object: column(() => -1),
  };
}

const events = (steps: number[], thread = 0) => ({ step: steps, thread: steps.map(() => thread) });

describe("the axis", () => {
  const steps = axisOf("step", events([5, 5, 6, 9, 9, 12]), 0, 6);

  test("places events at their steps and finds them again", () => {
    expect([steps.low, steps.high]).toEqual([5, 13]);
    expect([0, 1, 2, 3, 6, 99].map(steps.at)).toEqual([5, 5, 6, 9, 13, 13]);
    expect([0, 5, 6, 7, 9, 13].map(steps.eventAt)).toEqual([0, 0, 2, 3, 3, 6]);
  });

  test("of events is the event's number", () => {
    const axis = axisOf("event", events([5, 5, 6, 9]), 1, 4);
    expect([axis.low, axis.high]).toEqual([1, 4]);
    expect([0, 2, 9].map(axis.at)).toEqual([1, 2, 4]);
  });

  test("an empty launch has an axis, too", () => {
    const axis = axisOf("step", events([]), 0, 0);
    expect(axis.high).toBeGreaterThan(axis.low);
  });

  test("windows stay inside and zoom around their place", () => {
    const axis = axisOf("event", events([]), 0, 1000);
    const zoom = zoomed(whole(axis), axis, 0.5, 250);
    expect(zoom).toEqual({ x0: 125, x1: 625 });
    expect(panned(zoom, axis, 1e9)).toEqual({ x0: 500, x1: 1000 });
    expect(panned(zoom, axis, -1e9)).toEqual({ x0: 0, x1: 500 });
    const least = clamped({ x0: 500, x1: 500 }, axis);
    expect(least.x1 - least.x0).toBe(LEAST_UNITS);
    expect(zoomed(zoom, axis, 100, 300)).toEqual(whole(axis));
  });

  test("a place that is shown leaves the window alone; another comes to its middle", () => {
    const axis = axisOf("event", events([]), 0, 1000);
    const window = { x0: 100, x1: 200 };
    expect(revealing(window, axis, 150)).toBe(window);
    expect(revealing(window, axis, 500)).toEqual({ x0: 450, x1: 550 });
    expect(revealing(window, axis, 999)).toEqual({ x0: 900, x1: 1000 });
  });
});

describe("bars", () => {
  const count = 5000;
  const axis = axisOf("event", events([]), 0, count * 4);
  const next = random(1);
  const rows: [number, number, number][] = [];
  for (let i = 0, at = 0; i < count; i++) {
    const length = 1 + next(3);
    rows.push([at, at + length, next(2)]);
    at += length;
  }
  const spans = spansOf(rows);
  const numbers = Int32Array.from({ length: count }, (_, i) => i);

  test.each([1, 3, 40, 400])(
    "at zoom %i they cost pixels, not spans, and cover what the spans cover",
    (zoom) => {
      const width = 600;
      const window = { x0: 1000, x1: 1000 + 8000 / zoom };
      const found = bars(numbers, spans, axis, window, width);
      expect(found.length).toBeLessThanOrEqual(2 * width + 4);
      const scale = width / (window.x1 - window.x0);
      for (let i = 1; i < found.length; i++)
        expect(found[i].from).toBeGreaterThanOrEqual(found[i - 1].from);
      for (let pixel = 0; pixel < width; pixel++) {
        const place = window.x0 + (pixel + 0.5) / scale;
        const busy = rows.some(([a, b]) => a <= place && place < b);
        const drawn = found.some((bar) => bar.from <= pixel + 1 && bar.to >= pixel);
        if (busy) expect(drawn).toBe(true);
      }
    },
  );

  test("a bar that is wide enough names its span and has its kind and extent", () => {
    const found = bars(numbers, spans, axis, { x0: 0, x1: 20 }, 600);
    for (const bar of found) {
      expect(bar.span).toBeGreaterThanOrEqual(0);
      const { from } = extent(bar.span, spans, axis);
      expect(bar.from).toBeCloseTo(Math.max(from * 30, -2), 3);
      expect(bar.kind).toBe(spans.kind[bar.span]);
    }
  });

  test("nothing is drawn where nothing is", () => {
    expect(bars([], spans, axis, { x0: 0, x1: 10 }, 100)).toEqual([]);
    const lone = spansOf([[10, 12]]);
    expect(bars([0], lone, axis, { x0: 100, x1: 200 }, 100)).toEqual([]);
    expect(bars([0], lone, axis, { x0: 0, x1: 9 }, 100)).toEqual([]);
  });

  test("the parts of the minimap add up to what the spans last", () => {
    const { counts, columns, most } = density(spans, axis, 100);
    const sum = (list: Float64Array) => list.slice(0, columns).reduce((a, b) => a + b, 0);
    const unit = (axis.high - axis.low) / columns;
    for (const kind of [SPAN.runs, SPAN.waits]) {
      let length = 0;
      for (let i = 0; i < count; i++) {
        const { from, to } = extent(i, spans, axis);
        if (spans.kind[i] === kind) length += to - from;
      }
      expect(sum(counts[kind]) * unit).toBeCloseTo(length, 3);
    }
    expect(most).toBeLessThanOrEqual(1.001);
  });
});

describe("packing", () => {
  test("uses as few rows as overlap, without overlap in a row", () => {
    const next = random(7);
    const rows = Array.from({ length: 300 }, (): [number, number, number] => {
      const start = next(2000);
      return [start, start + 1 + next(40), SPAN.flies];
    }).sort((a, b) => a[0] - b[0]);
    const spans = spansOf(rows);
    const packed = pack(rows.keys(), spans);
    let most = 0;
    for (let at = 0; at < 2100; at++)
      most = Math.max(most, rows.filter(([a, b]) => a <= at && at < b).length);
    expect(packed.length).toBeLessThanOrEqual(Math.max(most, 1));
    expect(packed.reduce((n, row) => n + row.length, 0)).toBe(rows.length);
    for (const row of packed.slice(0, 11)) {
      for (let i = 1; i < row.length; i++) {
        expect(spans.start[row[i]]).toBeGreaterThanOrEqual(spans.end[row[i - 1]]);
      }
    }
  });

  test("a thousand copies one after another need one row; a thousand at once are cut off", () => {
    const after = spansOf(Array.from({ length: 1000 }, (_, i) => [i, i + 1]));
    expect(pack(after.start.length ? Array(1000).keys() : [], after)).toHaveLength(1);
    const same = spansOf(Array.from({ length: 1000 }, (_, i) => [i, 5000]));
    expect(pack(Array(1000).keys(), same)).toHaveLength(12);
  });
});

describe("lanes of recorded kernels", () => {
  test.each(CASES)(
    "%s: every thread of a launch has one owner, blocks stay together",
    async (name) => {
      const model = await modelOf(name);
      const { threads, spans } = model;
      const index = byThread(spans, threads.count);
      for (const { number } of model.launches) {
        const crew = crewOf(threads, number);
        const blocks = [...crew.workers].map((t) => `${threads.device[t]} ${threads.block[t]}`);
        expect(new Set(blocks).size).toBe(blocks.filter((b, i) => b !== blocks[i - 1]).length);
        let seen = crew.workers.length;
        crew.workers.forEach((thread, position) => {
          expect(threads.isAgent(thread)).toBe(false);
          const agents = crew.agents.subarray(crew.offsets[position], crew.offsets[position + 1]);
          seen += agents.length;
          const packs = packsOf(crew, position, threads, spans, index);
          const flights = packs.flatMap((one) => one.rows.flatMap((row) => [...row]));
          expect(flights.map((span) => spans.thread[span]).sort()).toEqual([...agents].sort());
        });
        const own = Array.from({ length: threads.count }, (_, t) => t).filter(
          (t) => threads.launch[t] === number,
        );
        expect(seen).toBe(own.length);
      }
    },
  );

  test("lanes are stacked without a gap and found by their height", async () => {
    const model = await modelOf("hopper_matmul");
    const crew = crewOf(model.threads, 0);
    const index = byThread(model.spans, model.threads.count);
    const packs = (p: number) => packsOf(crew, p, model.threads, model.spans, index);
    const lanes: Lanes = stack(crew.workers.keys(), crew, packs);
    expect(lanes.list.some((lane) => lane.kind === "agents")).toBe(true);
    lanes.list.forEach((lane, i) => {
      expect(lanes.tops[i + 1] - lanes.tops[i]).toBe(lane.height);
      expect(laneAt(lanes, lanes.tops[i])).toBe(i);
      expect(laneAt(lanes, lanes.tops[i + 1] - 1)).toBe(i);
    });
    expect(laneAt(lanes, 1e9)).toBe(lanes.list.length - 1);
  });
});

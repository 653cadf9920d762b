import { describe, expect, test } from "vitest";
import { arrange, axesOf, siblings } from "../../src/panels/grid/facets";
import { labelsOf } from "../../src/panels/grid/labels";
import {
  type Axis,
  blockAt,
  defaultPlacement,
  layout,
  neighbor,
  placementWith,
  SMALLEST_CELL,
} from "../../src/panels/grid/layout";
import { coverageOf, factsOf, STATE, statesAt, UNRECORDED } from "../../src/panels/grid/states";
import { Kind } from "../../src/schema.gen";
import { CASES, modelOf } from "../golden";

const axis = (size: number, cluster = false, name = ""): Axis => ({ size, cluster, name });
const space = { width: 300, height: 200 };
const laid = (axes: Axis[], room = space) => layout(axes, defaultPlacement(axes), room);

const GRIDS: [string, Axis[]][] = [
  ["none", []],
  ["a single block", [axis(1)]],
  ["1-D", [axis(7)]],
  ["a long line", [axis(10_000)]],
  ["2-D", [axis(3), axis(5)]],
  ["a thin one", [axis(2), axis(300)]],
  ["3-D", [axis(2), axis(3), axis(4)]],
  ["5-D", [axis(2), axis(3), axis(2), axis(2), axis(3)]],
  ["clusters", [axis(4), axis(3), axis(2, true), axis(2, true)]],
  ["100,000 blocks", [axis(1000), axis(100)]],
];

describe("the layout of a grid", () => {
  test.each(GRIDS)("puts every block of %s into a cell of its own", (_, axes) => {
    const grid = laid(axes);
    expect(grid.blocks).toBe(axes.reduce((n, one) => n * one.size, 1));
    const wrong = Array.from({ length: grid.blocks }, (_, block) => block).filter(
      (block) =>
        grid.at[grid.row[block] * grid.columns.offsets.length + grid.column[block]] !== block,
    );
    expect(wrong).toEqual([]);
    for (const line of [grid.columns, grid.rows]) {
      expect(line.cell).toBeGreaterThanOrEqual(SMALLEST_CELL);
      const near = line.offsets.filter(
        (place, i) => i > 0 && place - line.offsets[i - 1] < line.cell,
      );
      expect(near).toHaveLength(0);
    }
  });

  test.each(GRIDS)("finds the block of %s under its cell, and nothing in gaps", (_, axes) => {
    const grid = laid(axes);
    for (let block = 0; block < grid.blocks; block += Math.ceil(grid.blocks / 50)) {
      const x = grid.columns.offsets[grid.column[block]] + grid.columns.cell / 2;
      const y = grid.rows.offsets[grid.row[block]] + grid.rows.cell / 2;
      expect(blockAt(grid, x, y)).toBe(block);
    }
    expect(blockAt(grid, -1, 0)).toBe(-1);
    expect(blockAt(grid, grid.columns.length + 1, 0)).toBe(-1);
  });

  test("the last axis runs along x, and chosen axes lie innermost", () => {
    const axes = [axis(2), axis(3), axis(4)];
    const usual = laid(axes);
    expect(usual.column[1] - usual.column[0]).toBe(1);
    const turned = layout(axes, placementWith(axes, 0, 2), space);
    expect(turned.column[12] - turned.column[0]).toBe(1);
    expect(turned.row[1] - turned.row[0]).toBe(1);
  });

  test("blocks of a cluster touch, clusters do not", () => {
    const axes = [axis(3), axis(2, true)];
    const { columns } = laid(axes);
    expect(columns.offsets[1] - columns.offsets[0]).toBe(columns.cell);
    expect(columns.offsets[2] - columns.offsets[1]).toBeGreaterThan(columns.cell);
  });

  test("a long line is broken into rows that fit", () => {
    const grid = laid([axis(1000)]);
    expect(grid.wrapped).toBeGreaterThan(0);
    expect(grid.columns.length).toBeLessThanOrEqual(space.width);
    expect(grid.rows.length).toBeLessThanOrEqual(space.height);
    expect(laid([axis(5)]).wrapped).toBe(0);
  });

  test("arrows move to the neighbor and stop at the edge", () => {
    const grid = laid([axis(2), axis(3)]);
    expect(neighbor(grid, 0, 1, 0)).toBe(1);
    expect(neighbor(grid, 0, 0, 1)).toBe(3);
    expect(neighbor(grid, 2, 1, 0)).toBe(2);
    expect(neighbor(grid, -1, 1, 0)).toBe(0);
    const broken = laid([axis(1000)]);
    expect(neighbor(broken, 999, 1, 0)).toBe(999);
  });

  test.each(GRIDS)("labels of %s keep their distance", (_, axes) => {
    const grid = laid(axes);
    for (const line of [grid.columns, grid.rows]) {
      const labels = labelsOf(line, grid.axes, 20);
      for (const level of new Set(labels.map((one) => one.level))) {
        const places = labels.filter((one) => one.level === level).map((one) => one.place);
        for (let i = 1; i < places.length; i++)
          expect(places[i] - places[i - 1]).toBeGreaterThanOrEqual(20);
      }
    }
  });
});

describe("devices that reach each other", () => {
  test("are the outer axis of one picture", async () => {
    const model = await modelOf("neighbors");
    expect(model.launches[0].mesh).toEqual([2]);
    expect(siblings(model.launches, 0)).toEqual([0]);
    expect(axesOf(model.launches[0]).map((axis) => [axis.name, axis.size])).toEqual([
      ["d", 2],
      ["", 2],
    ]);
    const names = Array.from({ length: model.threads.count }, (_, t) => model.threads.name(t));
    expect(names.filter((name) => name.startsWith("core"))).toEqual([
      "core 0 on device 0",
      "core 0 on device 1",
    ]);
  });
});

describe("devices", () => {
  test("the launches of a mesh stand side by side without overlap", async () => {
    const model = await modelOf("devices");
    expect(siblings(model.launches, 0)).toEqual([0, 1]);
    expect(siblings(model.launches, 1)).toEqual([0, 1]);
    const given = model.launches.map((one) => ({
      number: one.number,
      title: "device",
      axes: axesOf(one),
    }));
    const { facets } = arrange(given, null, 500, 200);
    expect(facets).toHaveLength(2);
    expect(facets[1].x).toBeGreaterThan(facets[0].x + facets[0].grid.columns.length);
  });

  test("launches one after another do not", async () => {
    const model = await modelOf("launches");
    expect(siblings(model.launches, 1)).toEqual([1]);
  });
});

describe("the states of blocks", () => {
  test.each(CASES)("%s: nothing has begun at 0, nothing runs at the end", async (name) => {
    const model = await modelOf(name);
    for (const { number, lastEvent, firstEvent } of model.launches) {
      const facts = factsOf(model, number);
      for (const state of statesAt(model, facts, firstEvent))
        expect([STATE.idle, UNRECORDED]).toContain(state);
      for (const state of statesAt(model, facts, lastEvent)) {
        expect([STATE.idle, STATE.running]).not.toContain(state);
      }
    }
  });

  test.each(CASES)("%s: a block whose worker sleeps alone waits", async (name) => {
    const model = await modelOf(name);
    let seen = 0;
    for (let cursor = 1; cursor <= model.count; cursor++) {
      const event = cursor - 1;
      const launch = model.launchOf(event);
      const block = model.events.block[event];
      if (model.events.kind[event] !== Kind.BLOCK || block < 0) continue;
      const facts = factsOf(model, launch);
      if (cursor > facts.faulty[block] && facts.worst[block] >= 2) continue;
      const others = [...facts.workers.of(block)].filter((t) => t !== model.events.thread[event]);
      if (others.some((t) => model.lastOfThread(t, cursor) >= 0)) continue;
      expect(statesAt(model, facts, cursor)[block]).toBe(STATE.waiting);
      seen++;
    }
    if (name === "ring" || name === "copy_compute_copy") expect(seen).toBeGreaterThan(0);
  });

  test.each(CASES)("%s: a core works on the grid point that it entered last", async (name) => {
    const model = await modelOf(name);
    for (const { number, lastEvent } of model.launches) {
      const facts = factsOf(model, number);
      if (facts.cores.length !== 1) continue;
      const [core] = facts.cores;
      const entries = [...model.eventsOfThread(core)].filter(
        (event) => model.events.kind[event] === Kind.GRID && model.events.block[event] >= 0,
      );
      for (const [i, event] of entries.entries()) {
        const until = entries[i + 1] ?? lastEvent;
        for (const cursor of new Set([event + 1, until])) {
          const states = statesAt(model, facts, cursor);
          const running = [...states.keys()].filter((one) => states[one] === STATE.running);
          const here = model.events.block[event];
          expect(running.filter((one) => one !== here)).toEqual([]);
        }
      }
    }
  });

  test("only a refusal that stops JAX makes blocks abort", async () => {
    const model = await modelOf("deadlock");
    const [deadlock] = model.findings;
    const hang = {
      ...deadlock,
      name: "hang",
      code: "PD320",
      refusal: true,
      events: [],
      severity: "info",
    };
    (model.findings as unknown[]).push(hang, { ...deadlock, name: "race", severity: "error" });
    model.blocks.worst.fill(4);
    expect(Math.max(...factsOf(model, 0).worst)).toBe(3);
    const other = await modelOf("deadlock");
    (other.findings as unknown[]).push({ ...hang, severity: "error" });
    other.blocks.worst.fill(4);
    expect(Math.max(...factsOf(other, 0).worst)).toBe(4);
  });

  test("a deadlocked block waits, and at the end for ever; it is not faulty", async () => {
    const model = await modelOf("deadlock");
    const facts = factsOf(model, 0);
    const states = Array.from(
      { length: model.count + 1 },
      (_, cursor) => statesAt(model, facts, cursor)[0],
    );
    expect(states.at(-1)).toBe(STATE.stuck);
    expect(states).toContain(STATE.running);
    expect(states).not.toContain(STATE.fault);
    const turns = states.indexOf(STATE.stuck);
    expect(new Set(states.slice(turns))).toEqual(new Set([STATE.stuck]));
  });

  test("another fault of a deadlocked block still shows from its event on", async () => {
    const model = await modelOf("deadlock");
    const [deadlock] = model.findings;
    const event = model.blocks.first[0] + 2;
    const race = { ...deadlock, name: "race", severity: "error", events: [event] };
    (model.findings as unknown[]).push(race);
    const facts = factsOf(model, 0);
    expect(statesAt(model, facts, event)[0]).not.toBe(STATE.fault);
    expect(statesAt(model, facts, event + 1)[0]).toBe(STATE.fault);
    expect(statesAt(model, facts, model.count)[0]).toBe(STATE.fault);
  });
});

describe("the use of a buffer", () => {
  test.each(CASES)("%s: counts agree with the columns", async (name) => {
    const model = await modelOf(name);
    const { kind, block, region } = model.events;
    for (let buffer = 0; buffer < model.buffers.count; buffer++) {
      for (const { number } of model.launches) {
        const found = coverageOf(model, number, buffer, null);
        let accesses = 0;
        for (const event of model.eventsOfBuffer(buffer)) {
          const use =
            kind[event] === Kind.READ || kind[event] === Kind.WRITE || kind[event] === Kind.UPDATE;
          if (use && block[event] >= 0 && region[event] >= 0 && model.launchOf(event) === number)
            accesses++;
        }
        expect(found.accesses.reduce((a, b) => a + b, 0)).toBe(accesses);
        expect(found.how.filter((use) => use > 0).length).toBe(
          found.accesses.filter((n) => n > 0).length,
        );
      }
    }
  });

  test("an element is used by the blocks whose regions have it", async () => {
    const model = await modelOf("elementwise");
    const { buffers, launches } = model;
    const out = Array.from({ length: buffers.count }, (_, b) => b).find(
      (b) => buffers.role(b) === "output",
    )!;
    const whole = coverageOf(model, 0, out, null);
    expect(whole.writers).toBe(launches[0].blocks);
    const one = coverageOf(
      model,
      0,
      out,
      buffers.shape(out).map(() => 0),
    );
    expect(one.writers).toBe(1);
    expect(one.how[0] & 2).toBe(2);
  });
});

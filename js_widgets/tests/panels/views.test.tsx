import { afterEach, describe, expect, test } from "vitest";
import { GridView } from "../../src/panels/grid/view";
import { MemoryView } from "../../src/panels/memory/view";
import { frameOf, HEAD } from "../../src/panels/threads/frame";
import { gestures, hit } from "../../src/panels/threads/gestures";
import { arrowsOf, paintOverlay } from "../../src/panels/threads/overlay";
import { ThreadsView } from "../../src/panels/threads/view";
import { label } from "../../src/panels/threads/words";
import { Kind } from "../../src/schema.gen";
import { App } from "../../src/ui/store";
import type { Theme } from "../../src/ui/theme";
import { type Page, pageOf } from "../app";
import { CASES, modelOf } from "../golden";

const theme = { dark: false, series: [] } as unknown as Theme;
const appOf = async (name: string, state = {}) => new App(await modelOf(name), state, theme);
const FRAME = frameOf(1000, 300, true);

describe("the grid", () => {
  test("selects with the arrows, jumps with a second choice, says what is there", async () => {
    const app = await appOf("elementwise");
    const view = new GridView(app);
    view.size.value = { width: 400, height: 300 };
    view.select({ launch: 0, block: 0 });
    expect(app.cursor.value).toBe(0);
    view.move(1, 0);
    expect(app.block.value).toBe(1);
    view.move(0, 1);
    expect(app.block.value).toBe(4);
    expect(app.notice.value).toMatch(/^block \(1, 1\): not started/);
    view.enter({ launch: 0, block: 4 });
    expect(app.model.events.block[app.event]).toBe(4);
    expect(app.model.eventsOfBlock(0, 4)[0]).toBe(app.event);
    expect(view.label).toMatch(/^Grid of 2 × 3 blocks/);
  });

  test("finds under the pointer what it has drawn", async () => {
    const view = new GridView(await appOf("elementwise"));
    view.size.value = { width: 400, height: 300 };
    const { facets } = view.picture.value;
    const { grid, x, y } = facets[0];
    for (let block = 0; block < grid.blocks; block++) {
      const place = [
        x + grid.columns.offsets[grid.column[block]] + 1,
        y + grid.rows.offsets[grid.row[block]] + 1,
      ];
      expect(view.at(place[0], place[1])).toEqual({ launch: 0, block });
    }
    expect(view.at(0, 0)).toBeNull();
  });

  test("cannot show the use of no buffer", async () => {
    const app = await appOf("elementwise", { grid: { color: "coverage" } });
    const view = new GridView(app);
    app.focus({ buffer: -1 });
    expect(view.color).toBe("state");
    app.focus({ buffer: 0 });
    expect(view.color).toBe("coverage");
    expect(view.keys.length).toBeGreaterThan(0);
    expect(view.words({ launch: 0, block: 0 })).toMatch(/(reads|writes|does not touch)/);
  });

  test("states follow the cursor", async () => {
    const app = await appOf("elementwise");
    const view = new GridView(app);
    const before = view.states.value[0].join();
    app.moveTo(app.model.count);
    expect(view.states.value[0].join()).not.toBe(before);
  });
});

describe("the threads", () => {
  test.each(CASES)("%s: every event has a lane and is found under its own place", async (name) => {
    const app = await appOf(name, { timeline: { axis: "event" } });
    const view = new ThreadsView(app);
    const { events, count } = app.model;
    for (let event = 0; event < count; event++) {
      app.jump(event);
      const lane = view.laneOf(events.thread[event]);
      expect(lane).toBeGreaterThanOrEqual(0);
      const found = hit(view, FRAME, view.xOf(event, FRAME), view.yOf(lane));
      const at = found?.event ?? -1;
      expect(Math.abs(view.xOf(at, FRAME) - view.xOf(event, FRAME))).toBeLessThanOrEqual(7.5);
      expect(view.laneOf(events.thread[at])).toBe(lane);
    }
  });

  test("a click jumps to the event under it, one on a name only selects the thread", async () => {
    const app = await appOf("hopper_matmul");
    const view = new ThreadsView(app);
    const hands = gestures(view, { current: FRAME });
    const press = (x: number, y: number) => {
      const event = { button: 0, buttons: 0 } as PointerEvent;
      hands.onDown?.({ x, y, event });
      hands.onUp?.({ x, y, event });
      hands.onClick?.({ x, y, event });
    };
    const event = app.model.eventsOfThread(view.crew.value.workers[1])[3];
    const y = view.yOf(view.laneOf(app.model.events.thread[event]));
    const reached = new Set<number>();
    for (let i = 0; i < 4; i++) {
      press(view.xOf(event, FRAME), y);
      reached.add(app.event);
      expect(app.model.events.step[app.event]).toBe(app.model.events.step[event]);
    }
    expect(reached).toContain(event);
    app.jump(event);
    const other = view.crew.value.workers[2];
    press(60, view.yOf(view.laneOf(other)));
    expect(app.thread.value).toBe(other);
    expect(app.event).toBe(event);
  });

  test("a drag pans and does not click", async () => {
    const app = await appOf("hopper_matmul");
    const view = new ThreadsView(app);
    view.zoom(0.25, view.axis.value.low + 40);
    const { x0 } = view.window.value;
    const hands = gestures(view, { current: FRAME });
    const at = (x: number, buttons: number) => ({
      x,
      y: 80,
      event: {
        button: 0,
        buttons,
        currentTarget: document.body,
        pointerId: 1,
      } as unknown as PointerEvent,
    });
    hands.onDown?.(at(400, 1));
    hands.onMove?.(at(300, 1));
    hands.onUp?.(at(300, 0));
    hands.onClick?.(at(300, 0));
    expect(view.window.value.x0).toBeGreaterThan(x0);
    expect(app.cursor.value).toBe(0);
  });

  test("the cursor stays in sight; a window of another launch is not kept", async () => {
    const app = await appOf("launches", { timeline: { launch: 0, x0: 0, x1: 8 } });
    const view = new ThreadsView(app);
    view.viewport = 200;
    const shown = () => view.xOf(app.event, FRAME);
    for (let cursor = 1; cursor <= app.model.count; cursor++) {
      app.moveTo(cursor);
      view.reveal();
      expect(shown()).toBeGreaterThanOrEqual(FRAME.left - 1);
      expect(shown()).toBeLessThanOrEqual(FRAME.right + 1);
      const y = view.yOf(view.laneOf(app.thread.value));
      expect(y).toBeGreaterThanOrEqual(HEAD);
      expect(y).toBeLessThanOrEqual(200);
    }
  });

  test("rows of agents open and close without losing a lane", async () => {
    const app = await appOf("hopper_matmul");
    const view = new ThreadsView(app);
    const worker = [...view.crew.value.workers].find((t) => view.hasAgents(t))!;
    const open = view.isOpen(worker);
    const lanes = view.lanes.value.list.length;
    view.toggle(worker);
    expect(view.isOpen(worker)).toBe(!open);
    expect(view.lanes.value.list.length).not.toBe(lanes);
    view.toggle(worker);
    expect(view.lanes.value.list.length).toBe(lanes);
  });

  test("a wait that is over shows who ended it", async () => {
    const app = await appOf("ring");
    const view = new ThreadsView(app);
    const { kind } = app.model.events;
    const waits = Array.from({ length: app.model.count }, (_, e) => e).filter(
      (e) => kind[e] === Kind.WAIT,
    );
    expect(waits.length).toBeGreaterThan(0);
    for (const event of waits) {
      const sources = arrowsOf(view, event).filter(
        (one) => app.model.edges.dst[one.edge] === event,
      );
      expect(sources.length).toBe(app.model.edgesAt(event, "dst").length);
    }
    app.jump(waits[0]);
    expect(label(view)).toContain(app.model.what(waits[0]));
  });

  test("arrows from lanes far out of sight are no longer than the picture needs", async () => {
    const app = await appOf("ring");
    const view = new ThreadsView(app);
    const { kind } = app.model.events;
    app.jump(kind.indexOf(Kind.WAIT));
    const heights: number[] = [];
    const context = new Proxy({} as Record<string, unknown>, {
      get: (known, name: string) =>
        known[name] ??
        ((...args: number[]) => {
          if (name === "bezierCurveTo") heights.push(args[1], args[3], args[5]);
          return { width: 10 };
        }),
    });
    const drawn = () => {
      heights.length = 0;
      paintOverlay(context as unknown as CanvasRenderingContext2D, view, FRAME);
      return heights;
    };
    expect(drawn().length).toBeGreaterThan(0);
    for (const scroll of [-1e6, 1e6]) {
      view.scroll.value = scroll;
      for (const y of drawn()) expect(Math.abs(y)).toBeLessThanOrEqual(2 * FRAME.height);
    }
  });
});

describe("the memory", () => {
  test.each(CASES)("%s: the element's words name its value and its last writer", async (name) => {
    const app = await appOf(name);
    const view = new MemoryView(app);
    for (let cursor = 1; cursor <= app.model.count; cursor += 2) {
      app.moveTo(cursor);
      const buffer = app.buffer.value;
      if (buffer < 0 || app.model.buffers.isSync(buffer) || !view.sheet.value) continue;
      const place = view.elementAt(0, 0);
      if (!place) continue;
      expect(view.cellOf(place)).toEqual([0, 0]);
      const event = view.writerOf(place);
      expect(event).toBeLessThan(cursor);
      expect(view.words(place)).toContain(
        event >= 0 ? `last write: #${event}` : "not written so far",
      );
    }
  });

  test.each(CASES)("%s: a window that a block uses is in the block's list", async (name) => {
    const { model } = await appOf(name);
    const view = new MemoryView(await appOf(name));
    const { kind, object, block } = model.events;
    for (let event = 0; event < model.count; event++) {
      if (kind[event] !== Kind.READ && kind[event] !== Kind.WRITE) continue;
      if (block[event] < 0 || model.buffers.role(object[event]) !== "window") continue;
      const launch = model.buffers.launch[object[event]];
      expect(view.listed(launch, block[event])).toContain(object[event]);
    }
  });

  test.each(CASES)("%s: no buffer of an event in no block is left out", async (name) => {
    const app = await appOf(name);
    const { model } = app;
    const view = new MemoryView(app);
    const { kind, block } = model.events;
    for (let event = 0; event < model.count; event++) {
      const buffer = model.bufferOf(event);
      if (block[event] >= 0 || buffer < 0 || kind[event] === Kind.SPAWN) continue;
      expect(view.listed(model.launchOf(event), -1)).toContain(buffer);
    }
  });

  test("in no block those of all blocks are few, or counted", async () => {
    const app = await appOf("elementwise");
    const view = new MemoryView(app);
    const { block, count } = app.model.buffers;
    const listed = [...view.listed(0, -1)];
    expect(listed.map((buffer) => block[buffer])).toEqual([-1, -1]);
    expect(view.unlisted(0, -1)).toBe(count - listed.length);
    expect(view.unlisted(0, 0)).toBe(0);
    view.set({ every: true });
    expect(view.listed(0, -1)).toHaveLength(count);
    expect(view.unlisted(0, -1)).toBe(0);
    const small = new MemoryView(await appOf("copy_compute_copy"));
    expect(small.listed(0, -1)).toHaveLength(small.app.model.buffers.count);
    expect(small.unlisted(0, -1)).toBe(0);
  });

  test.each(CASES)("%s: the threads of a block are those that say so", async (name) => {
    const { model } = await appOf(name);
    const { threads } = model;
    for (const { number, blocks } of model.launches)
      for (let block = -1; block < blocks; block++) {
        const all = Array.from({ length: threads.count }, (_, t) => t);
        expect([...model.threadsOfBlock(number, block)]).toEqual(
          all.filter((t) => threads.launch[t] === number && threads.block[t] === block),
        );
      }
  });

  test("what the first steps ask for is made ahead: no step walks all threads or edges", async () => {
    const { model } = await appOf("hopper_matmul");
    for (const make of model.ahead()) make();
    const walked: string[] = [];
    for (const [name, table] of Object.entries({ threads: model.threads, edges: model.edges }))
      Object.defineProperty(table, "count", {
        get: () => {
          walked.push(name);
          return 0;
        },
      });
    model.threadsOfBlock(0, 1);
    model.edgesAt(5, "src");
    model.edgesAt(5, "dst");
    expect(walked).toEqual([]);
  });

  test.each(CASES)("%s: all buffers of all launches are listed once", async (name) => {
    const { model } = await appOf(name);
    const view = new MemoryView(await appOf(name, { memory: { every: true } }));
    const all = model.launches.flatMap((_, launch) => [...view.listed(launch, -1)]);
    expect(all.sort((a, b) => a - b)).toEqual(
      Array.from({ length: model.buffers.count }, (_, b) => b),
    );
  });

  test("the current access is that of the selected buffer only", async () => {
    const app = await appOf("elementwise");
    const view = new MemoryView(app);
    const { kind } = app.model.events;
    const write = Array.from({ length: app.model.count }, (_, e) => e).find(
      (e) => kind[e] === Kind.WRITE,
    )!;
    app.jump(write);
    expect(view.access?.how).toBe("write");
    const other = Array.from({ length: app.model.buffers.count }, (_, b) => b).find(
      (b) => app.model.buffers.root[b] !== app.model.buffers.root[app.buffer.value],
    )!;
    app.focus({ buffer: other });
    expect(view.access).toBeNull();
  });
});

describe("the panels in a page", () => {
  let page: Page | undefined;
  afterEach(() => page?.dispose());

  test("the legend of the memory shows the lines of what is not set", async () => {
    page = await pageOf("elementwise");
    const { model } = page.app;
    let buffer = 0;
    while (model.buffers.role(buffer) !== "output") buffer++;
    page.app.moveTo(1);
    page.app.focus({ buffer });
    await page.settle();
    const keys = [...page.root.querySelectorAll<HTMLElement>(".pd-legend-key")];
    const key = keys.find((one) => one.textContent?.includes("uninitialized"));
    expect(key?.querySelector(".pd-swatch")?.getAttribute("style")).toContain("gradient(135deg");
  });

  test("the list of no block ends with how many there are in blocks, which opens them", async () => {
    page = await pageOf("elementwise");
    const { app, root, settle } = page;
    app.moveTo(1);
    expect(app.block.value).toBe(-1);
    await settle();
    const rows = () => [...root.querySelectorAll(".pd-buffers [role=option]")];
    expect(rows().map((row) => row.textContent)).toEqual([
      expect.stringMatching(/^xfloat/),
      expect.stringMatching(/^yfloat/),
    ]);
    const more = root.querySelector<HTMLButtonElement>("button.pd-buffers-more")!;
    expect(more.textContent).toBe("12 more in blocks: show all");
    more.focus();
    await page.click("button.pd-buffers-more");
    expect(rows()).toHaveLength(app.model.buffers.count);
    expect(rows().at(-1)?.textContent).toMatch(/^w \(1, 2\)/);
    expect(root.querySelector(".pd-buffers-more")).toBeNull();
    expect(root.activeElement).toBe(root.querySelector(".pd-buffers"));
    expect(root.querySelector<HTMLInputElement>(".pd-check input")?.checked).toBe(true);
  });

  test("the legend of the grid shows the marks of the cells", async () => {
    page = await pageOf("hopper_matmul", { cursor: 60, panel: { bottom: "grid" } });
    await page.settle();
    const keys = [...page.root.querySelectorAll<HTMLElement>(".pd-legend-key")];
    const key = keys.find((one) => one.textContent?.includes("running"));
    expect(key?.querySelector(".pd-swatch")?.textContent).toBe("▸");
  });

  test.each(["grid", "threads", "memory"])(
    "%s mounts and has a text for those who cannot see it",
    async (id) => {
      page = await pageOf("hopper_matmul", {
        cursor: 60,
        panel: { bottom: id, left: id, right: id },
      });
      const tab = [...page.root.querySelectorAll<HTMLElement>("[role=tab]")].find((one) =>
        one.textContent?.toLowerCase().startsWith(id),
      );
      tab?.click();
      await page.settle();
      const labels = [...page.root.querySelectorAll("canvas, [role=listbox]")].map((one) =>
        one.getAttribute("aria-label"),
      );
      expect(labels.join(" ")).toMatch(
        { grid: /Grid of/, threads: /threads of/, memory: /(Buffers;|float|phase)/ }[id]!,
      );
    },
  );
});

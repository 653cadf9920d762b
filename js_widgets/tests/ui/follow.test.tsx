/** Panels that follow the position: in order, in time, and to what a fresh page shows. */

import { options } from "preact";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Followers } from "../../src/ui/follow";
import { App, type ViewState } from "../../src/ui/store";
import type { Theme } from "../../src/ui/theme";
import { type Page, pageOf } from "../app";
import { modelOf } from "../golden";

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

const appOf = async (name: string) => new App(await modelOf(name), { cursor: 0 }, {} as Theme);
const rendered = async () => {
  for (let i = 0; i < 20; i++) await null;
};

/** Time that passes with what panels do, and frames that come when they are called. */
function slowly(followers: Followers, count: number, each: number) {
  let time = 0;
  let waiting: (() => void)[] = [];
  vi.spyOn(performance, "now").mockImplementation(() => time);
  vi.stubGlobal("requestAnimationFrame", (f: () => void) => waiting.push(f));
  const stops = Array.from({ length: count }, (_, i) =>
    followers.of(i).cursor.subscribe(() => {
      time += each;
    }),
  );
  return {
    async frame() {
      for (const one of waiting.splice(0)) one();
      await rendered();
    },
    stop() {
      for (const one of stops) one();
      waiting = [];
    },
  };
}

describe("followers", () => {
  const shown = (followers: Followers) => [0, 1, 2].map((i) => followers.of(i).cursor.value);

  it("are there at once where there is time", async () => {
    const app = await appOf("dma");
    const followers = new Followers(app, 3);
    const { stop } = slowly(followers, 3, 0.1);
    app.moveTo(5);
    await rendered();
    expect(shown(followers)).toEqual([5, 5, 5]);
    expect(app.isBehind.value).toBe(false);
    stop();
  });

  it("come one per picture where each takes long, the latest step only", async () => {
    const app = await appOf("dma");
    const followers = new Followers(app, 3);
    const { frame, stop } = slowly(followers, 3, 10);
    app.moveTo(5);
    await rendered();
    expect(shown(followers)).toEqual([5, 0, 0]);
    expect(app.isBehind.value).toBe(true);
    // The picture that shows this.
    await frame();
    expect(shown(followers)).toEqual([5, 0, 0]);
    await frame();
    expect(shown(followers)).toEqual([5, 5, 0]);
    app.moveTo(7);
    await frame();
    expect(shown(followers)).toEqual([5, 5, 7]);
    await frame();
    expect(shown(followers)).toEqual([7, 5, 7]);
    await frame();
    expect(shown(followers)).toEqual([7, 7, 7]);
    expect(app.isBehind.value).toBe(false);
    // They are known to take long by now: none is done with the step itself.
    app.moveTo(9);
    await rendered();
    expect(shown(followers)).toEqual([7, 7, 7]);
    stop();
  });

  it("see one position, never parts of two", async () => {
    const app = await appOf("copy_compute_copy");
    const followers = new Followers(app, 1);
    const one = followers.of(0);
    const { frame, stop } = slowly(followers, 1, 10);
    for (const cursor of [40, 3, 60, 20]) {
      app.moveTo(cursor);
      await rendered();
      for (let i = 0; i < 2 && one.cursor.value !== cursor; i++) await frame();
      const event = one.event;
      expect(one.cursor.value).toBe(cursor);
      expect(one.thread.value).toBe(app.model.events.thread[event]);
      expect(one.block.value).toBe(app.model.events.block[event]);
    }
    stop();
  });

  it("lead where they are acted upon", async () => {
    const app = await appOf("dma");
    const followers = new Followers(app, 2);
    const { stop } = slowly(followers, 2, 10);
    const one = followers.of(1);
    one.jump(6);
    expect([one.cursor.value, app.cursor.value, followers.of(0).cursor.value]).toEqual([7, 7, 0]);
    one.element.value = [1, 2];
    expect([one.element.value, app.element.value]).toEqual([
      [1, 2],
      [1, 2],
    ]);
    stop();
  });

  it("share all but the position, and stop", async () => {
    const app = await appOf("dma");
    const followers = new Followers(app, 1);
    const one = followers.of(0);
    one.filter.value = 'kind="read"';
    expect(app.filter.value).toBe('kind="read"');
    expect(one.slice("grid", { color: "state" })).toBe(app.slice("grid", { color: "" }));
    expect(one.model).toBe(app.model);
    followers.dispose();
    app.moveTo(4);
    await rendered();
    expect(one.cursor.value).toBe(0);
  });

  it("go from run to run with their model", async () => {
    const app = await appOf("dma");
    const followers = new Followers(app, 1);
    const other = await modelOf("elementwise");
    const { stop } = slowly(followers, 1, 0);
    app.addRun({ number: 1, label: "what if", model: other });
    app.showRun(1, 3);
    await rendered();
    expect(followers.of(0).model).toBe(other);
    expect(followers.of(0).cursor.value).toBe(3);
    stop();
  });

  it("are followed in turn by parts of their panels", async () => {
    const app = await appOf("dma");
    const followers = new Followers(app, 1);
    const panel = followers.of(0);
    const part = new Followers(panel, 1, followers.pictures);
    const { frame, stop } = slowly(followers, 1, 10);
    const seen = () => [panel.cursor.value, part.of(0).cursor.value];
    app.moveTo(5);
    await rendered();
    expect(seen()).toEqual([5, 0]);
    expect(app.isBehind.value).toBe(true);
    for (let i = 0; i < 2; i++) await frame();
    expect(seen()).toEqual([5, 5]);
    expect(app.isBehind.value).toBe(false);
    part.of(0).jump(6);
    expect([app.cursor.value, ...seen()]).toEqual([7, 7, 7]);
    part.dispose();
    app.moveTo(3);
    for (let i = 0; i < 4; i++) await frame();
    expect(seen()).toEqual([3, 7]);
    stop();
  });
});

/** Random numbers that are the same every time. */
function chance(seed: number): (most: number) => number {
  let state = seed;
  return (most) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * most);
  };
}

/** An element in lines: attributes by name, for their order is the way that led there. */
function lines(element: Element): string[] {
  const said = [...element.attributes].filter((one) => one.name !== "id" || one.value);
  const attributes = said.map((one) => `${one.name}="${one.value}"`).sort();
  const inside = [...element.childNodes].flatMap((child) =>
    child instanceof Element ? lines(child) : [child.textContent ?? ""],
  );
  return [`<${element.localName} ${attributes.join(" ")}>`, ...inside.filter(Boolean)];
}

/** What a page shows: rows of lists by their place, and the rest; not what is hidden. */
function picture(root: ShadowRoot): { rest: string[]; rows: Map<string, string[]> } {
  const copy = root.querySelector(".pd-frame")!.cloneNode(true) as HTMLElement;
  for (const one of copy.querySelectorAll(".pd-covered, [hidden]")) one.remove();
  // What has changed since the picture before is another thing on a fresh page.
  for (const one of copy.querySelectorAll(".pd-legend-key"))
    if (one.textContent?.startsWith("◥")) one.remove();
  const rows = new Map<string, string[]>();
  for (const list of copy.querySelectorAll(".pd-virtual")) {
    for (const row of list.querySelectorAll<HTMLElement>(".pd-vrow"))
      rows.set(`${list.getAttribute("aria-label")} ${row.style.top}`, lines(row));
    // How far it is scrolled is the way that led there, too.
    list.querySelector(".pd-vspace")?.remove();
  }
  return { rest: lines(copy), rows };
}

const KEYS = ["ArrowRight", "ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp", "t", "b", "o"];
const LAYOUTS: Partial<ViewState>[] = [
  {},
  { panel: { order: ["threads", "variables"] } },
  { panel: { order: ["events"] } },
];

describe("a page after many steps", () => {
  const close = (page: Page) => page.dispose();

  it.each(["hopper_matmul", "dma", "launches"])(
    "of %s shows what a fresh one does",
    async (name) => {
      const random = chance(7);
      for (const layout of LAYOUTS) {
        const page = await pageOf(name, { cursor: 0, ...layout });
        for (let i = 0; i < 25; i++) {
          const { app } = page;
          if (random(3) === 0) app.moveTo(random(app.model.count + 1));
          else {
            const key = KEYS[random(KEYS.length)];
            const target = page.root.querySelector(".pd-frame")!;
            target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
          }
          // Some steps come before all panels show the one before.
          if (random(4) === 0) await page.settle();
        }
        page.app.notice.value = "";
        await page.settle();
        await page.settle();
        const fresh = await pageOf(name, page.app.viewState);
        await fresh.settle();
        const [after, anew] = [picture(page.root), picture(fresh.root)];
        expect(after.rest).toEqual(anew.rest);
        const both = [...anew.rows.keys()].filter((key) => after.rows.has(key));
        expect(both.length).toBeGreaterThan(5);
        for (const key of both) expect(after.rows.get(key)).toEqual(anew.rows.get(key));
        close(page);
        close(fresh);
      }
    },
    60_000,
  );

  it("leaves the choices alone that do not change", async () => {
    // A number is never what a field says: it would be set at each step, and browsers then look
    // at the whole form again.
    const numbers: unknown[] = [];
    const { vnode: before } = options;
    options.vnode = (made) => {
      const props = made.props as { value?: unknown };
      const isField = ["select", "option", "input"].includes(String(made.type));
      if (isField && typeof props.value === "number") numbers.push(props);
      before?.(made);
    };
    for (const name of ["hopper_matmul", "launches"]) {
      const page = await pageOf(name, { cursor: 10, panel: { order: ["variables"] } });
      for (let i = 0; i < 6; i++) await page.press("ArrowRight");
      close(page);
    }
    options.vnode = before;
    expect(numbers).toEqual([]);
  });
});

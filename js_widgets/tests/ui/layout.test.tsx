/** Docks, tabs, borders and the view state that remembers them. */

import { afterEach, describe, expect, it } from "vitest";
import { type Page, pageOf } from "../app";

let page: Page | undefined;
afterEach(() => {
  page?.dispose();
  page = undefined;
});

const titles = (on: Page) =>
  [...on.root.querySelectorAll(".pd-dock")].map((dock) =>
    [...dock.querySelectorAll(".pd-tab")].map((tab) => (tab as HTMLElement).dataset.pdTab),
  );
const front = (on: Page) =>
  [...on.root.querySelectorAll<HTMLElement>('.pd-tab[aria-selected="true"]')].map(
    (tab) => tab.dataset.pdTab,
  );

function narrow(width: number): () => void {
  const before = Object.getOwnPropertyDescriptor(HTMLElement.prototype, "clientWidth")!;
  Object.defineProperty(HTMLElement.prototype, "clientWidth", {
    configurable: true,
    get: () => width,
  });
  return () => Object.defineProperty(HTMLElement.prototype, "clientWidth", before);
}

describe("the layout", () => {
  it("has four docks where there is room and two where not, with every panel once", async () => {
    page = await pageOf("past_the_end");
    expect(titles(page)).toHaveLength(4);
    const wide = titles(page).flat().sort();
    page.dispose();
    const restore = narrow(600);
    page = await pageOf("past_the_end");
    restore();
    expect(titles(page)).toHaveLength(2);
    expect(titles(page).flat().sort()).toEqual(wide);
  });

  it("brings a panel to the front by tab, key and number", async () => {
    page = await pageOf("past_the_end");
    await page.click('[data-pd-tab="variables"]');
    expect(front(page)).toContain("variables");
    await page.press("7");
    expect(front(page)).toContain("events");
    expect(front(page)).not.toContain("variables");
    const tabs = page.root.querySelector('[data-pd-tab="events"]')!;
    tabs.dispatchEvent(
      new KeyboardEvent("keydown", {
        key: "ArrowLeft",
        bubbles: true,
        composed: true,
        cancelable: true,
      }),
    );
    await page.settle();
    expect(front(page)).toContain("variables");
  });

  it("enlarges one panel and goes back", async () => {
    page = await pageOf("past_the_end");
    await page.click('[data-pd-tab="events"]');
    await page.press("z");
    expect(front(page)).toEqual(["events"]);
    await page.press("z");
    expect(titles(page)).toHaveLength(4);
  });

  it("moves borders by keys, within limits, and remembers them", async () => {
    page = await pageOf("past_the_end");
    const border = page.root.querySelector<HTMLElement>('.pd-split[aria-orientation="vertical"]')!;
    expect(border.getAttribute("aria-valuenow")).toBe("50");
    for (let i = 0; i < 30; i++) {
      border.dispatchEvent(
        new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true, cancelable: true }),
      );
      await page.settle();
    }
    expect(border.getAttribute("aria-valuenow")).toBe("88");
    expect(page.app.cursor.value).toBe(0);
    const { viewState } = page.app;
    page.dispose();
    page = await pageOf("past_the_end", JSON.parse(JSON.stringify(viewState)));
    const again = page.root.querySelector('.pd-split[aria-orientation="vertical"]');
    expect(again?.getAttribute("aria-valuenow")).toBe("88");
  });
});

describe("the view state", () => {
  it("comes back as it was, with what this viewer does not know", async () => {
    const state = {
      v: 1 as const,
      run: 0,
      cursor: 7,
      thread: 1,
      block: 0,
      buffer: 2,
      launch: 0,
      element: [1, 2],
      pins: { buffer: true },
      panel: { order: ["events"] },
      filter: 'kind="read"',
      breakpoints: [{ id: 4, where: "line=3", when: "", enabled: false, label: "x" }],
      source: { file: -1, at: -1, counts: true, listing: true },
      later: { unknown: [1] },
    };
    page = await pageOf("past_the_end", state);
    expect(page.app.viewState).toMatchObject(state);
    expect(JSON.parse(JSON.stringify(page.app.viewState))).toMatchObject(state);
  });

  it("keeps a cursor and a launch inside the trace", async () => {
    page = await pageOf("past_the_end", { cursor: 1e9, launch: 5 });
    expect(page.app.cursor.value).toBe(page.app.model.count);
    expect(page.app.launch.value).toBe(0);
  });

  it("publishes changes once things are quiet, and not its own start", async () => {
    page = await pageOf("past_the_end");
    const seen: number[] = [];
    const stop = page.app.watch((state) => seen.push(state.cursor), 10);
    await page.settle();
    expect(seen).toEqual([]);
    for (const cursor of [1, 2, 3]) page.app.moveTo(cursor);
    await page.settle();
    expect(seen).toEqual([3]);
    stop();
    page.app.moveTo(5);
    await page.settle();
    expect(seen).toEqual([3]);
  });
});

import { afterEach, describe, expect, it } from "vitest";
import { type Page, pageOf } from "../app";

let page: Page | undefined;
afterEach(() => {
  page?.dispose();
  page = undefined;
});

async function open(filter = "", cursor = 0): Promise<Page> {
  page = await pageOf("past_the_end", { filter, cursor });
  await page.click('[data-pd-tab="events"]');
  return page;
}

const rows = (on: Page) => [
  ...on.root.querySelectorAll<HTMLElement>(".pd-event:not(.pd-event-head)"),
];

describe("the events", () => {
  it("are filtered by the query language, and jumped to", async () => {
    const { root, app, text, settle } = await open('kind="write"');
    const { model } = app;
    expect(rows(page!).length).toBeGreaterThan(0);
    expect(rows(page!).every((row) => row.textContent?.includes("write"))).toBe(true);
    rows(page!)[0].click();
    await settle();
    expect(model.what(app.event)).toMatch(/^write/);
    expect(root.querySelector(".pd-event.pd-current")).not.toBeNull();
    expect(text(".pd-count")).toMatch(/\d+ events?/);
  });

  it("say what is wrong with a filter and keep the last good rows", async () => {
    const on = await open('kind="write"');
    const before = rows(on).length;
    on.app.filter.value = 'kind="write", buffr=3';
    await on.settle();
    expect(on.text(".pd-filter-error")).toMatch(/no condition "buffr"/);
    expect(rows(on)).toHaveLength(before);
    expect(on.root.querySelector(".pd-stale")).not.toBeNull();
  });

  it("are walked by keys", async () => {
    const on = await open('kind="write"', 0);
    const list = on.root.querySelector<HTMLElement>('.pd-virtual[role="grid"]')!;
    const press = async (key: string) => {
      list.dispatchEvent(
        new KeyboardEvent("keydown", { key, bubbles: true, composed: true, cancelable: true }),
      );
      await on.settle();
    };
    await press("ArrowDown");
    const first = on.app.event;
    await press("ArrowDown");
    expect(on.app.event).toBeGreaterThan(first);
    expect(on.app.model.what(on.app.event)).toMatch(/^write/);
    await press("ArrowUp");
    expect(on.app.event).toBe(first);
    await press("End");
    const last = on.app.event;
    await press("ArrowDown");
    expect(on.app.event).toBe(last);
  });

  it.each(["past_the_end", "hopper_matmul"])(
    "%s: name the file where there are several",
    async (name) => {
      page = await pageOf(name);
      await page.click('[data-pd-tab="events"]');
      const { model } = page.app;
      expect(model.hasFiles).toBe(name === "hopper_matmul");
      let known = 0;
      for (const row of rows(page)) {
        const [event, , , line] = [...row.children].map((cell) => cell.textContent ?? "");
        const number = Number(event.replaceAll(",", ""));
        if (!model.lineOf(number)) continue;
        known++;
        expect(line).toBe(model.hasFiles ? model.place(number) : `${model.lineOf(number)}`);
      }
      expect(known).toBeGreaterThan(5);
    },
  );

  it("say that nothing matches", async () => {
    const on = await open('kind="print"');
    expect(on.root.textContent).toContain("No event meets these conditions.");
  });
});

/** The frame: keys, buttons, position, help, breakpoints, errors. */

import { afterEach, describe, expect, it, vi } from "vitest";
import { commands } from "../../src/ui/commands";
import type { Host } from "../../src/ui/store";
import { type Page, pageOf } from "../app";
import { bytesOf, modelOf } from "../golden";

let page: Page | undefined;
afterEach(() => {
  page?.dispose();
  page = undefined;
});

describe("moving", () => {
  it("steps by keys and by buttons, and says where it is", async () => {
    page = await pageOf("past_the_end", { cursor: 3 });
    await page.press("ArrowRight");
    expect(page.app.cursor.value).toBe(4);
    await page.click('[data-pd="back"]');
    expect(page.app.cursor.value).toBe(3);
    expect(page.text('[data-pd="now"]')).toContain(page.app.model.what(2));
    const field = page.root.querySelector<HTMLInputElement>('[data-pd="position"]')!;
    expect(field.value).toBe("#2");
    await page.press("End");
    expect(page.app.cursor.value).toBe(page.app.model.count);
    await page.press("ArrowRight");
    expect(page.text('[data-pd="notice"]')).toBe("");
    await page.press("t");
    expect(page.text('[data-pd="notice"]')).toMatch(/^No later event of /);
  });

  it("counts every repeat of a held key and draws once a frame", async () => {
    page = await pageOf("past_the_end", { cursor: 3 });
    const now = page.root.querySelector('[data-pd="now"]')!;
    const seen: (string | null)[] = [];
    const observer = new MutationObserver(() => seen.push(now.textContent));
    observer.observe(now, { subtree: true, childList: true, characterData: true });
    const held = { key: "ArrowRight", bubbles: true, composed: true, repeat: true };
    for (let i = 0; i < 5; i++)
      page.root.querySelector(".pd-frame")!.dispatchEvent(new KeyboardEvent("keydown", held));
    await page.settle();
    await page.settle();
    observer.disconnect();
    expect(page.app.cursor.value).toBe(8);
    expect(seen).toHaveLength(1);
    expect(seen[0]).toContain(page.app.model.what(7));
  });

  it("takes a typed position, and refuses what is none", async () => {
    page = await pageOf("past_the_end");
    const field = page.root.querySelector<HTMLInputElement>('[data-pd="position"]')!;
    field.value = "1,000,000";
    field.dispatchEvent(new Event("change", { bubbles: true }));
    await page.settle();
    expect(page.app.cursor.value).toBe(page.app.model.count);
    field.value = "abc";
    field.dispatchEvent(new Event("change", { bubbles: true }));
    await page.settle();
    expect(page.app.cursor.value).toBe(page.app.model.count);
    expect(field.value).toBe(`#${page.app.model.count - 1}`);
    expect(page.text('[data-pd="notice"]')).toContain("no event number");
    field.value = "#8";
    field.dispatchEvent(new Event("change", { bubbles: true }));
    await page.settle();
    expect(page.app.event).toBe(8);
    await page.press("Home");
    expect(field.value).toBe("");
    expect(field.placeholder).toBe("before the first");
  });

  it("forgets what it said when the cursor moves", async () => {
    page = await pageOf("past_the_end", { cursor: 3 });
    page.app.notice.value = "Something.";
    page.app.jump(7);
    expect(page.app.notice.value).toBe("");
  });

  it("looks at one thread in all places", async () => {
    page = await pageOf("hopper_matmul", { cursor: 100 });
    await page.press("]");
    const { threads } = page.app.model;
    expect(page.app.thread.value).not.toBe(page.app.model.events.thread[99]);
    expect(page.text('[data-pd="now"]')).toContain(
      `looking at ${threads.name(page.app.thread.value)}`,
    );
    await page.press("ArrowRight");
    expect(page.text('[data-pd="now"]')).not.toContain("looking at");
  });

  it("leaves keys alone that are typed into a field", async () => {
    page = await pageOf("past_the_end", { cursor: 3 });
    const field = page.root.querySelector<HTMLInputElement>('[data-pd="position"]')!;
    field.dispatchEvent(new KeyboardEvent("keydown", { key: "n", bubbles: true, composed: true }));
    await page.settle();
    expect(page.app.cursor.value).toBe(3);
  });

  it("follows a finding with thread, block and buffer", async () => {
    page = await pageOf("past_the_end");
    await page.press("f");
    const [finding] = page.app.model.findings;
    expect(finding.events).toContain(page.app.event);
    expect(page.app.thread.value).toBe(page.app.model.events.thread[page.app.event]);
  });

  it("opens on the thread of the first event", async () => {
    page = await pageOf("hopper_matmul");
    expect(page.app.cursor.value).toBe(0);
    expect(page.app.thread.value).toBe(page.app.model.events.thread[0]);
  });
});

describe("the keys", () => {
  const focused = (on: Page) => (on.root as unknown as { activeElement: Element }).activeElement;

  it("stay with the viewer when a focused element goes away", async () => {
    page = await pageOf("past_the_end", { cursor: 3 });
    page.root.querySelector<HTMLElement>('[data-pd-tab="findings"]')!.focus();
    expect(focused(page).getAttribute("data-pd-tab")).toBe("findings");
    await page.press("z");
    expect(page.app.panel.value.zoomed).toBeTruthy();
    expect(page.root.contains(focused(page))).toBe(true);
    await page.press("Escape");
    expect(page.app.panel.value.zoomed).toBeNull();
    expect(page.root.contains(focused(page))).toBe(true);
  });

  it("go back to the frame from the position, and after a click on a tab", async () => {
    page = await pageOf("past_the_end", { cursor: 3 });
    const field = page.root.querySelector<HTMLInputElement>('[data-pd="position"]')!;
    field.focus();
    field.dispatchEvent(
      new KeyboardEvent("keydown", { key: "Enter", bubbles: true, composed: true }),
    );
    await page.settle();
    expect(focused(page).className).toBe("pd-frame");
    const tab = page.root.querySelector<HTMLElement>('[data-pd-tab="events"]')!;
    tab.focus();
    tab.dispatchEvent(new MouseEvent("click", { bubbles: true, detail: 1 }));
    await page.settle();
    expect(focused(page).className).toBe("pd-frame");
  });

  it("go back to the frame after a choice from a list", async () => {
    page = await pageOf("past_the_end", { cursor: 3 });
    const list = page.root.querySelector<HTMLSelectElement>("select")!;
    const say = (event: Event) => list.dispatchEvent(event);
    list.focus();
    say(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true, composed: true }));
    say(new Event("change", { bubbles: true }));
    expect(focused(page)).toBe(list); // by keys the choice may go on
    say(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, composed: true }));
    expect(focused(page).className).toBe("pd-frame");
    list.focus();
    say(new Event("pointerdown", { bubbles: true }));
    say(new Event("change", { bubbles: true }));
    expect(focused(page).className).toBe("pd-frame");
  });

  it("are listed with what the words mean", async () => {
    page = await pageOf("hopper_matmul");
    await page.press("?");
    expect(page.text(".pd-words")).toContain("its own clock");
    expect(page.root.querySelector(".pd-status")?.textContent).toContain("as on");
  });
});

describe("breakpoints", () => {
  it("stay where they are backwards without any, and say so", async () => {
    page = await pageOf("elementwise", { cursor: 9 });
    await page.press("C", { shiftKey: true });
    expect(page.app.cursor.value).toBe(9);
    expect(page.text('[data-pd="notice"]')).toContain("stayed here");
  });

  it("say that no recorded event meets them", async () => {
    page = await pageOf("elementwise");
    page.app.breakpoints.value = [
      { id: 1, where: "line=99999", when: "", enabled: true, label: "line 99999" },
    ];
    await page.settle();
    await page.press("c");
    expect(page.text('[data-pd="notice"]')).toBe("No recorded event on line 99999.");
    await page.press("Home");
    await page.click('[data-pd="breakpoints"]');
    expect(page.text(".pd-break-note")).toContain("No recorded event");
    expect(page.root.querySelectorAll(".pd-break .pd-field")).toHaveLength(1);
  });

  it("continues to the next match, backwards too, and to the ends", async () => {
    page = await pageOf("elementwise");
    const { model } = page.app;
    page.app.breakpoints.value = [
      { id: 1, where: 'kind="write"', when: "", enabled: true, label: "" },
    ];
    await page.press("c");
    const first = page.app.event;
    expect(model.what(first)).toMatch(/^write/);
    await page.press("c");
    expect(page.app.event).toBeGreaterThan(first);
    await page.press("C", { shiftKey: true });
    expect(page.app.event).toBe(first);
    page.app.breakpoints.value = page.app.breakpoints.value.map((one) => ({
      ...one,
      enabled: false,
    }));
    await page.press("c");
    expect(page.app.cursor.value).toBe(model.count);
    expect(page.text('[data-pd="notice"]')).toContain("No breakpoint");
  });

  it("says that a condition needs a kernel", async () => {
    page = await pageOf("elementwise");
    page.app.breakpoints.value = [
      { id: 1, where: 'kind="write"', when: "x > 1", enabled: true, label: "" },
    ];
    await page.press("c");
    expect(page.app.cursor.value).toBe(page.app.model.count);
    expect(page.text('[data-pd="notice"]')).toContain("need a kernel");
    await page.click('[data-pd="breakpoints"]');
    expect(page.text(".pd-break-note")).toContain("needs a live kernel");
  });

  it("asks the kernel where there is one", async () => {
    const request = vi.fn(async () => ({ content: { cursor: 7 }, buffers: [] }));
    page = await pageOf("elementwise", {}, { request } as Host);
    page.app.breakpoints.value = [{ id: 1, where: "", when: "x > 1", enabled: true, label: "" }];
    await page.press("c");
    expect(request).toHaveBeenCalledWith(
      "continue",
      expect.objectContaining({ cursor: 0, direction: 1 }),
    );
    expect(page.app.cursor.value).toBe(7);
  });

  it("shows what is wrong with a query", async () => {
    page = await pageOf("elementwise");
    page.app.breakpoints.value = [{ id: 1, where: "lin=3", when: "", enabled: true, label: "" }];
    await page.click('[data-pd="breakpoints"]');
    expect(page.text(".pd-break-note")).toMatch(/no condition "lin"; there are kind/);
  });
});

describe("help", () => {
  it("lists every command with its keys, filters and runs them", async () => {
    page = await pageOf("elementwise");
    await page.press("?");
    const offered = commands().all.filter((one) => !one.live);
    expect(page.root.querySelectorAll(".pd-commands button")).toHaveLength(offered.length);
    const field = page.root.querySelector<HTMLInputElement>("[data-first]")!;
    field.value = "one event further";
    field.dispatchEvent(new Event("input", { bubbles: true }));
    await page.settle();
    await page.click(".pd-commands button");
    expect(page.app.cursor.value).toBe(1);
    expect(page.app.overlay.value).toBeNull();
  });
});

describe("runs", () => {
  it("shows a tab per run and never mixes them", async () => {
    page = await pageOf("elementwise");
    expect(page.root.querySelector(".pd-runs")).toBeNull();
    page.app.showRun(1, 5);
    expect(page.app.run.value).toBe(0);
    page.app.addRun({ number: 1, label: "acc = 1 at #5", model: await modelOf("ring") });
    await page.settle();
    expect(page.app.run.value).toBe(1);
    expect(page.app.cursor.value).toBe(5);
    expect(page.text(".pd-runs")).toContain("acc = 1 at #5");
    await page.click(".pd-runs button");
    expect(page.app.run.value).toBe(0);
  });
});

describe("a bundle that cannot be shown", () => {
  const broken: [string, (bytes: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer>, RegExp][] = [
    ["is cut", (bytes) => bytes.slice(0, bytes.length - 200), /cut short/],
    [
      "is something else",
      () => new TextEncoder().encode("<html>not a trace</html>"),
      /no pallas_debug trace/,
    ],
    ["is empty", () => new Uint8Array(0), /no pallas_debug trace/],
    ["is newer", (bytes) => edited(bytes, /"format":1/, '"format":9'), /format 9/],
  ];
  it.each(broken)("%s", async (_, damage, message) => {
    page = await pageOf(damage(await plain("elementwise")));
    expect(page.app).toBeNull();
    expect(page.text('[role="alert"]')).toMatch(message);
  });

  it("is gzip that ends early", async () => {
    page = await pageOf(bytesOf("elementwise").slice(0, 900));
    expect(page.text('[role="alert"]')).toMatch(/cut short|damaged/);
  });
});

async function plain(name: string): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([bytesOf(name)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The same bundle with other text of the same length in its header. */
function edited(bytes: Uint8Array<ArrayBuffer>, from: RegExp, to: string): Uint8Array<ArrayBuffer> {
  const length = Number(new DataView(bytes.buffer).getBigUint64(0, true));
  const text = new TextDecoder().decode(bytes.subarray(8, 8 + length)).replace(from, to);
  const out = bytes.slice();
  out.set(new TextEncoder().encode(text), 8);
  return out;
}

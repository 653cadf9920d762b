import { afterEach, describe, expect, it, vi } from "vitest";
import { preview, summary, variables } from "../../src/panels/variables/values";
import type { Host } from "../../src/ui/store";
import { type Page, pageOf } from "../app";
import { modelOf } from "../golden";

let page: Page | undefined;
afterEach(() => {
  page?.dispose();
  page = undefined;
});

describe("values from the trace", () => {
  it("are those of the last read or write, the memory at that event", async () => {
    const model = await modelOf("elementwise");
    let checked = 0;
    for (let thread = 0; thread < model.threads.count; thread++) {
      for (const one of variables(model, thread, model.count)) {
        expect(model.events.thread[one.event]).toBe(thread);
        if (one.kind !== "written" || !one.values) continue;
        expect([...one.values]).toEqual([...(model.valueOf(one.event)?.values ?? [])]);
        checked++;
      }
    }
    expect(checked).toBeGreaterThan(0);
  });

  it("of a read equal the value that was there", async () => {
    const model = await modelOf("elementwise");
    const thread = Array.from({ length: model.threads.count }, (_, t) => t).find((t) =>
      variables(model, t, model.count).some((one) => one.kind === "read"),
    );
    const [one] = variables(model, thread ?? 0, model.count).filter((v) => v.kind === "read");
    const memory = model.memory(one.buffer, one.event);
    expect(one.values?.length).toBeGreaterThan(0);
    const there = new Set(memory?.values ?? []);
    for (const value of one.values ?? []) expect(there.has(value)).toBe(true);
  });

  it("of a write that was recorded without its values are none, not those before it", async () => {
    const model = await modelOf("elementwise");
    const writes = model.history(model.buffers.count - 1)?.events ?? [];
    const last = writes.at(-1) as number;
    const thread = model.events.thread[last];
    const written = () => variables(model, thread, last + 1).find((one) => one.event === last);
    const { shape, values } = written() ?? {};
    expect(values?.length).toBeGreaterThan(0);
    const without = await modelOf("elementwise");
    without.events.payload[last] = -1;
    const left = variables(without, thread, last + 1).find((one) => one.event === last);
    expect(left?.values).toBeNull();
    expect(left?.shape).toEqual(shape);
  });

  it("are summed up with NaN, infinity and what was never set", () => {
    const values = Float32Array.from([1, Number.NaN, Number.POSITIVE_INFINITY, 4, 0]);
    const unset = Uint8Array.from([0, 0, 0, 0, 1]);
    expect(summary(values, unset, "float32")).toBe("1 … 4, 1 NaN, 1 inf, 1 not set");
    expect(preview(values, unset, "float32", 3)).toBe("1 nan inf …");
    expect(preview(Float32Array.from([2.5]), null, "float32")).toBe("2.5");
  });
});

describe("the panel", () => {
  it("shows the block, the values and the clock", async () => {
    page = await pageOf("copy_compute_copy", { cursor: 30 });
    await page.click('[data-pd-tab="variables"]');
    const shown = page.text(".pd-variables");
    expect(shown).toContain(page.app.model.threads.name(page.app.thread.value));
    const last = page.app.model.lastOfThread(page.app.thread.value, 30);
    const clock = page.app.model.clocks?.at(last);
    expect(page.root.querySelectorAll(".pd-tick")).toHaveLength(clock?.size ?? -1);
  });

  it("asks a live kernel, marks changes and runs on with another value", async () => {
    const request = vi.fn(async (type: string) =>
      type === "variables"
        ? {
            content: {
              variables: [{ name: "acc", text: "1.5", shape: [], dtype: "float32", changed: true }],
            },
            buffers: [],
          }
        : { content: { run: 1, label: "acc = 2", cursor: 3 }, buffers: [] },
    );
    page = await pageOf("elementwise", { cursor: 8 }, { request } as Host);
    await page.click('[data-pd-tab="variables"]');
    await vi.waitFor(() => expect(page?.text(".pd-live")).toContain("acc"));
    expect(page.root.querySelector(".pd-live.pd-changed")).not.toBeNull();
    await page.click(".pd-live .pd-link");
    const field = page.root.querySelector<HTMLInputElement>(".pd-live input")!;
    field.value = "2";
    field.dispatchEvent(
      new KeyboardEvent("keydown", { key: "Enter", bubbles: true, composed: true }),
    );
    await page.settle();
    expect(request).toHaveBeenCalledWith(
      "divert",
      expect.objectContaining({ name: "acc", value: "2", at: 8 }),
    );
  });

  it("falls back to the trace where the kernel is gone", async () => {
    let error: Error = new Error("no answer from the kernel");
    const request = vi.fn(async () => {
      throw error;
    });
    page = await pageOf("elementwise", { cursor: 8 }, { request } as Host);
    await page.click('[data-pd-tab="variables"]');
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(page.text("[data-pd=why]")).toContain("No answer from the kernel. Below is what");
    expect(page.text(".pd-variables")).toContain("Values");
    const hint = { hint: "session.attach(fn, *args)" };
    error = Object.assign(new Error("`k` came from a file"), hint);
    await page.press("ArrowRight");
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(page.text("[data-pd=why]")).toContain("To see them: session.attach(fn, *args).");
  });

  it("says in a page without a kernel how to get the other variables", async () => {
    page = await pageOf("elementwise", { cursor: 8 });
    await page.click('[data-pd-tab="variables"]');
    expect(page.text("[data-pd=missing]")).toContain("session.attach(fn, *args)");
  });
});

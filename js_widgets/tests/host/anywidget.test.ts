/** The live host over a model as anywidget gives it: requests, answers, the one trait. */

import { afterEach, describe, expect, it } from "vitest";
import { liveHost } from "../../src/host/anywidget";
import type { WidgetModel } from "../../src/host/model";
import widget from "../../src/widget";
import "../app";
import { bytesOf, partOf } from "../golden";

// biome-ignore lint/suspicious/noExplicitAny: messages are JSON
type Any = any;

class FakeModel implements WidgetModel {
  readonly sent: Any[] = [];
  readonly saved: Any[] = [];
  private readonly handlers = new Map<string, Set<(...args: Any[]) => void>>();
  private readonly state: Record<string, Any> = { view_state: {} };
  answer: (content: Any) => [Any, DataView[]] | null = () => null;

  get(name: string): Any {
    return this.state[name];
  }
  set(name: string, value: Any): void {
    this.state[name] = value;
    this.fire(`change:${name}`);
  }
  save_changes(): void {
    this.saved.push(this.state.view_state);
  }
  send(content: Any): void {
    this.sent.push(content);
    const answer = this.answer(content);
    if (answer) queueMicrotask(() => this.fire("msg:custom", ...answer));
  }
  on(event: string, handler: (...args: Any[]) => void): void {
    const set = this.handlers.get(event) ?? new Set();
    this.handlers.set(event, set.add(handler));
  }
  off(event: string, handler: (...args: Any[]) => void): void {
    this.handlers.get(event)?.delete(handler);
  }
  fire(event: string, ...args: Any[]): void {
    for (const handler of [...(this.handlers.get(event) ?? [])]) handler(...args);
  }
  get listeners(): number {
    return [...this.handlers.values()].reduce((sum, set) => sum + set.size, 0);
  }
}

const settle = (ms = 30) => new Promise((resolve) => setTimeout(resolve, ms));

describe("requests", () => {
  it("are answered by id, whatever the order", async () => {
    const model = new FakeModel();
    const host = liveHost(model);
    const first = host.request("variables", { at: 1 });
    const second = host.request("variables", { at: 2 });
    const [a, b] = model.sent;
    expect(a.id).not.toBe(b.id);
    model.fire("msg:custom", { id: b.id, ok: true, said: 2 }, []);
    model.fire("msg:custom", { id: a.id, error: "no such thread" }, []);
    expect((await second).content.said).toBe(2);
    await expect(first).rejects.toThrow("no such thread");
  });

  it("give up on a kernel that is gone", async () => {
    const host = liveHost(new FakeModel(), 10);
    await expect(host.request("evaluate")).rejects.toThrow("no answer from the kernel");
  });
});

describe("the widget", () => {
  let stop: (() => void) | undefined;
  afterEach(() => stop?.());

  async function shown(live: boolean) {
    const model = new FakeModel();
    const names: Record<string, string> = { 0: "elementwise", 1: "ring" };
    model.answer = (content) =>
      content.type === "bundle"
        ? [{ id: content.id, ok: true, live }, [new DataView(bytesOf(names[content.run]).buffer)]]
        : null;
    const el = document.createElement("div");
    document.body.append(el);
    stop = widget.render({ model, el });
    for (let i = 0; i < 50 && !el.shadowRoot?.querySelector(".pd-toolbar"); i++) await settle();
    return { model, el, root: el.shadowRoot! };
  }

  it("asks for its bundle, publishes where it is and follows the kernel", async () => {
    const { model, root, el } = await shown(true);
    expect(el.dataset.lmSuppressShortcuts).toBe("true");
    const step = root.querySelector<HTMLElement>('[data-pd="step"]')!;
    step.click();
    await settle(150);
    expect(model.saved.at(-1)).toMatchObject({ v: 1, cursor: 1 });
    model.set("view_state", { ...model.get("view_state"), cursor: 5 });
    await settle(150);
    expect(root.querySelector<HTMLInputElement>('[data-pd="position"]')?.value).toBe("#4");
    model.fire("msg:custom", { type: "run", number: 1, label: "seed 1" }, []);
    for (let i = 0; i < 50 && !root.querySelector(".pd-runs"); i++) await settle();
    expect(root.querySelector(".pd-runs")?.textContent).toContain("seed 1");
    stop?.();
    stop = undefined;
    expect(model.listeners).toBe(0);
    expect(root.childElementCount).toBe(0);
  });

  it("shows a recording that grows, asking only for what it adds, and can stop it", async () => {
    const model = new FakeModel();
    let recorded = false;
    const parts = [0, 1].map((n) => new DataView(partOf("random_1", n).buffer));
    model.answer = ({ id, type, have }) => {
      if (type === "more") return [{ id, ok: true, recording: true }, []];
      if (type !== "bundle") return null;
      const facts = have === 7 ? { bundle: 8, base: 7 } : { bundle: 7 };
      recorded ||= have === 7;
      return [{ id, ok: true, live: true, ...facts }, [parts[have === 7 ? 1 : 0]]];
    };
    model.set("view_state", { cursor: 1e9 });
    const el = document.createElement("div");
    document.body.append(el);
    stop = widget.render({ model, el });
    const root = el.shadowRoot!;
    const position = () => root.querySelector<HTMLInputElement>('[data-pd="position"]')?.value;
    for (let i = 0; i < 50 && !position(); i++) await settle();
    const [end, more] = [position(), '[data-pd="more"]'];
    expect(root.querySelector(more)).toBeNull(); // cut by slicing, not by a limit
    model.fire("msg:custom", { type: "recording", done: 3, of: 9 }, []);
    await settle();
    expect(root.querySelector(more)?.textContent).toContain("3 of 9 grid points");
    root.querySelector<HTMLElement>(more)!.click();
    await settle();
    expect(model.sent.at(-1)).toMatchObject({ type: "more", stop: true });
    model.fire("msg:custom", { type: "grown", run: 0 }, []);
    for (let i = 0; i < 50 && root.querySelector(more); i++) await settle();
    expect(recorded).toBe(true);
    expect(model.sent.filter((one) => one.type === "bundle").map((one) => one.have)).toEqual([
      0, 7,
    ]);
    expect(position()).toBe(end);
    root.querySelector<HTMLElement>('[data-pd="last"]')?.click();
    await settle();
    expect(position()).not.toBe(end);
  });

  it("shows what it holds once the kernel has ended, and only then", async () => {
    const { model, root } = await shown(true);
    const status = () => root.querySelector(".pd-status")?.textContent;
    const answer = model.answer;
    model.answer = ({ id }) => [{ id, error: "no such thing" }, []];
    model.fire("comm_live_update"); // a connection that came back: somebody answers
    await settle();
    expect(status()).toContain("live");
    model.answer = answer;
    model.fire("comm:close");
    await settle();
    expect(status()).toContain("recorded");
    expect(status()).toContain("The kernel has ended");
    root.querySelector<HTMLElement>('[data-pd="step"]')!.click();
    await settle();
    expect(root.querySelector<HTMLInputElement>('[data-pd="position"]')?.value).toBe("#0");
  });

  it("offers nothing live where no session stands behind it", async () => {
    const { root } = await shown(false);
    expect(root.querySelector(".pd-status")?.textContent).toContain("recorded");
  });

  it("says why it cannot show anything", async () => {
    const model = new FakeModel();
    model.answer = (content) => [{ id: content.id, error: "the trace is gone" }, []];
    const el = document.createElement("div");
    stop = widget.render({ model, el });
    await settle(60);
    expect(el.shadowRoot?.querySelector('[role="alert"]')?.textContent).toContain(
      "the trace is gone",
    );
  });
});

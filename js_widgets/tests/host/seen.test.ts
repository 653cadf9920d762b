/** A viewer that nobody sees opens nothing, and says what it missed once it is seen. */

import { afterEach, describe, expect, it, vi } from "vitest";
import { seen } from "../../src/host/seen";
import { mount } from "../../src/main";
import "../app";
import { bytesOf } from "../golden";

type Seen = (entries: { isIntersecting: boolean }[]) => void;

class Watching {
  static last: Watching;
  readonly watched: Element[] = [];
  constructor(readonly tell: Seen) {
    Watching.last = this;
  }
  observe(element: Element): void {
    this.watched.push(element);
  }
  disconnect(): void {
    this.watched.length = 0;
  }
}

describe("a viewer below the screen", () => {
  afterEach(() => vi.unstubAllGlobals());

  it("opens its bundle in the state of the moment in which it is seen", async () => {
    vi.stubGlobal("IntersectionObserver", Watching);
    const element = document.createElement("div");
    document.body.append(element);
    let asked = 0;
    let cursor = 1;
    const bundle = async () => {
      asked++;
      return bytesOf("elementwise");
    };
    const mounted = mount(element, bundle, () => ({ cursor }));
    Watching.last.tell([{ isIntersecting: false }]);
    await Promise.resolve();
    expect(asked).toBe(0);
    expect(element.shadowRoot?.querySelector(".pd-root")).not.toBeNull(); // keeps its place
    cursor = 5;
    Watching.last.tell([{ isIntersecting: true }]);
    const app = await mounted.ready;
    expect([asked, app?.cursor.value]).toEqual([1, 5]);
    expect(Watching.last.watched).toEqual([]);
    mounted();
  });

  it("is not opened any more once it is gone", async () => {
    vi.stubGlobal("IntersectionObserver", Watching);
    const bundle = vi.fn();
    const mounted = mount(document.createElement("div"), bundle);
    mounted();
    expect(Watching.last.watched).toEqual([]);
    expect(bundle).not.toHaveBeenCalled();
  });

  it("is opened to be printed", async () => {
    vi.stubGlobal("IntersectionObserver", Watching);
    const { when } = seen(document.createElement("div"));
    dispatchEvent(new Event("beforeprint"));
    await when;
    expect(Watching.last.watched).toEqual([]);
  });
});

/** Work that waits: for the next picture, for a frame, for a rest. */

import { effect, signal } from "@preact/signals";
import { afterEach, describe, expect, it, vi } from "vitest";
import { afterPaint, oncePerFrame, whileIdle } from "../../src/ui/later";

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

/** Frames that come when they are called. */
function frames(): { next(): void } {
  let waiting: (() => void)[] = [];
  vi.stubGlobal("requestAnimationFrame", (f: () => void) => waiting.push(f));
  vi.stubGlobal("cancelAnimationFrame", (at: number) => {
    waiting[at - 1] = () => {};
  });
  return {
    next() {
      const now = waiting;
      waiting = [];
      for (const one of now) one();
    },
  };
}

describe("once per frame", () => {
  it("does everything in order and tells of it once", () => {
    const { next } = frames();
    const count = signal(0);
    const told: number[] = [];
    effect(() => void told.push(count.value));
    const later = oncePerFrame();
    for (let i = 0; i < 3; i++)
      later(() => {
        count.value = count.value * 2 + 1;
      });
    expect(count.value).toBe(0);
    next();
    expect(told).toEqual([0, 7]);
    later(() => {
      count.value = 1;
    });
    next();
    expect(told).toEqual([0, 7, 1]);
  });
});

describe("after a picture", () => {
  it("comes behind the frame, unless it is stopped", () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { next } = frames();
    const calls: string[] = [];
    afterPaint(() => calls.push("a"));
    const stopSoon = afterPaint(() => calls.push("b"));
    const stopLate = afterPaint(() => calls.push("c"));
    stopSoon();
    next();
    expect(calls).toEqual([]);
    stopLate();
    vi.runAllTimers();
    expect(calls).toEqual(["a"]);
  });
});

describe("while idle", () => {
  it.each([true, false])("one piece follows the other, until it is stopped (%s)", (browser) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    if (browser) {
      vi.stubGlobal("requestIdleCallback", (f: () => void) => setTimeout(f, 1));
      vi.stubGlobal("cancelIdleCallback", clearTimeout);
    } else vi.stubGlobal("requestIdleCallback", undefined);
    const done: number[] = [];
    const stop = whileIdle([0, 1, 2, 3].map((i) => () => void done.push(i)));
    vi.advanceTimersToNextTimer();
    vi.advanceTimersToNextTimer();
    expect(done).toEqual([0, 1]);
    stop();
    vi.runAllTimers();
    expect(done).toEqual([0, 1]);
  });
});

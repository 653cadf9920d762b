/** Work in pieces: at most one costly one in a picture, none left behind, the unseen last. */

import { afterEach, describe, expect, it, vi } from "vitest";
import { ENOUGH, FIRST, Pictures, Piece } from "../../src/ui/pictures";

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

const SOON = 0.4; // ms that the step itself takes

/** A page whose time passes only with what is done, and whose frames come when they are called. */
function page() {
  let time = 0;
  let waiting: (() => void)[] = [];
  let done: { name: string; cost: number; draw: number }[] = [];
  vi.spyOn(performance, "now").mockImplementation(() => time);
  vi.stubGlobal("requestAnimationFrame", (f: () => void) => waiting.push(f));
  const rendered = async () => {
    for (let i = 0; i < 30; i++) await null;
  };
  return {
    /** Takes `cost`, and its canvases take `draw` at the beginning of the next frame. */
    piece(name: string, cost: number, draw: number, isUnseen = false): Piece {
      return new Piece(() => {
        time += cost;
        done.push({ name, cost, draw });
        if (draw) {
          requestAnimationFrame(() => {
            time += draw;
          });
        }
      }, isUnseen);
    },
    spend(cost: number) {
      time += cost;
    },
    /** What is done in the task of a step and in the frame that shows it, or in the next frame. */
    async picture() {
      await rendered();
      const list = waiting;
      waiting = [];
      for (const one of list) {
        one();
        await rendered();
      }
      const all = done;
      done = [];
      return all;
    },
  };
}

const costs = (seed: number) => {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const kind = state / 2 ** 32;
    return kind < 0.3 ? kind : kind < 0.6 ? 2 * kind : 12 * kind;
  };
};

describe("pictures", () => {
  it.each([1, 2, 3, 4, 5, 6])("have one costly piece each (%d)", async (seed) => {
    const next = costs(seed);
    const { piece, picture, spend } = page();
    const pictures = new Pictures();
    const pieces = Array.from({ length: 5 }, (_, i) => piece(`${i}`, next(), next()));
    // What they take is known after the first time.
    for (const isKnown of [false, true, true]) {
      for (const one of pieces) pictures.add(one);
      spend(SOON);
      const all: string[] = [];
      for (let i = 0; pictures.isBehind || i === 0; i++) {
        expect(i, "a handful").toBeLessThan(2 * pieces.length + 2);
        const found = await picture();
        all.push(...found.map(({ name }) => name));
        if (!isKnown) continue;
        const spent = found.reduce((sum, { cost }) => sum + cost, 0);
        if (i === 0) expect(spent).toBeLessThanOrEqual(FIRST);
        else if (found.length > 1) expect(spent).toBeLessThanOrEqual(ENOUGH);
      }
      expect(all).toEqual(["0", "1", "2", "3", "4"]);
      await picture(); // draws
    }
  });

  it("do nothing else where drawing has taken long, but once only", async () => {
    const { piece, picture } = page();
    const pictures = new Pictures();
    for (const one of [piece("a", 1, 10), piece("b", 1, 0)]) pictures.add(one);
    const found: string[] = [];
    for (let i = 0; i < 4; i++) found.push((await picture()).map(({ name }) => name).join(""));
    expect(found.join()).toBe("ab,,,");
    for (const one of [piece("c", 5, 10), piece("d", 5, 10), piece("e", 5, 0)]) pictures.add(one);
    const next: string[] = [];
    for (let i = 0; i < 6; i++) next.push((await picture()).map(({ name }) => name).join(""));
    expect(next.join()).toBe("c,d,,e,,");
  });

  it("come to what is unseen last, and forget what is taken away", async () => {
    const { piece, picture } = page();
    const pictures = new Pictures();
    const unseen = piece("around", 0.1, 0, true);
    const gone = piece("gone", 0.1, 0);
    for (const one of [unseen, piece("a", 0.1, 0), gone, unseen]) pictures.add(one);
    pictures.remove(gone);
    expect(pictures.isBehind).toBe(true);
    expect((await picture()).map(({ name }) => name)).toEqual(["a", "around"]);
    pictures.add(unseen);
    expect(pictures.isBehind).toBe(false);
    pictures.dispose();
    expect(await picture()).toEqual([]);
  });
});

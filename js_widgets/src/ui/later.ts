/** Work that can wait: until a picture is on the screen, or until nobody needs the page. */

import { batch } from "@preact/signals";

/** Does what comes in the time of a frame at its end and draws once: a held key steps further, not later. */
export function oncePerFrame(): (work: () => void) => void {
  const waiting: (() => void)[] = [];
  const all = () =>
    batch(() => {
      for (const work of waiting.splice(0)) work();
    });
  return (work) => {
    if (waiting.push(work) === 1) requestAnimationFrame(all);
  };
}

/** Calls back once the next picture is on the screen; returns a stop. */
export function afterPaint(then: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const frame = requestAnimationFrame(() => {
    timer = setTimeout(then, 0);
  });
  return () => {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
  };
}

const REST = 200; // ms

/** Does some work bit by bit while the page rests; returns a stop. */
export function whileIdle(work: readonly (() => unknown)[]): () => void {
  const idle = globalThis.requestIdleCallback;
  let stop = () => {};
  const next = (i: number) => {
    if (i >= work.length) return;
    const now = () => {
      work[i]();
      next(i + 1);
    };
    if (idle) {
      const number = idle(now);
      stop = () => cancelIdleCallback(number);
    } else {
      const timer = setTimeout(now, REST);
      stop = () => clearTimeout(timer);
    }
  };
  next(0);
  return () => stop();
}

/** The width of an element as a signal. */

import { type Signal, useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";

export function useWidth(element: RefObject<HTMLElement | null>, initial: number): Signal<number> {
  const width = useSignal(initial);
  useLayoutEffect(() => {
    const measure = () => {
      width.value = element.current?.clientWidth || initial;
    };
    measure();
    if (!element.current) return;
    const observer = new ResizeObserver(measure);
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return width;
}

/** The keys stay with the viewer: a focused element that goes away gives the focus to the frame. */

import type { Signal } from "@preact/signals";

/** Watches a frame until the returned function is called; tells whether it has the focus. */
export function keepFocus(frame: HTMLElement, focused: Signal<boolean>): () => void {
  const root = frame.getRootNode() as ShadowRoot | Document;
  let last: Element | null = null;
  const entered = (event: Event) => {
    last = event.target as Element;
    focused.value = true;
  };
  const left = () =>
    setTimeout(() => {
      // An element that is gone is the observer's business.
      if (last?.isConnected && root.activeElement !== last) last = null;
      focused.value = last !== null;
    });
  const observer = new MutationObserver(() => {
    if (!last || last.isConnected) return;
    last = null;
    if (document.activeElement === document.body || root.activeElement) {
      if (!frame.contains(root.activeElement)) frame.focus({ preventScroll: true });
    } else focused.value = false;
  });
  // A choice by the pointer is over once it is made; by keys it may go on, until Enter.
  let pointing = false;
  const choice = (event: Event) => {
    if (!(event.target instanceof HTMLSelectElement)) return;
    if (event.type !== "change") pointing = event.type === "pointerdown";
    const entered = (event as KeyboardEvent).key === "Enter";
    if (entered || (event.type === "change" && pointing)) frame.focus({ preventScroll: true });
  };
  const choices = ["pointerdown", "keydown", "change"];
  for (const kind of choices) frame.addEventListener(kind, choice);
  observer.observe(frame, { childList: true, subtree: true });
  frame.addEventListener("focusin", entered);
  frame.addEventListener("focusout", left);
  return () => {
    observer.disconnect();
    for (const kind of choices) frame.removeEventListener(kind, choice);
    frame.removeEventListener("focusin", entered);
    frame.removeEventListener("focusout", left);
  };
}

/** Gives the keys back to the frame, from something inside of it. */
export function leaveTo(event: Event): void {
  (event.currentTarget as HTMLElement).closest<HTMLElement>(".pd-frame")?.focus();
}

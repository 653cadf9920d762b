/** A viewer over a golden bundle, mounted in happy-dom. */

import { mount } from "../src/main";
import type { App, Host, ViewState } from "../src/ui/store";
import { bytesOf } from "./golden";

/** happy-dom shows nothing: everything is on the screen. */
globalThis.IntersectionObserver = class {
  constructor(private readonly tell: (entries: { isIntersecting: boolean }[]) => void) {}
  observe(): void {
    this.tell([{ isIntersecting: true }]);
  }
  disconnect(): void {}
} as unknown as typeof IntersectionObserver;

/** happy-dom lays nothing out: give boxes a size, and let scrolling be noticed. */
const SIZE = { clientWidth: 1000, clientHeight: 600 };
for (const [name, value] of Object.entries(SIZE)) {
  Object.defineProperty(HTMLElement.prototype, name, { configurable: true, get: () => value });
}
const tops = new WeakMap<HTMLElement, number>();
Object.defineProperty(HTMLElement.prototype, "scrollTop", {
  configurable: true,
  get(this: HTMLElement) {
    return tops.get(this) ?? 0;
  },
  set(this: HTMLElement, top: number) {
    tops.set(this, Math.max(top, 0));
    this.dispatchEvent(new Event("scroll"));
  },
});

export interface Page {
  readonly app: App;
  readonly root: ShadowRoot;
  /** Waits for preact and effects. */
  settle(): Promise<void>;
  click(selector: string): Promise<void>;
  press(key: string, options?: KeyboardEventInit): Promise<void>;
  text(selector: string): string;
  dispose(): void;
}

export async function pageOf(
  source: string | Uint8Array<ArrayBuffer>,
  state: Partial<ViewState> = {},
  host?: Host,
): Promise<Page> {
  const element = document.createElement("div");
  document.body.append(element);
  const bytes = typeof source === "string" ? bytesOf(source) : source;
  const mounted = mount(element, bytes, state, host);
  const app = await mounted.ready;
  const root = element.shadowRoot!;
  const settle = async () => {
    do await new Promise<void>((resolve) => setTimeout(resolve, 20));
    while (app?.isBehind.value);
  };
  const find = (selector: string) => {
    const found = root.querySelector<HTMLElement>(selector);
    if (!found) throw new Error(`no ${selector} in ${root.textContent?.slice(0, 400)}`);
    return found;
  };
  await settle();
  return {
    app: app as App,
    root,
    settle,
    async click(selector) {
      find(selector).click();
      await settle();
    },
    async press(key, options = {}) {
      const event = new KeyboardEvent("keydown", {
        key,
        bubbles: true,
        composed: true,
        cancelable: true,
        ...options,
      });
      find(".pd-frame").dispatchEvent(event);
      await settle();
    },
    text: (selector) => find(selector).textContent ?? "",
    dispose() {
      mounted();
      element.remove();
    },
  };
}

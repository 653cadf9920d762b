/** Entry of static pages: `PallasDebug.mount(element, base64, viewState?)`. */

import { keepInAddress, stateOfAddress } from "./host/static";
import { type Mounted, mount as mountView, type Source } from "./main";
import type { ViewState } from "./ui/store";

export interface EmbedOptions {
  /** Whether the view state is kept in the address (whole pages only). */
  readonly address?: boolean;
}

export function mount(
  element: HTMLElement,
  bundle: Source,
  state: Partial<ViewState> = {},
  options: EmbedOptions = {},
): Mounted {
  if (!options.address) return mountView(element, bundle, state);
  const mounted = mountView(element, bundle, stateOfAddress(state));
  let stop = () => {};
  void mounted.ready.then((app) => {
    if (!app) return;
    stop = app.watch(keepInAddress, 300);
    // A whole page: its keys work at once, unless something else has the focus.
    if (window === window.top && document.activeElement === document.body)
      element.shadowRoot?.querySelector<HTMLElement>(".pd-frame")?.focus();
  });
  const dispose = () => {
    stop();
    mounted();
  };
  return Object.assign(dispose, { ready: mounted.ready });
}

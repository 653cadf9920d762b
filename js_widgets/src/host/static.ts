/** A page without a kernel: the view state lives in the fragment of the address. */

import type { ViewState } from "../ui/store";

const PREFIX = "#pd=";

/** The view state of the address, over the one of the page. */
export function stateOfAddress(given: Partial<ViewState>): Partial<ViewState> {
  const { hash } = location;
  if (!hash.startsWith(PREFIX)) return given;
  try {
    return { ...given, ...JSON.parse(decodeURIComponent(hash.slice(PREFIX.length))) };
  } catch {
    return given;
  }
}

/** Writes the view state into the address, so that a link shows the same view. */
export function keepInAddress(state: ViewState): void {
  try {
    history.replaceState(null, "", PREFIX + encodeURIComponent(JSON.stringify(state)));
  } catch {
    // A sandboxed frame has no address of its own.
  }
}

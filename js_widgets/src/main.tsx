/**
 * The one function of the viewer: `mount(el, bundle, viewState, host?) → dispose`.
 *
 * A pure function of its arguments, in a shadow root of its own; it opens the bundle when somebody
 * can see it. With a host it may ask a kernel; without one everything but re-execution works.
 */

import { render } from "preact";
import { Bundle, type BundleError, openBundle } from "./bundle";
import { seen } from "./host/seen";
import { Model } from "./model/trace";
import { followScheme } from "./ui/scheme";
import { Shell } from "./ui/shell";
import { App, type Host, type ViewState } from "./ui/store";
import { STYLES } from "./ui/style";
import { readTheme } from "./ui/theme";

export type Source = ArrayBuffer | Uint8Array | DataView | string | Bundle;

export interface Mounted {
  (): void;
  /** Resolves with the app once it is shown, or null if the bundle could not be. */
  readonly ready: Promise<App | null>;
}

export function mount(
  element: HTMLElement,
  bundle: Source | (() => Promise<Source>),
  viewState: Partial<ViewState> | (() => Partial<ViewState>) = {},
  host?: Host,
): Mounted {
  // Lumino looks at the element that it sees, which is the one outside of the shadow.
  element.dataset.lmSuppressShortcuts = "true";
  const shadow = element.shadowRoot ?? element.attachShadow({ mode: "open" });
  shadow.replaceChildren();
  const style = document.createElement("style");
  style.textContent = STYLES.join("\n");
  const root = document.createElement("div");
  root.className = "pd-root";
  shadow.append(style, root);
  let disposed = false;
  let app: App | null = null;
  const stops: (() => void)[] = [];
  const scheme = followScheme(root, (dark) => {
    root.classList.toggle("pd-dark", dark);
    if (app) app.theme.value = readTheme(root);
  });
  const near = seen(element);
  stops.push(scheme, near.stop);
  render(<Message title="Opening the trace…" />, root);

  const open = async (): Promise<App | null> => {
    try {
      await near.when;
      if (disposed) return null;
      const given = typeof bundle === "function" ? await bundle() : bundle;
      const model = new Model(given instanceof Bundle ? given : await openBundle(given));
      if (disposed) return null;
      const state = typeof viewState === "function" ? viewState() : viewState;
      app = new App(model, state, readTheme(root), host);
      if (host?.publish) stops.push(app.watch((state) => host.publish?.(state)));
      render(<Shell app={app} />, root);
      return app;
    } catch (error) {
      if (!disposed) render(<Failure error={error as Error} />, root);
      return null;
    }
  };
  const ready = open();
  const dispose = () => {
    disposed = true;
    for (const stop of stops) stop();
    render(null, root);
    shadow.replaceChildren();
  };
  return Object.assign(dispose, { ready });
}

function Message({ title }: { title: string }) {
  return (
    <div class="pd-empty" role="status">
      {title}
    </div>
  );
}

function Failure({ error }: { error: Error }) {
  const hint = (error as Partial<BundleError>).hint ?? "Report this as a fault of pallas_debug.";
  return (
    <div class="pd-card" role="alert">
      <h2>The trace cannot be shown</h2>
      <p>{error.message}</p>
      <p class="pd-muted">{hint}</p>
    </div>
  );
}

/** What lies over the panels for a moment. */

import type { JSX } from "preact";
import { Help } from "./help";
import { Origin } from "./origin";
import { Breakpoints } from "./stops";
import type { App } from "./store";

export function Overlays({ app }: { app: App }): JSX.Element | null {
  const name = app.overlay.value;
  if (name === "help") return <Help app={app} />;
  if (name === "origin") return <Origin app={app} />;
  if (name === "breakpoints") return <Breakpoints app={app} />;
  return null;
}

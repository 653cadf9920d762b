/** What a panel is: an id, a title, commands of its own, and a component over the app. */

import type { ComponentType } from "preact";
import type { Command } from "../ui/keys";
import type { App } from "../ui/store";

export interface Panel {
  readonly id: string;
  readonly title: string;
  readonly commands?: readonly Command<App>[];
  readonly Component: ComponentType<{ app: App }>;
  /** A short count or mark beside the title (reads signals). */
  readonly badge?: (app: App) => string;
}

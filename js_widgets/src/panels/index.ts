/** The panels, in the order of their tabs. */

import { panel as events } from "./events";
import { panel as findings } from "./findings";
import { panel as grid } from "./grid";
import { panel as memory } from "./memory";
import type { Panel } from "./panel";
import { panel as source } from "./source";
import { panel as threads } from "./threads";
import { panel as variables } from "./variables";

export const PANELS: readonly Panel[] = [
  source,
  grid,
  threads,
  memory,
  variables,
  findings,
  events,
];

/** The style sheets of the viewer, in order; a panel adds its own here. */

import legend from "../panels/drawing/legend.css";
import findings from "../panels/findings.css";
import grid from "../panels/grid.css";
import memory from "../panels/memory.css";
import source from "../panels/source.css";
import tables from "../panels/tables.css";
import threads from "../panels/threads.css";
import base from "./base.css";
import shell from "./shell.css";

export const STYLES: readonly string[] = [
  base,
  shell,
  source,
  findings,
  tables,
  legend,
  grid,
  threads,
  memory,
];

/** What the selected thread knows: where it is, its values, and its vector clock. */

import type { JSX } from "preact";
import type { App } from "../ui/store";
import type { Panel } from "./panel";
import { Clock } from "./variables/clock";
import { Recorded } from "./variables/recorded";
import { Live } from "./variables/registers";
import { Where } from "./variables/where";

function Variables({ app }: { app: App }): JSX.Element {
  const thread = app.thread.value;
  if (thread < 0) return <div class="pd-empty">Select a thread, or step.</div>;
  return (
    <div class="pd-scroll pd-variables">
      <Where app={app} thread={thread} />
      {app.host ? <Live app={app} /> : <Recorded app={app} thread={thread} />}
      <Clock app={app} thread={thread} />
    </div>
  );
}

export const panel: Panel = { id: "variables", title: "Variables", Component: Variables };

/** The calls that led to where a thread stands: the outermost first, each a line to look at. */

import type { JSX } from "preact";
import { showLine } from "../../ui/moves";
import type { App } from "../../ui/store";
import type { Call, Position } from "./places";

export function Calls({ app, position }: { app: App; position: Position }): JSX.Element | null {
  if (!position.calls.length) return null;
  return (
    <nav class="pd-calls" aria-label="Calls">
      {[...position.calls].reverse().map((call, i) => (
        <span key={i}>
          <CallLink app={app} call={call} />
          <span class="pd-muted" aria-hidden="true">
            {" › "}
          </span>
        </span>
      ))}
      <button
        type="button"
        class="pd-link"
        aria-current="true"
        title={`Stands in ${position.name} on line ${position.line}`}
        onClick={() => showLine(app, position.source, position.line)}
      >
        <b>
          {position.name}:{position.line}
        </b>
      </button>
    </nav>
  );
}

export function CallLink({ app, call }: { app: App; call: Call }): JSX.Element {
  const name = app.model.sources[call.source]?.name ?? "";
  return (
    <button
      type="button"
      class="pd-link"
      title={`Called from line ${call.line} in ${call.name}, ${name}`}
      onClick={() => showLine(app, call.source, call.line)}
    >
      {call.name}:{call.line}
    </button>
  );
}

/** Where a value came from, as the kernel found it. */

import type { JSX } from "preact";
import { Dialog } from "./dialog";
import type { App } from "./store";

interface Link {
  readonly event: number;
  readonly text: string;
  readonly place: string;
  readonly source: string;
}

/** The way of a value, backwards; each event is a place to go to. */
export function Origin({ app }: { app: App }): JSX.Element {
  const { links, path, born } = app.origin.value as {
    links: readonly Link[];
    path: readonly number[];
    born: number;
  };
  return (
    <Dialog app={app} title="Where this value came from">
      <ol class="pd-path pd-origin">
        {path.map((number) => {
          const { event, text, place, source } = links[number];
          return (
            <li key={number}>
              <button
                type="button"
                class="pd-link"
                disabled={event < 0}
                onClick={() => {
                  app.overlay.value = null;
                  app.jump(event);
                }}
              >
                {text}
              </button>
              <span class="pd-muted">
                {event >= 0 && ` #${event}`} {place}
                {number === born && " — here it was born"}
              </span>
              {source && <code>{source}</code>}
            </li>
          );
        })}
      </ol>
    </Dialog>
  );
}

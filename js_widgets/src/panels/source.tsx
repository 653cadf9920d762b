/** The source of the kernel, and the listing below it on demand. */

import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { useWidth } from "../ui/size";
import type { App } from "../ui/store";
import type { Panel } from "./panel";
import { Calls } from "./source/calls";
import { Code } from "./source/code";
import { Listing } from "./source/listing";
import { positionOf, startOf } from "./source/places";
import { sourceState } from "./source/state";

const ROOM_FOR_COUNTS = 760;

function Source({ app }: { app: App }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box, 600);
  return (
    <div class="pd-panel" ref={box}>
      <Content app={app} width={width.value} />
    </div>
  );
}

function Content({ app, width }: { app: App; width: number }): JSX.Element {
  const { model } = app;
  const state = sourceState(app);
  const cursor = app.cursor.value;
  const position = positionOf(model, app.thread.value, cursor) ?? startOf(model, app.launch.value);
  if (!model.sources.length) return <div class="pd-empty">This trace has no source text.</div>;
  const { file, at, listing } = state.value;
  const { value: asked } = app.reveal;
  const isAsked = asked?.panel === "source" && asked.cursor === cursor;
  const chosen = isAsked ? asked.source : at === cursor ? file : -1;
  const source = model.sources[chosen] ? chosen : Math.max(position?.source ?? 0, 0);
  const counted = model.lineCounts.length > 0;
  const counts = counted && (state.value.counts ?? width > ROOM_FOR_COUNTS);
  const choose = (event: Event) => {
    const number = Number((event.currentTarget as HTMLSelectElement).value);
    app.reveal.value = null;
    state.value = { ...state.value, file: number, at: cursor };
  };
  return (
    <>
      <div class="pd-bar">
        {model.sources.length > 1 ? (
          <select class="pd-select" aria-label="File" value={String(source)} onChange={choose}>
            {model.sources.map((one, i) => (
              <option key={i} value={String(i)}>
                {one.name}
              </option>
            ))}
          </select>
        ) : (
          <span class="pd-mono pd-ellipsis" title={model.sources[0].file}>
            {model.sources[0].name}
          </span>
        )}
        {position && <Calls app={app} position={position} />}
        <span class="pd-grow" />
        {counted && <Toggle title="Counts" on={counts} set={(on) => toggleCounts(app, on)} />}
        {model.hasView && (
          <Toggle title="Listing" on={listing} set={(on) => toggleListing(app, on)} />
        )}
      </div>
      <Code app={app} source={source} position={position} counts={counts} width={width} />
      {listing && <Listing app={app} position={position} />}
    </>
  );
}

function Toggle({ title, on, set }: { title: string; on: boolean; set: (on: boolean) => void }) {
  return (
    <button type="button" class="pd-button" aria-pressed={on} onClick={() => set(!on)}>
      {title}
    </button>
  );
}

function toggleCounts(app: App, on: boolean): void {
  const state = sourceState(app);
  state.value = { ...state.value, counts: on };
}

function toggleListing(app: App, on: boolean): void {
  const state = sourceState(app);
  state.value = { ...state.value, listing: on };
}

export const panel: Panel = {
  id: "source",
  title: "Source",
  Component: Source,
  commands: [
    {
      id: "toggle_listing",
      title: "Show or hide the instructions",
      group: "Source",
      keys: ["L"],
      run: (app) => toggleListing(app, !sourceState(app).value.listing),
    },
    {
      id: "toggle_counts",
      title: "Show or hide counts per line",
      group: "Source",
      keys: ["Shift+L"],
      run: (app) => toggleCounts(app, !sourceState(app).value.counts),
    },
  ],
};

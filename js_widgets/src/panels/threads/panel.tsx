/** The threads panel: who ran, waited and copied when, on an axis of steps; with arrows and clocks. */

import { effect, useSignal } from "@preact/signals";
import { useCallback, useEffect, useMemo, useRef } from "preact/hooks";
import { Canvas } from "../../ui/canvas";
import type { App } from "../../ui/store";
import { CopyButton } from "../drawing/copy";
import { Swatch } from "../drawing/swatch";
import type { Panel } from "../panel";
import { frameOf, HEAD } from "./frame";
import { gestures } from "./gestures";
import { Minimap } from "./minimap";
import { paintOverlay } from "./overlay";
import { paintLanes } from "./paint";
import { ThreadsView } from "./view";
import { label } from "./words";

type Context = CanvasRenderingContext2D;

function Threads({ app }: { app: App }) {
  const view = useMemo(() => new ThreadsView(app), [app]);
  const frame = useRef(frameOf(600, 200, false));
  const scroller = useRef<HTMLDivElement>(null);
  const room = useSignal(0);
  const base = useCallback(
    (context: Context, width: number, height: number) => {
      frame.current = frameOf(width, height, app.model.clocks !== null);
      view.viewport = height;
      if (room.peek() !== height) room.value = height;
      paintLanes(context, view, frame.current);
    },
    [app, view],
  );
  const overlay = useCallback(
    (context: Context, width: number, height: number) => {
      paintOverlay(context, view, frameOf(width, height, app.model.clocks !== null));
    },
    [app, view],
  );
  useEffect(() => followCursor(view), [view]);
  useEffect(() => {
    // A scroll that the panel wants; the element tells of the user's own.
    return effect(() => {
      const top = view.scroll.value;
      const element = scroller.current;
      if (element && Math.abs(element.scrollTop - top) > 1) element.scrollTop = top;
    });
  }, [view]);
  const hands = useMemo(() => gestures(view, frame), [view]);
  const rest = Math.max(view.lanes.value.height + HEAD - room.value, 0);
  return (
    <div class="pd-panel">
      <Bar view={view} />
      <Minimap view={view} />
      {app.model.spans.count === 0 && (
        <p class="pd-muted pd-note">
          This file has no table of what ran when; save it as a view to see bars.
        </p>
      )}
      <div
        class="pd-lanes"
        ref={scroller}
        onScroll={(event) => {
          view.scroll.value = event.currentTarget.scrollTop;
        }}
      >
        <div class="pd-lanes-view">
          <Canvas class="pd-layer" label="" draw={base} />
          <Canvas class="pd-layer" label={label(view)} draw={overlay} {...hands} />
        </div>
        <div style={{ height: `${rest}px` }} />
      </div>
      <Legend app={app} />
    </div>
  );
}

/** Shows the current event when the cursor moves, the lane when another thread is looked at. */
function followCursor(view: ThreadsView): () => void {
  let last = -1;
  return effect(() => {
    const cursor = view.app.cursor.value;
    const thread = view.app.thread.value;
    if (cursor === last) {
      queueMicrotask(() => view.revealLane(view.laneOf(thread)));
      return;
    }
    // Before the first picture nobody knows how high it is.
    const later =
      last < 0
        ? (f: () => void) => requestAnimationFrame(() => requestAnimationFrame(f))
        : queueMicrotask;
    last = cursor;
    later(() => view.reveal());
  });
}

function Bar({ view }: { view: ThreadsView }) {
  const { settings } = view;
  const now = settings.value;
  const set = (part: Partial<typeof now>) => {
    settings.value = { ...now, ...part };
  };
  const { app } = view;
  const blocks = app.model.launches[app.launch.value]?.blocks ?? 0;
  const quiet = view.crew.value.agents.length === 0;
  const open = now.agents ?? view.lanes.value.list.some((lane) => lane.kind === "agents");
  return (
    <div class="pd-bar pd-tools">
      <label class="pd-muted">
        axis{" "}
        <select
          class="pd-select"
          value={now.axis}
          onChange={(event) =>
            set({ axis: event.currentTarget.value as "step" | "event", x0: null, x1: null })
          }
        >
          <option value="step">steps</option>
          <option value="event">events</option>
        </select>
      </label>
      <button
        type="button"
        class="pd-button"
        title="Zoom out (−)"
        onClick={() => view.zoom(1.6, view.center)}
      >
        −
      </button>
      <button
        type="button"
        class="pd-button"
        title="Zoom in (+)"
        onClick={() => view.zoom(1 / 1.6, view.center)}
      >
        +
      </button>
      <button
        type="button"
        class="pd-button"
        title="Show the whole launch (0)"
        onClick={() => view.fit()}
      >
        all
      </button>
      <button
        type="button"
        class="pd-button"
        aria-pressed={open}
        disabled={quiet}
        title={
          quiet
            ? "This launch starts no copies or other asynchronous work"
            : "Rows of their own for copies and other asynchronous work"
        }
        onClick={() => {
          view.toggled.value = new Set();
          set({ agents: !open });
        }}
      >
        async
      </button>
      <button
        type="button"
        class="pd-button"
        aria-pressed={now.only}
        disabled={blocks < 2 && !now.only}
        title={
          blocks < 2
            ? "This launch has a single block"
            : "Only the threads of the selected block, zoomed to its time"
        }
        onClick={() => {
          set({ only: !now.only });
          view.showBlock(!now.only);
        }}
      >
        this block
      </button>
      <CopyButton app={view.app} text={() => view.python} />
    </div>
  );
}

function Legend({ app }: { app: App }) {
  const theme = app.theme.value;
  return (
    <div class="pd-legend" role="note">
      <span class="pd-legend-key">
        <Swatch color={theme.run} />
        runs
      </span>
      <span class="pd-legend-key">
        <Swatch color={theme.wait} pattern="rising" />
        waits
      </span>
      <span class="pd-legend-key">
        <Swatch color={theme.flight} />
        in flight
      </span>
      <span class="pd-legend-key pd-marks">
        <b style={{ color: theme.read }}>●</b> read <b style={{ color: theme.write }}>■</b> write{" "}
        <b>▲</b> arrive <b>○</b> phase <b>▼</b> wait over <b style={{ color: theme.flight }}>▶</b>{" "}
        start
      </span>
    </div>
  );
}

export const panel: Panel = { id: "threads", title: "Threads", Component: Threads };

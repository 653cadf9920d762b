/** Mouse, wheel and keys of the lanes: zoom, pan, select, jump. */

import { lowerBound } from "../../model/groups";
import type { CanvasProps, Pointer } from "../../ui/canvas";
import { extent } from "./coalesce";
import type { Frame } from "./frame";
import type { Lane } from "./lanes";
import type { ThreadsView } from "./view";
import { eventWords, spanWords } from "./words";

const NEAR = 7;

type Hands = Pick<
  CanvasProps,
  | "tip"
  | "onMove"
  | "onLeave"
  | "onDown"
  | "onUp"
  | "onClick"
  | "onDoubleClick"
  | "onWheel"
  | "onKey"
  | "cursor"
>;

interface Hit {
  readonly lane: number;
  /** -1 where there is none. */
  readonly span: number;
  readonly event: number;
}

/** What lies under a point: a lane, the bar, and the event if one is near. */
export function hit(view: ThreadsView, frame: Frame, x: number, y: number): Hit | null {
  const lane = view.laneUnder(y);
  if (lane < 0 || x < frame.left || x > frame.right) return null;
  const one = view.lanes.value.list[lane];
  const span = spanUnder(view, one, view.placeAt(x, frame));
  const event = nearest(view, one, span, view.placeAt(x, frame));
  const near = event >= 0 && Math.abs(view.xOf(event, frame) - x) <= NEAR;
  return { lane, span, event: near ? event : -1 };
}

/** The bar of a lane at a place, -1 in a gap. */
function spanUnder(view: ThreadsView, lane: Lane, place: number): number {
  const { spans } = view.model;
  const rows = view.rowsOf(lane);
  const axis = view.axis.value;
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (extent(rows[middle], spans, axis).to <= place) low = middle + 1;
    else high = middle;
  }
  return low < rows.length && extent(rows[low], spans, axis).from <= place ? rows[low] : -1;
}

/** The event of a lane next to a place; of an agent's lane that of the bar. */
export function nearest(view: ThreadsView, lane: Lane, span: number, place: number): number {
  const thread =
    lane.kind === "worker" ? lane.thread : span >= 0 ? view.model.spans.thread[span] : -1;
  if (thread < 0) return -1;
  const list = view.model.eventsOfThread(thread);
  if (list.length === 0) return -1;
  const axis = view.axis.value;
  const after = lowerBound(list, axis.eventAt(Math.floor(place)), 0, list.length);
  const distance = (i: number) => Math.abs(axis.at(list[i]) + 0.5 - place);
  let best = Math.min(after, list.length - 1);
  for (const i of [after - 1, after + 1]) {
    if (i >= 0 && i < list.length && distance(i) < distance(best)) best = i;
  }
  return list[best];
}

/** Events of one step lie on top of each other: each click there goes one further. */
function following(view: ThreadsView, event: number): number {
  const axis = view.axis.value;
  const here = view.app.event;
  const same = here >= 0 && axis.at(here) === axis.at(event);
  const list = view.model.eventsOfThread(view.model.events.thread[event]);
  const at = same ? lowerBound(list, here, 0, list.length) : -1;
  const next = at >= 0 && list[at] === here ? list[at + 1] : undefined;
  return next !== undefined && axis.at(next) === axis.at(event) ? next : event;
}

/** The handlers of the canvas. */
export function gestures(view: ThreadsView, frame: { readonly current: Frame }): Hands {
  let drag: { x: number; y: number; moved: boolean } | null = null;
  let clickIsDrag = false;
  const click = ({ x, y }: Pointer) => {
    if (clickIsDrag) return;
    const lane = view.laneUnder(y);
    if (lane < 0) return;
    const one = view.lanes.value.list[lane];
    if (x < frame.current.left) {
      if (x < 16 && one.kind === "worker" && view.hasAgents(one.thread)) view.toggle(one.thread);
      else view.app.focus({ thread: one.thread });
      return;
    }
    const place = view.placeAt(x, frame.current);
    const event = nearest(view, one, spanUnder(view, one, place), place);
    if (event >= 0) view.app.jump(following(view, event));
    else view.app.focus({ thread: one.thread });
  };
  return {
    cursor: "default",
    tip: (x, y) => tipAt(view, frame.current, x, y),
    onDown: ({ x, y, event }) => {
      drag = event.button === 0 ? { x, y, moved: false } : null;
      clickIsDrag = false;
    },
    onUp: () => {
      drag = null;
    },
    onMove: ({ x, y, event }) => {
      if (drag && event.buttons === 0) drag = null;
      if (!drag) {
        const found = hit(view, frame.current, x, y);
        const before = view.hover.peek();
        if (found?.event !== before?.event || found?.lane !== before?.lane)
          view.hover.value = found;
        return;
      }
      if (!drag.moved && Math.hypot(x - drag.x, y - drag.y) < 4) return;
      if (!drag.moved) (event.currentTarget as HTMLElement).setPointerCapture?.(event.pointerId);
      const { x0, x1 } = view.window.peek();
      view.pan(((drag.x - x) / frame.current.width) * (x1 - x0));
      view.scrollTo(view.scroll.peek() + drag.y - y);
      drag = { x, y, moved: true };
      clickIsDrag = true;
    },
    onLeave: () => {
      view.hover.value = null;
    },
    onClick: click,
    onWheel: (x, _, event) => wheel(view, frame.current, x, event),
    onKey: (event) => key(view, event),
  };
}

function tipAt(view: ThreadsView, frame: Frame, x: number, y: number): string | null {
  const lane = view.laneUnder(y);
  if (lane < 0) return null;
  if (x < frame.left) return view.model.threads.name(view.lanes.value.list[lane].thread);
  if (x > frame.right) return clockWords(view, lane);
  const found = hit(view, frame, x, y);
  if (!found) return null;
  if (found.event >= 0) return eventWords(view.model, found.event);
  return found.span >= 0 ? spanWords(view.model, found.span) : null;
}

/** The numbers of the clock column in words. */
function clockWords(view: ThreadsView, lane: number): string | null {
  const { app, model } = view;
  const { thread, kind } = view.lanes.value.list[lane];
  if (app.event < 0 || kind !== "worker") return null;
  const tick = model.clocks?.at(app.event).get(thread);
  const own = model.lastOfThread(thread, app.cursor.value);
  const here = own < 0 ? "has not begun" : `is at its tick ${model.tickOf(own)}`;
  const known =
    tick === undefined
      ? "nothing of it comes before the current event"
      : `the current event comes after its tick ${tick}`;
  return `${model.threads.name(thread)} ${here};\n${known}`;
}

function wheel(view: ThreadsView, frame: Frame, x: number, event: WheelEvent): boolean {
  const { x0, x1 } = view.window.peek();
  if (event.ctrlKey || event.metaKey) {
    view.zoom(
      Math.exp(Math.max(Math.min(event.deltaY, 120), -120) * 0.004),
      view.placeAt(x, frame),
    );
    return true;
  }
  const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
  if (Math.abs(sideways) < 1 || (!event.shiftKey && Math.abs(event.deltaY) > Math.abs(sideways)))
    return false;
  view.pan((sideways / frame.width) * (x1 - x0));
  return true;
}

function key(view: ThreadsView, event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const { x0, x1 } = view.window.peek();
  const actions: Record<string, () => void> = {
    "+": () => view.zoom(1 / 1.6, view.center),
    "=": () => view.zoom(1 / 1.6, view.center),
    "-": () => view.zoom(1.6, view.center),
    "0": () => view.fit(),
    ArrowUp: () => neighbor(view, -1),
    ArrowDown: () => neighbor(view, 1),
    PageUp: () => neighbor(view, -10),
    PageDown: () => neighbor(view, 10),
    Enter: () => next(view),
    " ": () => {
      if (view.app.thread.value >= 0) view.toggle(ownerOf(view, view.app.thread.value));
    },
  };
  if (event.shiftKey && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
    view.pan(((event.key === "ArrowLeft" ? -1 : 1) * (x1 - x0)) / 8);
    return true;
  }
  const action = actions[event.key];
  action?.();
  return action !== undefined;
}

function ownerOf(view: ThreadsView, thread: number): number {
  const { owner, workers } = view.crew.value;
  return owner[thread] >= 0 ? workers[owner[thread]] : thread;
}

/** Selects the thread some lanes further; the cursor stays. */
function neighbor(view: ThreadsView, by: number): void {
  const workers = view.lanes.value.list.filter((lane) => lane.kind === "worker");
  const at = workers.findIndex((lane) => lane.thread === ownerOf(view, view.app.thread.value));
  const lane = workers[Math.min(Math.max(at + by, 0), workers.length - 1)];
  if (!lane) return;
  view.app.focus({ thread: lane.thread });
  view.revealLane(view.laneOf(lane.thread));
  view.app.notice.value = view.model.threads.name(lane.thread);
}

/** The selected thread's next event, or its last where nothing follows. */
function next(view: ThreadsView): void {
  const list = view.model.eventsOfThread(view.app.thread.value);
  const after = lowerBound(list, view.app.cursor.value, 0, list.length);
  if (after < list.length) view.app.jump(list[after]);
  else if (list.length > 0) view.app.jump(list[list.length - 1]);
}

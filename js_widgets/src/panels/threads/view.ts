/** What the threads panel shows now: lanes, window, places; derived from the app's signals. */

import { batch, computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { Model } from "../../model/trace";
import type { App } from "../../ui/store";
import { type Axis, axisOf, clamped, panned, revealing, type Window, whole, zoomed } from "./axis";
import { FEW_WORKERS, type Frame, HEAD, type Settings, START } from "./frame";
import {
  byThread,
  type Crew,
  crewOf,
  type Lane,
  type Lanes,
  laneAt,
  type Pack,
  packsOf,
  stack,
} from "./lanes";

export class ThreadsView {
  readonly settings: Signal<Settings>;
  readonly scroll = signal(0);
  /** Workers whose agents are shown against the setting. */
  readonly toggled = signal<ReadonlySet<number>>(new Set());
  readonly hover = signal<{ span: number; event: number; lane: number } | null>(null);
  readonly axis: ReadonlySignal<Axis>;
  readonly window: ReadonlySignal<Window>;
  readonly crew: ReadonlySignal<Crew>;
  readonly lanes: ReadonlySignal<Lanes>;
  /** Height of the canvas; set while drawing. */
  viewport = 0;
  private readonly packs: ReadonlySignal<Map<number, readonly Pack[]>>;
  private readonly index: ReadonlySignal<ReturnType<typeof byThread>>;

  constructor(readonly app: App) {
    this.settings = app.slice<Settings>("timeline", START);
    const kind = computed(() => this.settings.value.axis);
    this.axis = computed(() => {
      const { events, launches } = app.model;
      const launch = launches[app.launch.value];
      return axisOf(kind.value, events, launch.firstEvent, launch.lastEvent);
    });
    this.window = computed(() => {
      const { launch, x0, x1 } = this.settings.value;
      const axis = this.axis.value;
      if (launch !== app.launch.value || x0 === null || x1 === null) return whole(axis);
      return clamped({ x0, x1 }, axis);
    });
    this.crew = computed(() => crewOf(app.model.threads, app.launch.value));
    this.index = computed(() => byThread(app.model.spans, app.model.threads.count));
    this.packs = computed(() => {
      void this.crew.value;
      return new Map();
    });
    const only = computed(() => (this.settings.value.only ? app.block.value : -1));
    const agents = computed(() => this.settings.value.agents);
    this.lanes = computed(() => {
      const crew = this.crew.value;
      const shown = positions(crew, app.model, only.value);
      const open = agents.value ?? shown.length <= FEW_WORKERS;
      const toggled = this.toggled.value;
      return stack(shown, crew, (p) =>
        open !== toggled.has(crew.workers[p]) ? this.packsAt(p) : [],
      );
    });
  }

  get model(): Model {
    return this.app.model;
  }

  /** Spans of a thread, in order. */
  spansOf(thread: number): Int32Array {
    const { offsets, rows } = this.index.value;
    return rows.subarray(offsets[thread], offsets[thread + 1]);
  }

  /** Packed agents below a worker. */
  packsAt(position: number): readonly Pack[] {
    const known = this.packs.value;
    let found = known.get(position);
    if (!found) {
      const { threads, spans } = this.model;
      found = packsOf(this.crew.value, position, threads, spans, this.index.value);
      known.set(position, found);
    }
    return found;
  }

  /** The spans that a lane shows. */
  rowsOf(lane: Lane): Int32Array {
    if (lane.kind === "worker") return this.spansOf(lane.thread);
    const packs = this.packsAt(this.crew.value.owner[lane.thread]);
    return packs.find((one) => one.agents === lane.agents)?.rows[lane.row] ?? new Int32Array(0);
  }

  /** Whether a thread only starts the others. */
  isHost(thread: number): boolean {
    return this.model.threads.kind(thread) === "launch";
  }

  /** Whether a wait lasted to the end of the recording. */
  isEndless(span: number): boolean {
    return this.model.spans.end[span] >= this.axis.value.last;
  }

  isOpen(thread: number): boolean {
    const next = this.lanes.value.list[this.laneOfWorker(thread) + 1];
    return next?.kind === "agents" && next.thread === thread;
  }

  hasAgents(thread: number): boolean {
    const { offsets, owner } = this.crew.value;
    return offsets[owner[thread] + 1] > offsets[owner[thread]];
  }

  /** Opens or closes the agents of one worker. */
  toggle(thread: number): void {
    const next = new Set(this.toggled.value);
    if (!next.delete(thread)) next.add(thread);
    this.toggled.value = next;
  }

  private readonly places = computed(() => {
    const found = new Map<number, number>();
    this.lanes.value.list.forEach((lane, i) => {
      if (lane.kind === "worker") found.set(lane.thread, i);
    });
    return found;
  });

  private laneOfWorker(thread: number): number {
    return this.places.value.get(thread) ?? -1;
  }

  /** The lane that shows a thread (an agent's owner where its rows are closed), -1 if none does. */
  laneOf(thread: number): number {
    const { owner, workers } = this.crew.value;
    const position = owner[thread] ?? -1;
    if (position < 0) return -1;
    const first = this.laneOfWorker(workers[position]);
    if (first < 0 || workers[position] === thread) return first;
    const { list } = this.lanes.value;
    const { spans } = this.model;
    for (let i = first + 1; list[i]?.kind === "agents"; i++) {
      if (list[i].agents !== this.model.threads.kind(thread)) continue;
      const own = this.spansOf(thread)[0];
      const rows = this.rowsOf(list[i]);
      if (own !== undefined && holds(rows, own, spans.start)) return i;
    }
    return first;
  }

  /** Middle of a lane on the canvas. */
  yOf(lane: number): number {
    const { tops, list } = this.lanes.value;
    return HEAD + tops[lane] + list[lane].height / 2 - this.scroll.value;
  }

  laneUnder(y: number): number {
    const lanes = this.lanes.value;
    const inside = y - HEAD + this.scroll.value;
    return y < HEAD || inside >= lanes.height || lanes.list.length === 0
      ? -1
      : laneAt(lanes, inside);
  }

  /** Place of an event on the canvas: the middle of its step. */
  xOf(event: number, frame: Frame): number {
    return this.xAt(this.axis.value.at(event) + 0.5, frame);
  }

  /** A place of the axis on the canvas. */
  xAt(place: number, frame: Frame): number {
    const window = this.window.value;
    return frame.left + ((place - window.x0) / (window.x1 - window.x0)) * frame.width;
  }

  placeAt(x: number, frame: Frame): number {
    const window = this.window.value;
    return window.x0 + ((x - frame.left) / frame.width) * (window.x1 - window.x0);
  }

  show(window: Window): void {
    const now = this.settings.peek();
    this.settings.value = { ...now, launch: this.app.launch.peek(), x0: window.x0, x1: window.x1 };
  }

  zoom(factor: number, around: number): void {
    this.show(zoomed(this.window.peek(), this.axis.peek(), factor, around));
  }

  pan(units: number): void {
    this.show(panned(this.window.peek(), this.axis.peek(), units));
  }

  fit(): void {
    this.settings.value = { ...this.settings.peek(), x0: null, x1: null };
  }

  /** Shows the life of the selected block, or everything again. */
  showBlock(only: boolean): void {
    this.scroll.value = 0;
    const row = this.model.blockRow(this.app.launch.peek(), this.app.block.peek());
    const axis = this.axis.peek();
    if (!only || row < 0) {
      this.fit();
      return;
    }
    const [low, high] = [
      axis.at(this.model.blocks.first[row]),
      axis.at(this.model.blocks.last[row]) + 1,
    ];
    const margin = (high - low) * 0.02;
    this.show(clamped({ x0: low - margin, x1: high + margin }, axis));
  }

  /** The expression of Python that shows the same. */
  get python(): string {
    const { launch, block } = this.app;
    const { x0, x1 } = this.window.value;
    const axis = this.axis.value;
    const only = this.settings.value.only && block.value >= 0 ? `, blocks=[${block.value}]` : "";
    return `pldb.plot.timeline(trace, launch=${launch.value}${only}, start=${axis.eventAt(x0)}, end=${axis.eventAt(x1)})`;
  }

  /** Where keys zoom: the current event if it is shown, else the middle. */
  get center(): number {
    const { x0, x1 } = this.window.peek();
    const event = this.app.event;
    const at = event >= 0 ? this.axis.peek().at(event) : x0;
    return at >= x0 && at <= x1 ? at : (x0 + x1) / 2;
  }

  /** Brings the current event into the window and its lane into view, if they are not. */
  reveal(): void {
    const event = this.app.event;
    if (event < 0) return;
    batch(() => {
      const window = this.window.peek();
      const next = revealing(window, this.axis.peek(), this.axis.peek().at(event));
      if (next !== window) this.show(next);
      this.revealLane(this.laneOf(this.app.thread.peek()));
    });
  }

  /** Scrolls as far as there are lanes. */
  scrollTo(top: number): void {
    const most = this.lanes.peek().height + HEAD - this.viewport;
    this.scroll.value = Math.max(Math.min(top, most), 0);
  }

  revealLane(lane: number): void {
    const { tops, list } = this.lanes.peek();
    const room = this.viewport - HEAD;
    if (lane < 0 || room <= 0) return;
    const [top, bottom] = [tops[lane], tops[lane] + list[lane].height];
    const scroll = this.scroll.peek();
    if (top < scroll) this.scrollTo(top - room / 3);
    else if (bottom > scroll + room) this.scrollTo(bottom - room + room / 3);
  }
}

/** Positions of the workers that are shown. */
function positions(crew: Crew, model: Model, block: number): number[] {
  const all = Array.from(crew.workers, (_, i) => i);
  if (block < 0) return all;
  const { threads } = model;
  return all.filter(
    (i) => threads.block[crew.workers[i]] === block || threads.block[crew.workers[i]] < 0,
  );
}

/** Whether a sorted row of spans has one. */
function holds(rows: Int32Array, span: number, start: ArrayLike<number>): boolean {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (start[rows[middle]] < start[span]) low = middle + 1;
    else high = middle;
  }
  for (let i = low; i < rows.length && start[rows[i]] === start[span]; i++)
    if (rows[i] === span) return true;
  return false;
}

/**
 * The state of one viewer: signals for the view state, and what a live host may be asked.
 *
 * `ViewState` is the only mutable thing of a page; two people with the same bundle and view
 * state see the same. Navigation lives in `commands.ts`; nothing here draws.
 */

import { batch, computed, effect, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { Model } from "../model/trace";
import type { Theme } from "./theme";

// biome-ignore lint/suspicious/noExplicitAny: panels keep JSON of their own
export type Json = any;

export interface Breakpoint {
  readonly id: number;
  /** A query as text: `line=41, block=(0, 0)`. */
  readonly where: string;
  /** A Python expression over the thread's variables, or "". Only a kernel evaluates it. */
  readonly when: string;
  readonly enabled: boolean;
  readonly label: string;
  /** A watchpoint that stops only where the values in its region change. */
  readonly change?: boolean;
}

/** The JSON of a view. Unknown keys are kept; missing ones have defaults. */
export interface ViewState {
  readonly v: 1;
  readonly run: number;
  readonly cursor: number;
  readonly thread: number;
  readonly block: number;
  readonly buffer: number;
  readonly launch: number;
  readonly element: readonly number[] | null;
  readonly pins: Json;
  readonly panel: Json;
  readonly filter: string;
  readonly breakpoints: readonly Breakpoint[];
  readonly [slice: string]: Json;
}

/** What a live page may ask; absent on a static page. */
export interface Host {
  /** False where a kernel only stores the view state; nothing is asked then. */
  readonly live?: boolean;
  request(type: string, args?: Json): Promise<{ content: Json; buffers: DataView[] }>;
  /** Called when the view state changed. */
  publish?(state: ViewState): void;
}

export interface Run {
  readonly number: number;
  readonly label: string;
  readonly model: Model;
}

const DEFAULTS: ViewState = {
  v: 1,
  run: 0,
  cursor: 0,
  thread: -1,
  block: -1,
  buffer: -1,
  launch: 0,
  element: null,
  pins: {},
  panel: {},
  filter: "",
  breakpoints: [],
};

type Focus = { thread: number; block: number; launch: number; buffer: number };

export class App {
  readonly runs: Signal<readonly Run[]>;
  readonly run: Signal<number>;
  /** How many events have happened; event `cursor - 1` is the current one. */
  readonly cursor: Signal<number>;
  readonly thread: Signal<number>;
  /** Linear block of `launch`, or -1. */
  readonly block: Signal<number>;
  readonly buffer: Signal<number>;
  readonly launch: Signal<number>;
  /** Coordinates of the selected element of `buffer`. */
  readonly element: Signal<readonly number[] | null>;
  readonly pins: Signal<Json>;
  readonly panel: Signal<Json>;
  readonly filter: Signal<string>;
  readonly breakpoints: Signal<readonly Breakpoint[]>;
  /** Colours for canvases, read from the style sheet; changes with light and dark. */
  readonly theme: Signal<Theme>;
  /** One line for the status bar and screen readers: "Nothing further." */
  readonly notice: Signal<string>;
  /** What a panel is asked to bring into view, until the cursor moves on. */
  readonly reveal: Signal<{
    panel: string;
    source: number;
    at: number;
    cursor: number;
  } | null> = signal(null);
  /** What the kernel found about where a value came from. */
  readonly origin: Signal<Json> = signal(null);
  /** How far the kernel is in recording more, null while it does not. */
  readonly recording: Signal<string | null> = signal(null);
  /** Name of the open overlay (help, breakpoints, origin), or null. */
  readonly overlay: Signal<string | null> = signal(null);
  /** Whether a panel does not show the position yet. */
  readonly isBehind: Signal<boolean> = signal(false);
  private readonly given: Host | undefined;
  private readonly left = signal(false);
  private readonly slices = new Map<string, Signal<Json>>();
  private readonly rest: Json;
  private wanted: { number: number; cursor: number } | null = null;

  constructor(model: Model, state: Partial<ViewState>, theme: Theme, host?: Host) {
    const given = { ...DEFAULTS, ...state };
    this.runs = signal([{ number: 0, label: "recording", model }]);
    this.run = signal(0);
    this.cursor = signal(clamp(given.cursor, 0, model.count));
    this.thread = signal(given.thread);
    this.block = signal(given.block);
    this.buffer = signal(given.buffer);
    this.launch = signal(clamp(given.launch, 0, Math.max(model.launches.length - 1, 0)));
    this.element = signal(given.element);
    this.pins = signal(given.pins);
    this.panel = signal(given.panel);
    this.filter = signal(given.filter);
    this.breakpoints = signal(given.breakpoints);
    this.theme = signal(theme);
    this.notice = signal("");
    this.given = host?.live === false ? undefined : host;
    this.rest = state;
    this.currentModel = computed(() => this.modelOf(this.run.value));
    // Nothing said: look at the thread that acts first, or next.
    if (state.thread === undefined && model.count) this.focusOn(Math.max(this.cursor.value - 1, 0));
  }

  /** Who can be asked; undefined in a static page, and once the kernel has ended. */
  get host(): Host | undefined {
    return this.left.value ? undefined : this.given;
  }

  /** The kernel has ended: what the page holds stays. */
  leave(): void {
    if (!this.given || this.left.value) return;
    this.left.value = true;
    this.recording.value = null;
    this.notice.value = "The kernel has ended: this page shows what it holds.";
  }

  private readonly currentModel: ReadonlySignal<Model>;

  /** The model of a run, of the recording where there is none. */
  modelOf(run: number): Model {
    const runs = this.runs.value;
    return (runs.find((one) => one.number === run) ?? runs[0]).model;
  }

  /** The model of the run that is shown; reading it subscribes. */
  get model(): Model {
    return this.currentModel.value;
  }

  /** The current event, -1 before the first. */
  get event(): number {
    return this.cursor.value - 1;
  }

  /** A panel's own part of the view state, by its panel id: JSON, saved and shared. */
  slice<T>(name: string, initial: T): Signal<T> {
    let found = this.slices.get(name);
    if (!found) {
      const given = this.rest[name];
      const merge = isPlain(given) && isPlain(initial);
      found = signal(merge ? { ...initial, ...given } : (given ?? initial));
      this.slices.set(name, found);
    }
    return found as Signal<T>;
  }

  get viewState(): ViewState {
    const own: Json = { ...this.rest };
    for (const [name, value] of this.slices) own[name] = value.value;
    return {
      ...own,
      v: 1,
      run: this.run.value,
      cursor: this.cursor.value,
      thread: this.thread.value,
      block: this.block.value,
      buffer: this.buffer.value,
      launch: this.launch.value,
      element: this.element.value,
      pins: this.pins.value,
      panel: this.panel.value,
      filter: this.filter.value,
      breakpoints: this.breakpoints.value,
    };
  }

  /** Moves the cursor; thread, block, launch (and buffer, unless pinned) follow the event. */
  moveTo(cursor: number): void {
    const { model } = this;
    const to = clamp(cursor, 0, model.count);
    batch(() => {
      if (to !== this.cursor.value) this.notice.value = "";
      this.cursor.value = to;
      if (to > 0) this.focusOn(to - 1);
    });
  }

  /** The cursor just after an event. */
  jump(event: number): void {
    this.moveTo(event + 1);
  }

  private focusOn(event: number): void {
    const { model } = this;
    this.thread.value = model.events.thread[event];
    this.launch.value = model.launchOf(event);
    this.block.value = model.events.block[event];
    const buffer = model.bufferOf(event);
    if (buffer >= 0 && !this.pins.value.buffer) this.selectBuffer(buffer);
  }

  /** Selects what to look at without moving the cursor. */
  focus(part: Partial<Focus>): void {
    batch(() => {
      const { model } = this;
      if (part.launch !== undefined) this.launch.value = part.launch;
      if (part.block !== undefined) this.block.value = part.block;
      if (part.thread !== undefined) {
        this.thread.value = part.thread;
        this.reveal.value = null;
        if (part.thread >= 0) {
          this.launch.value = model.threads.launch[part.thread];
          if (model.threads.block[part.thread] >= 0)
            this.block.value = model.threads.block[part.thread];
        }
      }
      if (part.buffer !== undefined) this.selectBuffer(part.buffer);
    });
  }

  private selectBuffer(buffer: number): void {
    if (buffer === this.buffer.value) return;
    const { buffers } = this.model;
    const before = this.buffer.value;
    const same =
      before >= 0 && before < buffers.count && buffers.name(before) === buffers.name(buffer);
    if (!same) this.element.value = null;
    this.buffer.value = buffer;
  }

  /** Takes a view state from outside (a host, another view of the same session). */
  adopt(state: Partial<ViewState>): void {
    batch(() => {
      const pairs = {
        cursor: this.cursor,
        thread: this.thread,
        block: this.block,
        buffer: this.buffer,
      };
      for (const [name, target] of Object.entries(pairs)) {
        if (typeof state[name] === "number") (target as Signal<number>).value = state[name];
      }
      if (typeof state.run === "number") this.run.value = state.run;
      if (typeof state.launch === "number") this.launch.value = state.launch;
      if (state.element !== undefined) this.element.value = state.element;
      if (state.breakpoints) this.breakpoints.value = state.breakpoints;
      if (typeof state.filter === "string") this.filter.value = state.filter;
    });
  }

  addRun(run: Run): void {
    const others = this.runs.value.filter((one) => one.number !== run.number);
    this.runs.value = [...others, run].sort((a, b) => a.number - b.number);
    if (this.wanted?.number === run.number) this.showRun(run.number, this.wanted.cursor);
  }

  /** Shows a run at a cursor, as soon as it is there. */
  showRun(number: number, cursor: number): void {
    const there = this.runs.value.some((one) => one.number === number);
    this.wanted = there ? null : { number, cursor };
    if (!there) return;
    batch(() => {
      this.run.value = number;
      this.moveTo(cursor);
    });
  }

  /** Calls back with each new view state, at most once per `delay` ms; returns a stop. */
  watch(publish: (state: ViewState) => void, delay = 60): () => void {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let last = "";
    const stop = effect(() => {
      const state = this.viewState;
      clearTimeout(timer);
      timer = setTimeout(() => {
        const text = JSON.stringify(state);
        if (last && text !== last) publish(state);
        last = text;
      }, delay);
    });
    last = JSON.stringify(this.viewState);
    return () => {
      clearTimeout(timer);
      stop();
    };
  }
}

function isPlain(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high);
}

/** What the memory panel shows now, derived from the app's signals. */

import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { Memory } from "../../model/fold";
import { lowerBound } from "../../model/groups";
import { lastWrite } from "../../model/navigation";
import { effective, type Region } from "../../model/regions";
import { tuple } from "../../model/tables";
import { count, formatNumber } from "../../model/values";
import { Kind } from "../../schema.gen";
import type { App } from "../../ui/store";
import { Recent } from "../drawing/recent";
import { rangeOf } from "../drawing/scales";
import { Differences, rangeOverTime, surveyOfConstant, type Tally } from "./contents";
import { layoutOf } from "./declared";
import { type Survey, survey } from "./heat";
import { Pixels } from "./heatpaint";
import { allOf, listed } from "./listed";
import type { Physical } from "./physical";
import { FITTED, type View } from "./plot";
import { askKernel, counted, countText, type SheetData, wholeSheet } from "./sheet";
import { cellOf, flatOf, inverse, placeOf, positionAt, type Slice, sliceOf } from "./slice";

export type Show = "values" | Tally;

export interface Settings {
  readonly view: "values" | "buffers" | "usage";
  /** Dimensions along x and y; null: the last two. */
  readonly axes: readonly [number, number] | null;
  /** Indices of the other dimensions. */
  readonly slice: readonly number[];
  readonly show: Show;
  /** Where elements lie instead of where they belong. */
  readonly physical: boolean;
  /** The range of colors: of all recorded values, or of those at the cursor. */
  readonly range: "all" | "now";
  /** Buffers of all blocks in the list. */
  readonly every: boolean;
}

const START: Settings = {
  view: "values",
  axes: null,
  slice: [],
  show: "values",
  physical: false,
  range: "all",
  every: false,
};

const HUGE = 1 << 24;
const MOST_FETCHED = 1 << 22;
/** As many buffers as a panel has room for. */
const FEW = 12;
/** Elements of arguments that are looked at before they are asked for. */
const MOST_AHEAD = 1 << 22;

export class MemoryView {
  readonly settings: Signal<Settings>;
  readonly zoom = signal<View>(FITTED);
  readonly hover = signal<readonly number[] | null>(null);
  readonly buffer: ReadonlySignal<number>;
  readonly physical: ReadonlySignal<Physical | null>;
  readonly position: ReadonlySignal<Int32Array | null>;
  readonly slice: ReadonlySignal<Slice>;
  /** Whether something else is shown instead of the heat map: a barrier, a question, nothing. */
  readonly covered: ReadonlySignal<boolean>;
  readonly sheet: ReadonlySignal<SheetData | null>;
  private readonly differences = new Differences();

  constructor(readonly app: App) {
    this.settings = app.slice<Settings>("memory", START);
    this.buffer = computed(() =>
      app.buffer.value < app.model.buffers.count ? app.buffer.value : -1,
    );
    const wantsPhysical = computed(() => this.settings.value.physical);
    this.physical = computed(() => {
      const buffer = this.buffer.value;
      return buffer >= 0 && wantsPhysical.value ? layoutOf(app.model, buffer) : null;
    });
    this.position = computed(() => inverse(this.physical.value?.logical ?? null));
    this.slice = computed(() => {
      const { axes, slice } = this.settings.value;
      const physical = this.physical.value;
      if (physical) return sliceOf(physical.shape);
      const shape = this.buffer.value < 0 ? [] : app.model.buffers.shape(this.buffer.value);
      return sliceOf(shape, { x: axes?.[0], y: axes?.[1], fixed: slice });
    });
    const show = computed(() => this.settings.value.show);
    const range = computed(() => this.settings.value.range);
    this.covered = computed(() => {
      const buffer = this.buffer.value;
      return buffer < 0 || app.model.buffers.isSync(buffer) || this.isHuge;
    });
    // What is covered stays as it is, and so does what is drawn of it.
    let last: SheetData | null = null;
    this.sheet = computed(() => {
      if (!this.covered.value) last = this.contents(show.value, range.value);
      return last;
    });
  }

  /** What the heat map shows of the selected buffer; null where counting would take too long. */
  private contents(show: Show, range: Settings["range"]): SheetData | null {
    const { model } = this.app;
    const cursor = this.app.cursor.value;
    const buffer = this.buffer.value;
    if (show !== "values") return counted(this.app, buffer, show, cursor);
    const memory = model.memory(buffer, cursor);
    if (!memory) return null;
    const change = this.differences.at(model, memory, cursor);
    const key = `${this.app.run.value} ${buffer} ${lowerBound(model.history(buffer)?.events ?? [], cursor)}`;
    const asked = this.fetched.value;
    if (asked?.key === key) return wholeSheet(this.app, asked.memory, range, `${key} asked`);
    const constant = model.history(buffer)?.isConstant;
    const found = constant
      ? surveyOfConstant(model, memory)
      : this.surveys.of(key, () => survey(memory));
    const colors =
      range === "all" ? rangeOverTime(model, memory.buffer) : rangeOf(found.low, found.high);
    return { memory, survey: found, range: colors, change, key };
  }

  /** What showing the arguments needs, in pieces: to be made while nobody waits. */
  ahead(): (() => unknown)[] {
    const { model } = this.app;
    const { buffers } = model;
    const found: (() => unknown)[] = [];
    let left = MOST_AHEAD;
    for (let b = 0; b < buffers.count && left > 0; b++) {
      const size = count(buffers.shape(b));
      if (buffers.initial[b] < 0 || size > left) continue;
      left -= size;
      const memory = () => model.memory(b, 0);
      const looked = () => {
        const there = model.history(b)?.isConstant && memory();
        if (there) surveyOfConstant(model, there);
      };
      found.push(memory, () => rangeOverTime(model, buffers.root[b]), looked);
    }
    return [...found, () => this.listed(this.app.launch.peek(), -1)];
  }

  private readonly lists = new Recent<Int32Array>(8);

  /** Buffers that are listed: those of a block, or of none; all of a launch if wanted, or few. */
  listed(launch: number, block: number): Int32Array {
    const { model } = this.app;
    const isFew = block < 0 && allOf(model, launch).length <= FEW;
    const wanted = this.settings.value.every || isFew ? "all" : block;
    const key = `${this.app.run.value} ${model.buffers.count} ${launch} ${wanted}`;
    return this.lists.of(key, () =>
      wanted === "all" ? allOf(model, launch) : listed(model, launch, wanted),
    );
  }

  /** How many more there are in blocks, where the list is of no block. */
  unlisted(launch: number, block: number): number {
    if (block >= 0) return 0;
    return allOf(this.app.model, launch).length - this.listed(launch, block).length;
  }

  /** Contents that a kernel was asked for: nothing is missing in them. */
  private readonly fetched = signal<{ key: string; memory: Memory } | null>(null);

  /** Asks the kernel, if there is one, for the values that this page does not hold. */
  async fetchMissing(): Promise<void> {
    const data = this.sheet.peek();
    if (!data?.survey.missing || data.survey.total > MOST_FETCHED) return;
    const memory = await askKernel(this.app, data.memory);
    if (memory) this.fetched.value = { key: data.key, memory };
  }

  readonly pixels = new Pixels();
  private readonly surveys = new Recent<Survey>(8);

  /** Buffers so large that following them takes a while are shown on demand only. */
  readonly allowed = signal<ReadonlySet<number>>(new Set());

  get isHuge(): boolean {
    const buffer = this.buffer.value;
    return count(this.app.model.buffers.shape(buffer)) > HUGE && !this.allowed.value.has(buffer);
  }

  /** Whether the page had time to make what the first steps ask for. */
  readonly isRested = signal(false);

  /** A barrier or semaphore, -1 if there is none. */
  readonly firstSync = computed(() => {
    const { buffers } = this.app.model;
    let b = 0;
    while (b < buffers.count && !buffers.isSync(b)) b++;
    return b < buffers.count ? b : -1;
  });

  /** The shape of a buffer with more than two dimensions, null if there is none. */
  readonly firstDeep = computed(() => {
    const { buffers } = this.app.model;
    for (let b = 0; b < buffers.count; b++) {
      const shape = buffers.shape(b);
      if (shape.length > 2 && shape.filter((size) => size > 1).length > 2) return shape;
    }
    return null;
  });

  set(part: Partial<Settings>): void {
    this.settings.value = { ...this.settings.peek(), ...part };
  }

  /** Coordinates of the element in a cell, null where there is none. */
  elementAt(row: number, column: number): number[] | null {
    const at = positionAt(this.slice.value, row, column);
    if (at < 0) return null;
    const flat = this.physical.value?.logical[at] ?? at;
    return placeOf(this.app.model.buffers.shape(this.buffer.value), flat);
  }

  /** The cell of an element, null if it lies in another slice. */
  cellOf(place: readonly number[]): [row: number, column: number] | null {
    const shape = this.app.model.buffers.shape(this.buffer.value);
    if (place.length !== shape.length) return null;
    const slice = this.slice.value;
    const position = this.position.value;
    if (!position) return cellOf(slice, place);
    const at = position[flatOf(shape, place)];
    return [Math.floor(at / slice.columns), at % slice.columns];
  }

  /** The value of an element as text, with what is special about it. */
  valueText(place: readonly number[]): string {
    const sheet = this.sheet.value;
    if (!sheet) return "";
    const { memory } = sheet;
    const flat = flatOf(memory.shape, place);
    if (!memory.initialized[flat]) return "uninitialized";
    if (!memory.recorded[flat]) return "a value that this page does not hold";
    if (this.settings.value.show !== "values")
      return countText(this.settings.value.show, memory.values[flat]);
    return formatNumber(memory.values[flat], memory.dtype, 9);
  }

  private written = { key: "", event: -1 };

  /** The event that wrote an element last, -1 if none did. */
  writerOf(place: readonly number[]): number {
    const cursor = this.app.cursor.value;
    const key = `${this.app.run.value} ${this.buffer.value} ${place} ${cursor}`;
    if (this.written.key !== key) {
      this.written = { key, event: lastWrite(this.app.model, this.buffer.value, place, cursor) };
    }
    return this.written.event;
  }

  /** `acc[3, 4]`. */
  name(place: readonly number[]): string {
    return `${this.app.model.buffers.name(this.buffer.value)}[${place.join(", ")}]`;
  }

  /** An element in a few lines: its value, and who wrote it. */
  words(place: readonly number[]): string {
    const { model } = this.app;
    const lines = [`${this.name(place)} = ${this.valueText(place)}`];
    const event = this.writerOf(place);
    if (event >= 0) {
      lines.push(`last write: #${event} ${model.what(event)}`);
      const where = model.place(event);
      lines.push(`${model.threads.name(model.events.thread[event])}${where ? ` · ${where}` : ""}`);
    } else if (model.buffers.initial[model.buffers.root[this.buffer.value]] >= 0)
      lines.push("not written so far: an argument");
    else lines.push("not written so far");
    return lines.join("\n");
  }

  /** The expression of Python that shows the same. */
  get python(): string {
    const { launch, cursor } = this.app;
    if (this.settings.value.view === "usage" || this.buffer.value < 0) {
      return `pldb.plot.memory(trace, launch=${launch.value})`;
    }
    const outer = this.slice.value.fixed.slice(0, -2);
    const index = outer.length > 0 ? `, index=${tuple(outer)}` : "";
    return `pldb.plot.buffer(trace, ${this.buffer.value}, at=${cursor.value}${index})`;
  }

  /** What the current event does to the selected buffer, if anything. */
  get access(): { region: Region; how: "read" | "write" | "update" } | null {
    const { app } = this;
    const event = app.event;
    if (event < 0 || this.buffer.value < 0) return null;
    const { model } = app;
    const { root } = model.buffers;
    const about = model.bufferOf(event);
    const how = HOW[model.events.kind[event]];
    if (
      !how ||
      about < 0 ||
      root[about] !== root[this.buffer.value] ||
      model.events.region[event] < 0
    )
      return null;
    return { region: model.region(model.events.region[event]), how };
  }

  /** Moves the slice to one that shows the current access, if it does not. */
  followAccess(): void {
    const access = this.access;
    const slice = this.slice.peek();
    if (!access || slice.y < 0 || this.physical.peek() || access.region.elements) return;
    const box = effective(access.region, this.app.model.buffers.shape(this.buffer.peek()));
    const fixed = slice.fixed.map((at, d) => {
      if (d === slice.x || d === slice.y || box.size[d] <= 0) return at;
      return at >= box.start[d] && at < box.start[d] + box.size[d] ? at : box.start[d];
    });
    if (String(fixed) !== String(slice.fixed)) this.set({ slice: fixed });
  }
}

const HOW: Record<number, "read" | "write" | "update"> = {
  [Kind.READ]: "read",
  [Kind.WRITE]: "write",
  [Kind.PAD]: "write",
  [Kind.UPDATE]: "update",
};

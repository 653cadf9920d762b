/** What the grid panel shows now: facets, colors and words, derived from the app's signals. */

import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { coordinates, tuple } from "../../model/tables";
import { bytesText, grouped, plural } from "../../model/text";
import type { App } from "../../ui/store";
import { arrange, axesOf, type Facet, PADDING, type Picture, siblings } from "./facets";
import { axisName } from "./labels";
import { blockAt, neighbor } from "./layout";
import {
  COLORS,
  type Color,
  coverageKeys,
  coverageLooks,
  type Key,
  metricText,
  numberClasses,
  numberLooks,
  stateKeys,
  stateLooks,
  stateText,
} from "./legend";
import type { Shown } from "./paint";
import { type Coverage, coverageOf, factsOf, type Metric, metricOf, statesAt } from "./states";

export interface Settings {
  readonly color: Color;
  readonly axes: readonly number[] | null;
}

export interface Place {
  readonly launch: number;
  readonly block: number;
}

export class GridView {
  readonly settings: Signal<Settings>;
  readonly hover = signal<Place | null>(null);
  /** Launches side by side. */
  readonly launches: ReadonlySignal<readonly number[]>;
  readonly states: ReadonlySignal<readonly Uint8Array[]>;
  readonly coverage: ReadonlySignal<readonly Coverage[]>;
  readonly numbers: ReadonlySignal<{ values: readonly Float64Array[]; low: number; high: number }>;
  /** Room for the picture; a larger one scrolls. */
  readonly size = signal({ width: 0, height: 0 });
  readonly picture: ReadonlySignal<Picture>;

  constructor(readonly app: App) {
    this.settings = app.slice<Settings>("grid", { color: "state", axes: null });
    const list = computed(() => siblings(app.model.launches, app.launch.value).join());
    this.launches = computed(() => list.value.split(",").map(Number));
    let last: readonly Uint8Array[] = [];
    this.states = computed(() => {
      const states = this.launches.value.map((one) =>
        statesAt(app.model, factsOf(app.model, one), app.cursor.value),
      );
      // Most steps change no state: the same answer draws nothing anew.
      if (!equal(states, last)) last = states;
      return last;
    });
    this.coverage = computed(() => {
      const buffer = app.buffer.value;
      if (buffer < 0) return [];
      return this.launches.value.map((one) =>
        coverageOf(app.model, one, buffer, app.element.value),
      );
    });
    const axes = computed(() => this.settings.value.axes);
    this.picture = computed(() => {
      const given = this.launches.value.map((number) => ({
        number,
        title: this.title(number),
        axes: axesOf(app.model.launches[number]),
      }));
      const { width, height } = this.size.value;
      return arrange(given, axes.value, width - 2 * PADDING, height - 2 * PADDING);
    });
    const metric = computed(() => this.settings.value.color as Metric);
    this.numbers = computed(() => {
      const values = this.launches.value.map((one) => metricOf(app.model, one, metric.value));
      let [low, high] = [Number.POSITIVE_INFINITY, 0];
      for (const list of values) {
        for (const value of list) {
          if (value >= 0) low = Math.min(low, value);
          high = Math.max(high, value);
        }
      }
      return { values, low: Math.min(low, high), high };
    });
  }

  /** The color that can be shown: without a buffer its use cannot. */
  get color(): Color {
    const { color } = this.settings.value;
    return color in COLORS && !(color === "coverage" && this.app.buffer.value < 0)
      ? color
      : "state";
  }

  private title(launch: number): string {
    const device = (this.app.model.header.launches[launch]?.device ?? {}) as Record<string, number>;
    const parts = Object.entries(device).map(([name, place]) => `${name}=${place}`);
    return parts.length > 0 ? `device ${parts.join(", ")}` : "";
  }

  /** Colors of the facet number `i`. */
  shown(i: number): Shown {
    const theme = this.app.theme.value;
    const { color } = this;
    if (color === "state") return { classes: this.states.value[i], looks: stateLooks(theme) };
    if (color === "coverage")
      return { classes: this.coverage.value[i].how, looks: coverageLooks(theme) };
    const { values, low, high } = this.numbers.value;
    return { classes: numberClasses(values[i], low, high), looks: numberLooks(theme) };
  }

  /** The keys of the legend; none for a scale of numbers. */
  readonly legend = computed(() => this.makeKeys());

  get keys(): readonly Key[] {
    return this.legend.value;
  }

  private makeKeys(): Key[] {
    const theme = this.app.theme.value;
    if (this.color === "state") return stateKeys(theme, joined(this.states.value));
    if (this.color === "coverage")
      return coverageKeys(theme, joined(this.coverage.value.map((one) => one.how)));
    return [];
  }

  /** The block under a point of the canvas. */
  at(x: number, y: number): Place | null {
    for (const facet of this.picture.value.facets) {
      const block = blockAt(facet.grid, x - facet.x, y - facet.y);
      if (block >= 0) return { launch: facet.launch, block };
    }
    return null;
  }

  facetOf(launch: number): Facet | undefined {
    return this.picture.value.facets.find((facet) => facet.launch === launch);
  }

  /** What is known of a block, in a few lines. */
  words({ launch, block }: Place): string {
    const { model } = this.app;
    const one = model.launches[launch];
    const i = Math.max(this.launches.value.indexOf(launch), 0);
    const place = coordinates(one, block);
    const axes = axesOf(one);
    const named = place?.map((n, axis) => `${axisName(axes, axis)} = ${n}`).join(", ");
    const lines = [
      `block ${place ? tuple(place) : block}: ${stateText(this.states.value[i][block])}`,
    ];
    if (named && place && place.length > 0) lines.push(named);
    const row = model.blockRow(launch, block);
    if (row >= 0) {
      const { events, read, written, waits } = model.blocks;
      lines.push(`${plural(events[row], "event")}, ${plural(waits[row], "wait")}`);
      lines.push(`${bytesText(read[row])} read, ${bytesText(written[row])} written`);
    }
    if (this.color === "coverage") {
      const { how, accesses } = this.coverage.value[i];
      const use = ["does not touch", "reads", "writes", "reads and writes"][how[block]];
      const n = accesses[block];
      const times = n > 0 ? ` (${n === 1 ? "once" : `${grouped(n)} times`})` : "";
      lines.push(`${use} ${this.target}${times}`);
    }
    return lines.join("\n");
  }

  /** The buffer or element whose use is shown. */
  get target(): string {
    const { model, buffer, element } = this.app;
    if (buffer.value < 0) return "";
    const name = model.buffers.name(buffer.value);
    return element.value ? `${name}[${element.value.join(", ")}]` : name;
  }

  /** The text alternative of the picture. */
  get label(): string {
    const { model, block, launch } = this.app;
    const one = model.launches[launch.value];
    const grid = one.blockShape.join(" × ") || "1";
    const keys = this.keys.map((key) => key.text).join(", ");
    const scale = keys || this.range;
    const here =
      block.value >= 0
        ? ` Selected: ${this.words({ launch: launch.value, block: block.value })}.`
        : "";
    return `Grid of ${grid} blocks of ${one.name} by ${COLORS[this.color]}: ${scale}.${here} Arrows select, Enter jumps.`;
  }

  /** The expression of Python that shows the same. */
  get python(): string {
    const { launch, cursor } = this.app;
    if (this.color === "coverage") {
      return `trace.events.where(buffer=${this.app.buffer.value}, kind=("read", "write", "update"))`;
    }
    const part =
      this.color === "state" ? `trace[:${cursor.value}], "order"` : `trace, "${this.color}"`;
    return `pldb.plot.grid(${part}, launch=${launch.value})`;
  }

  get range(): string {
    if (this.keys.length > 0) return "";
    const { low, high } = this.numbers.value;
    return `${metricText(this.color, low)} to ${metricText(this.color, high)}`;
  }

  /** Where a block lies in the picture, null if it is not in it. */
  boxOf({ launch, block }: Place): { x: number; y: number; width: number; height: number } | null {
    const facet = this.facetOf(launch);
    if (!facet || !(block >= 0 && block < facet.grid.blocks)) return null;
    const { columns, rows, column, row } = facet.grid;
    return {
      x: facet.x + columns.offsets[column[block]],
      y: facet.y + rows.offsets[row[block]],
      width: columns.cell,
      height: rows.cell,
    };
  }

  select(place: Place): void {
    const { app } = this;
    const thread = app.model
      .threadsOfBlock(place.launch, place.block)
      .find((t) => !app.model.threads.isAgent(t));
    app.focus({ ...place, ...(thread === undefined ? {} : { thread }) });
    app.focus(place);
    app.notice.value = this.words(place).split("\n").join(", ");
  }

  /** Jumps to the first (or last) event of a block; says so where it has none. */
  enter({ launch, block }: Place, end: "first" | "last" = "first"): void {
    const facts = factsOf(this.app.model, launch);
    const event = facts[end][block] ?? -1;
    if (event >= 0) this.app.jump(event);
    else this.app.notice.value = "Nothing was recorded of this block.";
  }

  /** Moves the selection in the picture. */
  move(dx: number, dy: number): void {
    const launch = this.app.launch.value;
    const facet = this.facetOf(launch);
    if (!facet) return;
    const block = neighbor(facet.grid, this.app.block.value, dx, dy);
    if (block >= 0) this.select({ launch, block });
  }
}

function equal(a: readonly Uint8Array[], b: readonly Uint8Array[]): boolean {
  return (
    a.length === b.length &&
    a.every((one, i) => one.length === b[i].length && one.every((x, j) => x === b[i][j]))
  );
}

function joined(lists: readonly Uint8Array[]): Uint8Array {
  if (lists.length === 1) return lists[0];
  const all = new Uint8Array(lists.reduce((n, list) => n + list.length, 0));
  let at = 0;
  for (const list of lists) {
    all.set(list, at);
    at += list.length;
  }
  return all;
}

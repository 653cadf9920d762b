/**
 * A trace for panels: columns, tables and the indexes that follow from them.
 *
 * Columns are typed arrays; an event is a number, never an object. Indexes are built when first
 * asked, once. Nothing here draws and nothing judges.
 */

import type { Bundle, Header, Ints } from "../bundle";
import { COLUMNS, Kind, RegionKind } from "../schema.gen";
import { callersOf, callsOf } from "./calls";
import { type Clocks, readClocks } from "./clocks";
import { History, type Memory } from "./fold";
import { Groups, lowerBound } from "./groups";
import { readKernels, readLaunches, readSources, type Source } from "./read";
import type { Region } from "./regions";
import type { Blocks, Edges, EventColumns, Finding, LineCounts, Spans } from "./rows";
import { Buffers, type Kernel, type Launch, type Loc, Threads } from "./tables";
import * as text from "./text";
import { count, decodeNumbers, itemBytes, type Value } from "./values";

const PAYLOADS_KEPT = 64;

export class Model {
  readonly header: Header;
  /** Number of events; cursors go from 0 to it. */
  readonly count: number;
  readonly events: EventColumns;
  readonly sources: readonly Source[];
  readonly kernels: readonly Kernel[];
  readonly launches: readonly Launch[];
  readonly threads: Threads;
  readonly buffers: Buffers;
  readonly texts: readonly string[];
  readonly findings: readonly Finding[];
  readonly title: string;
  private readonly cache = new Map<string, unknown>();
  private readonly payloads = new Map<number, Value | null>();
  private readonly histories = new Map<number, History>();

  constructor(readonly bundle: Bundle) {
    const { header } = bundle;
    this.header = header;
    this.count = header.events;
    this.events = columnsOf(bundle);
    this.sources = readSources(header);
    this.kernels = readKernels(bundle, this.sources);
    this.launches = readLaunches(header);
    this.threads = new Threads(bundle, this.launches);
    this.buffers = new Buffers(bundle, this.launches, this.threads, () => this.lifetimes());
    this.texts = header.texts ?? [];
    this.findings = (header.view?.findings as Finding[] | undefined) ?? [];
    this.title =
      header.view?.title || [...new Set(this.launches.map((one) => one.name))].join(", ");
  }

  /** Version of the JAX that the kernel was recorded with, or "". */
  get jaxVersion(): string {
    const jax = this.header.meta?.jax;
    return typeof jax === "string" ? jax : "";
  }

  /** Whether the bundle has what Python derives for the viewer; a plain trace file has not. */
  get hasView(): boolean {
    return Boolean(this.header.view);
  }

  private once<T>(name: string, make: () => T): T {
    if (!this.cache.has(name)) this.cache.set(name, make());
    return this.cache.get(name) as T;
  }

  private lifetimes(): [Ints, Ints] {
    const alloc = new Int32Array(this.bundle.ints("buffers.thread").length).fill(-1);
    const free = alloc.slice();
    const { kind, object } = this.events;
    for (let e = 0; e < this.count; e++) {
      if (kind[e] === Kind.ALLOC) alloc[object[e]] = e;
      else if (kind[e] === Kind.FREE) free[object[e]] = e;
    }
    return [alloc, free];
  }

  // -- one event ---------------------------------------------------------------------------

  /** Row of the launches table, -1 if there is none. */
  launchOf(event: number): number {
    for (let i = this.launches.length - 1; i > 0; i--) {
      if (event >= this.launches[i].firstEvent) return i;
    }
    return this.launches.length - 1 >= 0 ? 0 : -1;
  }

  kernelOf(event: number): Kernel {
    return this.kernels[this.launches[this.launchOf(event)].kernel];
  }

  opOf(event: number): string {
    return this.kernelOf(event).ops[this.events.instr[event]] ?? "";
  }

  /** The user's source line, 0 if unknown. */
  lineOf(event: number): number {
    return this.kernelOf(event).line[this.events.instr[event]] ?? 0;
  }

  /** Row of `sources`, -1 if unknown. */
  sourceOf(event: number): number {
    return this.kernelOf(event).source[this.events.instr[event]] ?? -1;
  }

  scopeOf(event: number): number {
    return this.kernelOf(event).scope[this.events.instr[event]] ?? 0;
  }

  locOf(event: number): Loc | null {
    const kernel = this.kernelOf(event);
    return kernel.locs[kernel.loc[this.events.instr[event]] ?? kernel.kernelLoc] ?? null;
  }

  /** Rows of the kernel's `locs`: where the calls around an event stand, innermost first. */
  callersOf(event: number): readonly number[] {
    return callersOf(this.kernelOf(event), this.events.instr[event]);
  }

  /** Where the functions around an event were called, innermost first. */
  callsOf(event: number): readonly Loc[] {
    const kernel = this.kernelOf(event);
    return callsOf(kernel, this.events.instr[event]).map((row) => kernel.locs[row]);
  }

  /** Row of `sources` of a file, -1 if unknown. */
  sourceNamed(file: string): number {
    return this.sources.findIndex((one) => one.file === file);
  }

  /** The buffer that an event is about, -1 if it is about none. */
  bufferOf(event: number): number {
    const kind = this.events.kind[event];
    return kind === Kind.SPAWN || kind === Kind.JOIN ? -1 : this.events.object[event];
  }

  /** The event's tick on its own thread. */
  tickOf(event: number): number {
    return this.ticks[event];
  }

  what(event: number): string {
    return text.what(this, event);
  }

  place(event: number): string {
    return text.place(this, event);
  }

  /** Whether the instructions stand in more than one file, so that a line alone says little. */
  get hasFiles(): boolean {
    return this.once("hasFiles", () => {
      const files = new Set(this.kernels.flatMap((kernel) => [...new Set(kernel.source)]));
      files.delete(-1);
      return files.size > 1;
    });
  }

  /** `line 41`, or `kernel.py:41` where there are several files. */
  said(file: string, line: number): string {
    return this.hasFiles && file ? `${text.fileName(file)}:${line}` : `line ${line}`;
  }

  /** The same of an event; empty if it has no line. */
  lineSaid(event: number): string {
    const line = this.lineOf(event);
    return line ? this.said(this.sources[this.sourceOf(event)]?.file ?? "", line) : "";
  }

  // -- indexes -----------------------------------------------------------------------------

  private get byThread(): Groups {
    return this.once("byThread", () => Groups.ofKeys(this.events.thread, this.threads.count));
  }

  /** Sorted events of a thread. */
  eventsOfThread(thread: number): Int32Array {
    return this.byThread.of(thread);
  }

  /** The thread's last event before `at`, or -1. */
  lastOfThread(thread: number, at: number): number {
    if (at <= 0) return -1;
    const events = this.eventsOfThread(thread);
    const done = lowerBound(events, at);
    return done ? events[done - 1] : -1;
  }

  private get ticks(): Ints {
    if (this.bundle.has("view.clock")) return this.bundle.ints("view.clock");
    return this.once("ticks", () => {
      const next = new Int32Array(this.threads.count);
      const { thread } = this.events;
      return Int32Array.from({ length: this.count }, (_, e) => next[thread[e]]++);
    });
  }

  /** Sorted events about the memory of a buffer (aliases count). */
  eventsOfBuffer(buffer: number): Int32Array {
    return this.byBuffer.of(this.buffers.root[buffer]);
  }

  private get byBuffer(): Groups {
    return this.once("byBuffer", () => {
      const { root } = this.buffers;
      const { kind, object } = this.events;
      const keys = new Int32Array(this.count).fill(-1);
      for (let e = 0; e < this.count; e++) {
        const about = object[e];
        if (about >= 0 && kind[e] !== Kind.SPAWN && kind[e] !== Kind.JOIN) keys[e] = root[about];
      }
      return Groups.ofKeys(keys, this.buffers.count);
    });
  }

  /** Events that change the memory of a root buffer; aliases' births do not. */
  changesOf(root: number): Int32Array {
    const { kind } = this.events;
    const { alias } = this.buffers;
    const { object } = this.events;
    const changes = new Set<number>([Kind.ALLOC, Kind.WRITE, Kind.UPDATE, Kind.PAD]);
    return this.eventsOfBuffer(root).filter(
      (e) => changes.has(kind[e]) && !(kind[e] === Kind.ALLOC && alias[object[e]] >= 0),
    );
  }

  /** Row of `blocks` for a linear block of a launch, or -1. */
  blockRow(launch: number, block: number): number {
    const rows = this.once("blockRows", () => {
      const found = new Map<number, number>();
      const { blocks } = this;
      for (let i = 0; i < blocks.count; i++)
        found.set(blocks.launch[i] * 2 ** 32 + blocks.block[i], i);
      return found;
    });
    return rows.get(launch * 2 ** 32 + block) ?? -1;
  }

  /** Where the blocks of each launch begin among those of all; one place before is for no block. */
  private get places(): { readonly starts: readonly number[]; readonly total: number } {
    return this.once("places", () => {
      const starts: number[] = [];
      let total = 0;
      for (const { blocks } of this.launches) {
        starts.push(total + 1);
        total += 1 + blocks;
      }
      return { starts, total };
    });
  }

  /** Sorted events of a block of a launch. */
  eventsOfBlock(launch: number, block: number): Int32Array {
    const { starts, total } = this.places;
    const groups = this.once("byBlock", () => {
      const keys = new Int32Array(this.count).fill(-1);
      this.launches.forEach((one, i) => {
        for (let e = one.firstEvent; e < one.lastEvent; e++) {
          if (this.events.block[e] >= 0) keys[e] = starts[i] + this.events.block[e];
        }
      });
      return Groups.ofKeys(keys, total);
    });
    return block < 0 ? new Int32Array(0) : groups.of(starts[launch] + block);
  }

  /** Threads of a block of a launch, or of none, in table order (agents too). */
  threadsOfBlock(launch: number, block: number): Int32Array {
    const { starts, total } = this.places;
    const groups = this.once("threadsByBlock", () => {
      const { block: blocks, launch: of, count } = this.threads;
      return Groups.by(count, total, (t) => starts[of[t]] + blocks[t]);
    });
    return groups.of(starts[launch] + block);
  }

  private table<T>(name: string, fields: readonly string[]): T {
    return this.once(name, () => {
      const columns = fields.map(
        (field) => [field, this.bundle.intsOrNone(`view.${name}.${field}`)] as const,
      );
      return { count: columns[0][1].length, ...Object.fromEntries(columns) } as T;
    });
  }

  /** What each thread did when, sorted by start; empty for a plain trace file. */
  get spans(): Spans {
    return this.table("spans", ["thread", "start", "end", "kind", "object"]);
  }

  get edges(): Edges {
    return this.table("edges", ["src", "dst", "kind"]);
  }

  get blocks(): Blocks {
    const fields = [
      "launch",
      "block",
      "first",
      "last",
      "events",
      "read",
      "written",
      "waits",
      "worst",
    ];
    return this.table("blocks", fields);
  }

  /** Events that enter calls anew without having left: how many of their callers stay. */
  get kept(): ReadonlyMap<number, number> {
    return this.once("kept", () => {
      const fields = ["event", "kept"];
      const rows = this.table<Record<"event" | "kept", Ints>>("entries", fields);
      return new Map(Array.from(rows.event, (event, i) => [event, rows.kept[i]]));
    });
  }

  /** Rows of `edges` that end (`dst`) or start (`src`) at an event. */
  edgesAt(event: number, side: "src" | "dst"): Int32Array {
    const { edges } = this;
    const groups = this.once(`edges.${side}`, () =>
      Groups.by(edges.count, this.count, (row) => edges[side][row]),
    );
    return groups.of(event);
  }

  get lineCounts(): readonly LineCounts[] {
    return this.once("lines", () =>
      ((this.header.view?.lines ?? []) as number[][]).map((row) => ({
        launch: row[0],
        source: row[1],
        line: row[2],
        executions: row[3],
        read: row[4],
        written: row[5],
        waits: row[6],
      })),
    );
  }

  /** What the first steps ask for, in pieces: to be made while nobody waits. */
  ahead(): (() => unknown)[] {
    const regions = ["regions.offsets", "regions.data"];
    return [
      () => this.byThread,
      () => this.byBuffer,
      () => this.ticks,
      () => this.events.step,
      () => this.clocks,
      () => this.edgesAt(0, "dst"),
      () => this.edgesAt(0, "src"),
      () => this.threadsOfBlock(0, 0),
      ...regions.map((name) => () => this.bundle.intsOrNone(name)),
    ];
  }

  /** Vector clocks by lookup; null for a plain trace file. */
  get clocks(): Clocks | null {
    return this.once("clocks", () => readClocks(this.bundle, this));
  }

  // -- values ------------------------------------------------------------------------------

  region(row: number): Region {
    const offsets = this.bundle.ints("regions.offsets");
    const data = this.bundle.ints("regions.data");
    const [first, end] = [offsets[row], offsets[row + 1]];
    const kind = data[first];
    if (kind === RegionKind.ELEMENTS) {
      const elements = this.payload(data[first + 1])?.values ?? null;
      return { kind, start: [], size: [], stride: [], mask: null, elements };
    }
    const masked = kind === RegionKind.MASKED;
    const mask = masked ? (this.payload(data[end - 1])?.values ?? null) : null;
    const start: number[] = [];
    const size: number[] = [];
    const stride: number[] = [];
    for (let i = first + 1; i + 2 < end - (masked ? 1 : 0); i += 3) {
      start.push(data[i]);
      size.push(data[i + 1]);
      stride.push(data[i + 2]);
    }
    return { kind, start, size, stride, mask, elements: null };
  }

  /** Row of the payloads table, decoded; null if the bundle left it out. */
  payload(row: number): Value | null {
    const kept = this.payloads.get(row);
    if (kept !== undefined) return kept;
    const { dtypes, shapes } = this.header.payloads as { dtypes: string[]; shapes: number[][] };
    const code = this.bundle.ints("payloads.dtype")[row];
    let value: Value | null = null;
    if (code >= 0) {
      const [dtype, shape] = [dtypes[code], shapes[this.bundle.ints("payloads.shape")[row]]];
      const offset = this.bundle.ints("payloads.offset")[row];
      const bytes = this.bundle.bytes(offset, count(shape) * itemBytes(dtype));
      value = { dtype, shape, values: decodeNumbers(bytes, dtype, this.header.view?.dtypes ?? {}) };
    }
    if (this.payloads.size >= PAYLOADS_KEPT)
      this.payloads.delete(this.payloads.keys().next().value ?? 0);
    this.payloads.set(row, value);
    return value;
  }

  /** The value recorded at an event; null if there is none or it was left out. */
  valueOf(event: number): Value | null {
    const row = this.events.payload[event];
    return row >= 0 ? this.payload(row) : null;
  }

  /** All changes of a buffer's memory, with its state at any event; null for barriers. */
  history(buffer: number): History | null {
    const root = this.buffers.root[buffer];
    if (this.buffers.isSync(root)) return null;
    let found = this.histories.get(root);
    if (!found) {
      found = new History(this, root);
      this.histories.set(root, found);
    }
    return found;
  }

  /** Contents of a buffer at a cursor; valid until the next call for the same buffer. */
  memory(buffer: number, cursor: number): Memory | null {
    return this.history(buffer)?.at(cursor) ?? null;
  }
}

/** Columns that are decoded when somebody asks for them; damage is found now. */
function columnsOf(bundle: Bundle): EventColumns {
  const columns = {};
  for (const name of COLUMNS) {
    bundle.stored(`events.${name}`);
    const get = () => {
      const value = bundle.ints(`events.${name}`);
      Object.defineProperty(columns, name, { value, enumerable: true });
      return value;
    };
    Object.defineProperty(columns, name, { get, configurable: true, enumerable: true });
  }
  return columns as EventColumns;
}

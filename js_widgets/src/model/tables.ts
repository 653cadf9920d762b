/** The side tables of a trace with typed accessors: launches, kernels, threads, buffers. */

import type { Bundle, Ints } from "../bundle";
import { count, isSync, sizeBytes } from "./values";

export interface Loc {
  readonly file: string;
  readonly line: number;
  readonly endLine: number;
  readonly function: string;
  readonly text: string;
}

export interface Scope {
  readonly kind: string;
  readonly name: string;
  readonly parent: number;
  readonly loc: number;
}

/** A kernel's instructions by column; the index is an event's `instr`. */
export interface Kernel {
  readonly number: number;
  readonly name: string;
  readonly backend: string;
  readonly ops: readonly string[];
  /** Row of `locs` of each instruction (the kernel's own where unknown), or -1. */
  readonly loc: Int32Array;
  readonly line: Int32Array;
  readonly endLine: Int32Array;
  /** Row of the bundle's sources, or -1. */
  readonly source: Int32Array;
  readonly scope: Int32Array;
  readonly scopes: readonly Scope[];
  /** Of each scope: rows of `locs` of the calls around it and of its own, innermost first. */
  readonly sites: readonly (readonly number[])[];
  readonly locs: readonly Loc[];
  readonly kernelLoc: number;
  /** Python variable of each instruction's result, or "". */
  readonly names: readonly string[];
  readonly listing: readonly ListingLine[];
}

export type ListingLine = readonly [
  depth: number,
  instr: number,
  text: string,
  source: number,
  line: number,
];

export interface Launch {
  readonly number: number;
  readonly name: string;
  readonly backend: string;
  readonly kernel: number;
  /** Sizes of what linear block numbers count, row-major: mesh, grid, cluster. */
  readonly blockShape: readonly number[];
  readonly grid: readonly number[];
  readonly cluster: readonly number[];
  readonly axisNames: readonly string[];
  readonly chip: string;
  readonly axes: Readonly<Record<string, number>>;
  /** Sizes of the device axes that it ran on together; empty for one device. */
  readonly mesh: readonly number[];
  readonly limits: Readonly<Record<string, number>>;
  readonly peaks: Readonly<Record<string, number>>;
  readonly scalars: Readonly<Record<string, unknown>>;
  readonly outcome: { readonly kind: string; readonly message: string };
  readonly firstEvent: number;
  readonly lastEvent: number;
  readonly blocks: number;
}

export function coordinates(launch: Launch, block: number): number[] | null {
  if (!(block >= 0 && block < launch.blocks)) return null;
  const found: number[] = [];
  let rest = block;
  for (let d = launch.blockShape.length - 1; d >= 0; d--) {
    const size = launch.blockShape[d];
    found.unshift(rest % size);
    rest = Math.floor(rest / size);
  }
  return found;
}

/** Linear number of grid coordinates, -1 if there is no such block. */
export function linear(launch: Launch, place: readonly number[]): number {
  if (place.length !== launch.blockShape.length) return -1;
  let number = 0;
  for (let d = 0; d < place.length; d++) {
    if (!(place[d] >= 0 && place[d] < launch.blockShape[d])) return -1;
    number = number * launch.blockShape[d] + place[d];
  }
  return number;
}

/** A tuple as Python writes it. */
export function tuple(values: readonly (number | string)[]): string {
  return values.length === 1 ? `(${values[0]},)` : `(${values.join(", ")})`;
}

class Interned {
  /** Row of `known` of each row of the table. */
  readonly codes: Ints;
  readonly texts: readonly string[];
  private readonly known: readonly unknown[];

  constructor(bundle: Bundle, table: string, field: string) {
    this.codes = bundle.intsOrNone(`${table}.${field}`);
    this.known = bundle.header[table]?.interned?.[field] ?? [];
    this.texts = this.known.map(String);
  }

  text(row: number): string {
    return this.texts[this.codes[row]] ?? "";
  }

  shape(row: number): readonly number[] {
    return (this.known[this.codes[row]] as number[] | undefined) ?? [];
  }
}

const WORKERS = new Set(["launch", "core", "warpgroup", "block", "warp"]);
const MARKS: Record<string, string> = {
  warpgroup: "W",
  core: "C",
  block: "B",
  warp: "w",
  launch: "L",
  tma: "T",
  dma: "D",
  wgmma: "M",
  tcgen05: "M",
};

export class Threads {
  readonly count: number;
  readonly parent: Ints;
  readonly device: Ints;
  readonly cluster: Ints;
  /** Linear block, -1 where it changes over time (a core). */
  readonly block: Ints;
  readonly index: Ints;
  readonly launch: Ints;
  readonly instr: Ints;
  private readonly kinds: Interned;
  /** Whether a kind, by its code, is one of agents. */
  private readonly agents: readonly boolean[];

  constructor(
    bundle: Bundle,
    private readonly launches: readonly Launch[],
  ) {
    this.parent = bundle.ints("threads.parent");
    this.device = bundle.ints("threads.device");
    this.cluster = bundle.ints("threads.cluster");
    this.block = bundle.ints("threads.block");
    this.index = bundle.ints("threads.index");
    this.launch = bundle.ints("threads.launch");
    this.instr = bundle.ints("threads.instr");
    this.kinds = new Interned(bundle, "threads", "kind");
    this.count = this.parent.length;
    this.agents = this.kinds.texts.map((kind) => !WORKERS.has(kind));
  }

  kind(thread: number): string {
    return this.kinds.text(thread);
  }

  isAgent(thread: number): boolean {
    return this.agents[this.kinds.codes[thread]] ?? true;
  }

  /** E.g. `warpgroup 1 of block (0, 3)`, the same as Python's `trace.threads[i].name`. */
  name(thread: number): string {
    const launch = this.launches[this.launch[thread]];
    const where = placed(launch, this.block[thread]);
    const kind = this.kind(thread);
    const index = this.index[thread];
    let text = "";
    if (kind === "launch") text = `launch ${this.launch[thread]}`;
    else if (kind === "block") text = where || `block ${index}`;
    else text = `${kind} ${index >= 0 ? index : thread}${where ? ` of ${where}` : ""}`;
    return onDevice(text, this.device[thread], launch);
  }

  /** Name without the block: `warpgroup 1`, for lanes under a heading. */
  short(thread: number): string {
    const kind = this.kind(thread);
    const index = this.index[thread];
    if (kind === "block" || kind === "launch") return kind;
    return `${kind} ${index >= 0 ? index : thread}`;
  }

  /** One or two characters, for markers: `W0`, `T`. */
  mark(thread: number): string {
    const kind = this.kind(thread);
    const index = this.index[thread];
    return (MARKS[kind] ?? kind.charAt(0)) + (index >= 0 && kind !== "block" ? index : "");
  }
}

/** A block as its own device counts it, empty where there is nothing to count. */
function placed(launch: Launch | undefined, block: number): string {
  const place = launch && coordinates(launch, block);
  const first = launch?.mesh.length ?? 0;
  return place && (place.length > first || first === 0) ? `block ${tuple(place.slice(first))}` : "";
}

function onDevice(text: string, device: number, launch: Launch | undefined): string {
  return isOneOfSeveral(device, launch) ? `${text} on device ${device}` : text;
}

function isOneOfSeveral(device: number, launch: Launch | undefined): boolean {
  return device >= 0 && !!launch && count(Object.values(launch.axes)) > 1;
}

export class Buffers {
  readonly count: number;
  readonly thread: Ints;
  readonly block: Ints;
  readonly device: Ints;
  readonly launch: Ints;
  readonly alias: Ints;
  readonly initial: Ints;
  readonly arrivals: Ints;
  readonly loc: Ints;
  /** Events of birth and end, -1 if it was there before or stayed. */
  readonly alloc: Ints;
  readonly free: Ints;
  /** The buffer whose memory each one shares (itself, mostly). */
  readonly root: Ints;
  private readonly text: Record<"name" | "space" | "dtype" | "scope" | "role" | "shape", Interned>;

  constructor(
    bundle: Bundle,
    private readonly launches: readonly Launch[],
    private readonly threads: Threads,
    lifetimes: () => [alloc: Ints, free: Ints],
  ) {
    const ints = (name: string) => bundle.ints(`buffers.${name}`);
    this.thread = ints("thread");
    this.count = this.thread.length;
    this.block = ints("block");
    this.device = ints("device");
    this.launch = ints("launch");
    this.alias = ints("alias");
    this.initial = ints("initial");
    this.arrivals = ints("arrivals");
    this.loc = bundle.has("buffers.loc") ? ints("loc") : new Int32Array(this.count).fill(-1);
    const field = (name: string) => new Interned(bundle, "buffers", name);
    this.text = {
      name: field("name"),
      space: field("space"),
      dtype: field("dtype"),
      scope: field("scope"),
      role: field("role"),
      shape: field("shape"),
    };
    const given = bundle.has("view.buffers.alloc");
    [this.alloc, this.free] = given
      ? [bundle.ints("view.buffers.alloc"), bundle.ints("view.buffers.free")]
      : lifetimes();
    this.root = bundle.has("view.buffers.root") ? bundle.ints("view.buffers.root") : this.roots();
  }

  private roots(): Ints {
    const found = new Int32Array(this.count);
    for (let i = 0; i < this.count; i++) {
      const alias = this.alias[i];
      found[i] = alias >= 0 && alias < i ? found[alias] : i;
    }
    return found;
  }

  name(buffer: number): string {
    return this.text.name.text(buffer);
  }

  space(buffer: number): string {
    return this.text.space.text(buffer);
  }

  dtype(buffer: number): string {
    return this.text.dtype.text(buffer);
  }

  scope(buffer: number): string {
    return this.text.scope.text(buffer);
  }

  role(buffer: number): string {
    return this.text.role.text(buffer);
  }

  shape(buffer: number): readonly number[] {
    return this.text.shape.shape(buffer);
  }

  isSync(buffer: number): boolean {
    return isSync(this.dtype(buffer));
  }

  bytes(buffer: number): number {
    return sizeBytes(this.dtype(buffer), this.shape(buffer));
  }

  /** Who owns this instance, in words: `block (0, 1)`, `the launch`, a thread. */
  owner(buffer: number): string {
    if (this.scope(buffer) === "thread" && this.thread[buffer] >= 0) {
      return this.threads.name(this.thread[buffer]);
    }
    const launch = this.launches[this.launch[buffer]];
    return onDevice(
      placed(launch, this.block[buffer]) || "the launch",
      this.device[buffer],
      launch,
    );
  }

  /** Whether other devices have buffers like this one. */
  isOfOneDevice(buffer: number): boolean {
    return isOneOfSeveral(this.device[buffer], this.launches[this.launch[buffer]]);
  }

  /** `float32[64, 64]`. */
  type(buffer: number): string {
    return `${this.dtype(buffer)}[${this.shape(buffer).join(", ")}]`;
  }
}

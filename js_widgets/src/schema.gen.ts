// Printed by `python -m pallas_debug.views.typescript`. Do not edit.

export const FORMAT = 1;
export const VIEW_FORMAT = 1;

export const Kind = {
  /** `object` (a buffer) comes to life, uninitialized; aux = bytes */
  ALLOC: 1,
  /** `object` (a buffer) ends */
  FREE: 2,
  /** `region` of `object` is read */
  READ: 3,
  /** `region` of `object` is written */
  WRITE: 4,
  /** `region` of `object` is read, changed and written atomically */
  UPDATE: 5,
  /** `object` (a thread) is started by this thread */
  SPAWN: 6,
  /** this thread ends */
  END: 7,
  /** one arrival at `region` of barrier `object`; aux = phases completed before it */
  ARRIVE: 8,
  /** barrier `object` completes a phase; aux = phases completed now */
  PHASE: 9,
  /** a wait on `object` is over; aux = phase observed (barriers, counted from 1) or units taken (semaphores) */
  WAIT: 10,
  /** the thread sleeps: its next instruction waits for `object`; aux = phase or units needed, or the agent thread for joins (object -1) */
  BLOCK: 11,
  /** semaphore `object` is increased by aux */
  SIGNAL: 12,
  /** aux = 0: SMEM stores before it become visible to the asynchronous proxy; 1: TMEM stores before it are complete; 2: TMEM loads before it are */
  FENCE: 13,
  /** asynchronous operations so far form group aux of this thread */
  COMMIT: 14,
  /** `object` (an agent thread) is known to have finished; aux = 1 when only its reads are */
  JOIN: 15,
  /** the thread enters grid point `block`; aux = linear grid index */
  GRID: 16,
  /** debug_print; aux = index into the texts */
  PRINT: 17,
  /** debug_check; aux = 1 if it held, -1 - index into the texts if it failed with that message, 0 if it failed without one */
  ASSERT: 18,
  /** an unsupported op was skipped, its results are unset */
  STUB: 19,
  /** `region` of `object` lies past the end of its array: padding, unset */
  PAD: 20,
  /** a block's part of a copy for several blocks has come in at `region` of barrier `object`: no arrival, but what a wait for the phase comes after; aux = phases completed before it */
  LAND: 21,
} as const;

export const RegionKind = {
  /** start, size, stride for each dimension of the buffer, as requested (a start may be negative or past the end; the effective region is the part inside the buffer) */
  BOX: 0,
  /** a box, then the payload that holds a bool array of the box's shape: only true elements are touched */
  MASKED: 1,
  /** the payload that holds flat element numbers (int64) in the order of the value; a number outside 0 … size-1 is out of bounds */
  ELEMENTS: 2,
} as const;

export const COLUMNS = [
  /** kind of event, see Kind (u1) */
  "kind",
  /** row of the threads table (u4) */
  "thread",
  /** linear grid index of the block, -1 outside any (i4) */
  "block",
  /** instructions executed before this one in its launch (u4) */
  "step",
  /** position on the tape of the launch's kernel (u4) */
  "instr",
  /** buffer or thread by kind, -1 if none (i4) */
  "object",
  /** row of the regions table, -1 if none (i4) */
  "region",
  /** number by kind (i4) */
  "aux",
  /** row of the payloads table, -1 if no value was recorded (i4) */
  "payload",
] as const;

export const DERIVED = [
  /** the thread's own tick: its events before this one (u4) */
  "clock",
  /** row of the launches table (u2) */
  "launch",
] as const;

/** A row of the threads table. Integers, then interned. */
export const ThreadRowIntegers = ["parent", "device", "cluster", "block", "index", "launch", "instr"] as const;
export const ThreadRowInterned = ["kind"] as const;

/** A row of the buffers table: one instance of a declared buffer. Integers, then interned. */
export const BufferRowIntegers = ["thread", "block", "device", "launch", "alias", "initial", "arrivals", "loc"] as const;
export const BufferRowInterned = ["name", "space", "shape", "dtype", "scope", "role"] as const;

export const EDGE_KINDS = ["spawn", "barrier", "semaphore", "join"] as const;

export const SPAN_KINDS = ["runs", "waits", "in flight"] as const;

export const WORST = ["none", "info", "warning", "error", "would abort"] as const;

export const VIEW_ARRAYS = [
  /** kernels + 1: where each kernel's instructions begin */
  "view.instrs.first",
  /** row of the sources, -1 if unknown */
  "view.instrs.source",
  /** source line, 0 if unknown */
  "view.instrs.line",
  /** last source line, 0 if unknown */
  "view.instrs.end",
  /** scope, a number in its kernel */
  "view.instrs.scope",
  /** kernels + 1: where each kernel's scopes begin */
  "view.scopes.first",
  /** scope around it in its kernel, -1 for the kernel itself */
  "view.scopes.parent",
  /** event that begins another call, loop or branch like the last */
  "view.entries.event",
  /** how many of its callers stay, the outermost; the others do not */
  "view.entries.kept",
  /** per event: the thread's own tick */
  "view.clock",
  /** event that happens before */
  "view.edges.src",
  /** the other thread's event */
  "view.edges.dst",
  /** index into EDGE_KINDS */
  "view.edges.kind",
  /** threads + 1: where each thread's log begins */
  "view.clocks.first",
  /** at this tick of its own a thread */
  "view.clocks.at",
  /** knows this thread */
  "view.clocks.other",
  /** up to this tick */
  "view.clocks.tick",
  /** per thread: whose clock it began with, -1 if none */
  "view.clocks.parent",
  /** per thread: at which tick of the parent */
  "view.clocks.parent_tick",
  /** spans are sorted by start */
  "view.spans.thread",
  /** event */
  "view.spans.start",
  /** event, exclusive */
  "view.spans.end",
  /** index into SPAN_KINDS */
  "view.spans.kind",
  /** buffer waited for, or -1 - agent; -1 for other kinds */
  "view.spans.object",
  /** blocks in which anything happened, by launch and number */
  "view.blocks.launch",
  /** linear number */
  "view.blocks.block",
  /** its first event */
  "view.blocks.first",
  /** its last event */
  "view.blocks.last",
  /** how many events */
  "view.blocks.events",
  /** bytes */
  "view.blocks.read",
  /** bytes */
  "view.blocks.written",
  /** waits and joins that are over */
  "view.blocks.waits",
  /** index into WORST */
  "view.blocks.worst",
  /** event, -1 if it was there before */
  "view.buffers.alloc",
  /** event, -1 if it stayed */
  "view.buffers.free",
  /** on the device */
  "view.buffers.bytes",
  /** buffer whose memory it is */
  "view.buffers.root",
] as const;

/** A part of a file: per line, words with Pygments' short class or "". */
export interface SourceView {
  readonly file: string;
  readonly name: string;
  readonly start: number;
  readonly tokens: readonly (readonly (readonly string[])[])[];
}

/** A kernel's listing, `[depth, instr or -1, text, source, line]` a row; per instruction its op and the Python variables that its results have. */
export interface KernelView {
  readonly name: string;
  readonly listing: readonly (readonly unknown[])[];
  readonly ops: readonly string[];
  readonly names: readonly string[];
}

/** How a launch ended. */
export interface OutcomeView {
  readonly kind: string;
  readonly message: string;
}

/** A launch. `limits` and `peaks` are bytes by memory space; `per_block` names the spaces of which each block has its own; `loc` is `[source, line]`. */
export interface LaunchView {
  readonly name: string;
  readonly backend: string;
  readonly kernel: number;
  readonly block_shape: readonly number[];
  readonly grid: readonly number[];
  readonly cluster: readonly number[];
  readonly axis_names: readonly string[];
  readonly chip: string;
  readonly axes: Readonly<Record<string, number>>;
  readonly device: Readonly<Record<string, number>>;
  readonly loc: readonly number[];
  readonly limits: Readonly<Record<string, number>>;
  readonly peaks: Readonly<Record<string, number>>;
  readonly per_block: readonly string[];
  readonly first_event: number;
  readonly last_event: number;
  readonly first_block_row: number;
  readonly outcome: OutcomeView;
  readonly scalars: Readonly<Record<string, unknown>>;
}

/** A place in the user's source. */
export interface LocView {
  readonly file: string;
  readonly line: number;
  readonly function: string;
  readonly text: string;
}

/** A verdict with its evidence. `refusal`: it predicts that JAX stops here; `other`: the line of the second access; `calls`: where the functions around its line were called, innermost first; `cause`: row of the finding that it follows from, or -1; `doc`: what its check's page says. */
export interface FindingView {
  readonly code: string;
  readonly name: string;
  readonly severity: string;
  readonly refusal: boolean;
  readonly message: string;
  readonly hint: string;
  readonly source: number;
  readonly line: number;
  readonly loc: LocView | null;
  readonly other: LocView | null;
  readonly calls: readonly LocView[];
  readonly launch: number;
  readonly buffer: string;
  readonly buffer_row: number;
  readonly block: readonly number[] | null;
  readonly block_linear: number;
  readonly threads: readonly number[];
  readonly events: readonly number[];
  readonly count: number;
  readonly details: Readonly<Record<string, unknown>>;
  readonly cause: number;
  readonly doc: string;
}

/** How much of the recorded values the bundle carries. */
export interface ValuesView {
  readonly included_bytes: number;
  readonly left_out: number;
  readonly left_out_bytes: number;
}

/** `header["view"]`. `threads` is empty where there are too many to name; `lines` has `[launch, source, line, executions, bytes read, bytes written, waits]` a row; `dtypes` decodes types of at most eight bits: null is NaN, infinities are words. */
export interface View {
  readonly format: number;
  readonly title: string;
  readonly package: string;
  readonly values: ValuesView;
  readonly sources: readonly SourceView[];
  readonly kernels: readonly KernelView[];
  readonly launches: readonly LaunchView[];
  readonly threads: readonly string[];
  readonly findings: readonly FindingView[];
  readonly has_report: boolean;
  readonly lines: readonly (readonly number[])[];
  readonly dtypes: Readonly<Record<string, readonly (number | string | null)[]>>;
}

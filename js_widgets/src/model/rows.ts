/** Shapes of the model's tables: columns of numbers, and the findings of the bundle. */

import type { Ints } from "../bundle";

export interface EventColumns {
  readonly kind: Ints;
  readonly thread: Ints;
  /** Linear block, -1 outside any. */
  readonly block: Ints;
  readonly step: Ints;
  readonly instr: Ints;
  readonly object: Ints;
  readonly region: Ints;
  readonly aux: Ints;
  readonly payload: Ints;
}

export type Severity = "error" | "warning" | "info";

export interface Finding {
  readonly code: string;
  readonly name: string;
  readonly severity: Severity;
  /** JAX itself would refuse the kernel. */
  readonly refusal?: boolean;
  readonly message: string;
  readonly hint: string;
  readonly source: number;
  readonly line: number;
  readonly loc: { file: string; line: number; function: string; text: string } | null;
  /** Where the functions around the line were called, innermost first. */
  readonly calls?: readonly { file: string; line: number; function: string; text: string }[];
  readonly launch: number;
  readonly buffer: string;
  readonly buffer_row: number;
  readonly block: readonly number[] | null;
  readonly block_linear: number;
  readonly threads: readonly number[];
  readonly events: readonly number[];
  readonly count: number;
  // biome-ignore lint/suspicious/noExplicitAny: what a check adds beyond the message
  readonly details: any;
  /** Row of the finding that it follows from, -1 if from none. */
  readonly cause?: number;
  readonly doc: string;
}

/** Rows of an array-of-columns table: `table.start[i]`. */
export interface Spans {
  readonly count: number;
  readonly thread: Ints;
  /** First event and the one after the last. */
  readonly start: Ints;
  readonly end: Ints;
  /** 0 runs, 1 waits, 2 in flight. */
  readonly kind: Ints;
  /** What it waits for: a buffer, -1 - agent for joins. */
  readonly object: Ints;
}

export interface Edges {
  readonly count: number;
  readonly src: Ints;
  readonly dst: Ints;
  /** Index into EDGE_KINDS. */
  readonly kind: Ints;
}

/** A row per block that ran, sorted by launch and block. */
export interface Blocks {
  readonly count: number;
  readonly launch: Ints;
  readonly block: Ints;
  readonly first: Ints;
  readonly last: Ints;
  readonly events: Ints;
  readonly read: Ints;
  readonly written: Ints;
  readonly waits: Ints;
  /** 0 none, 1 info, 2 warning, 3 error, 4 would abort. */
  readonly worst: Ints;
}

/** Counts of one source line in one launch. */
export interface LineCounts {
  readonly launch: number;
  readonly source: number;
  readonly line: number;
  readonly executions: number;
  readonly read: number;
  readonly written: number;
  readonly waits: number;
}

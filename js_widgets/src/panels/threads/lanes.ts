/** Lanes: one for each thread of the program, asynchronous work packed below the thread that started it. Pure. */

export interface ThreadFacts {
  readonly count: number;
  kind(thread: number): string;
  isAgent(thread: number): boolean;
  readonly parent: ArrayLike<number>;
  readonly device: ArrayLike<number>;
  readonly block: ArrayLike<number>;
  readonly index: ArrayLike<number>;
  readonly launch: ArrayLike<number>;
}

/** Spans sorted by start; `end` is exclusive. */
export interface Spans {
  readonly thread: ArrayLike<number>;
  readonly start: ArrayLike<number>;
  readonly end: ArrayLike<number>;
  readonly kind: ArrayLike<number>;
  readonly object: ArrayLike<number>;
}

export const SPAN = { runs: 0, waits: 1, flies: 2 } as const;

/** One row of the picture. `spans` are numbers of spans, sorted by start, that never overlap. */
export interface Lane {
  readonly kind: "worker" | "agents";
  /** The thread of a worker's lane; the thread that started the agents of another. */
  readonly thread: number;
  readonly agents: string;
  readonly row: number;
  readonly height: number;
}

/** The order of the lanes of a block. */
const WORKERS = ["launch", "core", "block", "warpgroup", "warp"];
const WORKER_HEIGHT = 22;
const AGENT_HEIGHT = 16;
const MOST_ROWS = 12;

/** Spans of each thread, as `rows[offsets[t] … offsets[t + 1]]`. */
export interface ByThread {
  readonly offsets: Int32Array;
  readonly rows: Int32Array;
}

/** Sorts span numbers by thread; inside a thread they keep their order. */
export function byThread(spans: Spans, threads: number): ByThread {
  const total = spans.thread.length;
  const offsets = new Int32Array(threads + 1);
  for (let i = 0; i < total; i++) offsets[spans.thread[i] + 1]++;
  for (let t = 0; t < threads; t++) offsets[t + 1] += offsets[t];
  const next = offsets.slice();
  const rows = new Int32Array(total);
  for (let i = 0; i < total; i++) rows[next[spans.thread[i]]++] = i;
  return { offsets, rows };
}

/** The threads of one launch: workers in the order of their lanes, and who owns which agents. */
export interface Crew {
  readonly workers: Int32Array;
  /** Agents of worker number `i`: `agents[offsets[i] … offsets[i + 1]]`, by number. */
  readonly offsets: Int32Array;
  readonly agents: Int32Array;
  /** Position among the workers of each thread's owner (itself for a worker), -1 elsewhere. */
  readonly owner: Int32Array;
}

/** Sorts the threads of a launch into lanes; blocks stay together, in the order of the grid. */
export function crewOf(facts: ThreadFacts, launch: number): Crew {
  const workers: number[] = [];
  const order = new Map<string, number>();
  for (let t = 0; t < facts.count; t++) {
    if (facts.launch[t] === launch && !facts.isAgent(t)) workers.push(t);
  }
  const rank = (thread: number) => {
    const kind = facts.kind(thread);
    if (!order.has(kind)) order.set(kind, WORKERS.indexOf(kind));
    return order.get(kind) as number;
  };
  workers.sort(
    (a, b) =>
      facts.device[a] - facts.device[b] ||
      facts.block[a] - facts.block[b] ||
      rank(a) - rank(b) ||
      facts.index[a] - facts.index[b] ||
      a - b,
  );
  const owner = new Int32Array(facts.count).fill(-1);
  workers.forEach((thread, i) => {
    owner[thread] = i;
  });
  const counts = new Int32Array(workers.length + 1);
  for (let t = 0; t < facts.count; t++) {
    // A thread comes after the one that spawned it.
    const parent = facts.parent[t];
    if (owner[t] >= 0 || facts.launch[t] !== launch || parent < 0) continue;
    owner[t] = owner[parent];
    if (owner[t] >= 0) counts[owner[t] + 1]++;
  }
  for (let i = 0; i < workers.length; i++) counts[i + 1] += counts[i];
  return { workers: Int32Array.from(workers), ...agentsBy(owner, counts, workers), owner };
}

function agentsBy(owner: Int32Array, offsets: Int32Array, workers: number[]) {
  const own = new Set(workers);
  const next = offsets.slice();
  const agents = new Int32Array(offsets[offsets.length - 1]);
  for (let t = 0; t < owner.length; t++) {
    if (owner[t] >= 0 && !own.has(t)) agents[next[owner[t]]++] = t;
  }
  return { offsets, agents };
}

/** Rows of spans of one kind of agents below one worker. */
export interface Pack {
  readonly agents: string;
  readonly rows: readonly Int32Array[];
}

/** Packs spans (sorted by start) into as few rows as hold them without overlap. */
export function pack(numbers: Iterable<number>, spans: Spans): Int32Array[] {
  const rows: number[][] = [];
  const ends: number[] = [];
  for (const number of numbers) {
    let row = ends.findIndex((end) => end <= spans.start[number]);
    if (row < 0) {
      row = Math.min(rows.length, MOST_ROWS - 1);
      if (row === rows.length) rows.push([]);
    }
    rows[row].push(number);
    ends[row] = Math.max(ends[row] ?? 0, spans.end[number]);
  }
  return rows.map((row) => Int32Array.from(row));
}

/** The packs of a worker's agents, one for each kind of agent, in order of appearance. */
export function packsOf(
  crew: Crew,
  position: number,
  facts: ThreadFacts,
  spans: Spans,
  index: ByThread,
): Pack[] {
  const kinds = new Map<string, number[]>();
  for (let i = crew.offsets[position]; i < crew.offsets[position + 1]; i++) {
    const agent = crew.agents[i];
    const kind = facts.kind(agent);
    const list = kinds.get(kind) ?? [];
    for (let s = index.offsets[agent]; s < index.offsets[agent + 1]; s++) {
      if (spans.kind[index.rows[s]] === SPAN.flies) list.push(index.rows[s]);
    }
    kinds.set(kind, list);
  }
  return [...kinds].map(([agents, list]) => {
    list.sort((a, b) => spans.start[a] - spans.start[b] || a - b);
    return { agents, rows: pack(list, spans) };
  });
}

/** All rows from top to bottom, with their places. */
export interface Lanes {
  readonly list: readonly Lane[];
  readonly tops: Float64Array;
  readonly height: number;
}

/** Stacks the lanes of some workers; `packs` gives what is shown below one, if anything. */
export function stack(
  workers: Iterable<number>,
  crew: Crew,
  packs: (position: number) => readonly Pack[],
): Lanes {
  const list: Lane[] = [];
  for (const position of workers) {
    const thread = crew.workers[position];
    list.push({ kind: "worker", thread, agents: "", row: 0, height: WORKER_HEIGHT });
    for (const { agents, rows } of packs(position)) {
      rows.forEach((_, row) => {
        list.push({ kind: "agents", thread, agents, row, height: AGENT_HEIGHT });
      });
    }
  }
  const tops = new Float64Array(list.length + 1);
  list.forEach((lane, i) => {
    tops[i + 1] = tops[i] + lane.height;
  });
  return { list, tops, height: tops[list.length] };
}

/** The lane at a height, clamped to the first and last. */
export function laneAt(lanes: Lanes, y: number): number {
  let low = 0;
  let high = Math.max(lanes.list.length - 1, 0);
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (lanes.tops[middle] <= y) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Which buffers live when, and how much memory that is: a map for each memory space. Pure. */

import type { Model } from "../../model/trace";
import { visible } from "./listed";

/** A buffer's life as a rectangle: events across, bytes down. */
export interface Allocation {
  readonly buffer: number;
  readonly from: number;
  readonly to: number;
  readonly low: number;
  readonly bytes: number;
}

export interface SpaceMap {
  readonly name: string;
  readonly allocations: readonly Allocation[];
  /** Bytes alive from each event on, in order. */
  readonly levels: readonly { readonly event: number; readonly bytes: number }[];
  readonly peak: number;
  /** First event at the peak, -1 if nothing ever lived here. */
  readonly peakEvent: number;
  /** Height of the map: highest end of an allocation. */
  readonly top: number;
  /** Bytes the chip has; 0: unknown. */
  readonly limit: number;
  /** The most that one block or the launch had, by the recording; 0: unknown. */
  readonly worst: number;
}

/** More rectangles than this are not stacked: only their sum is shown. */
const MOST_STACKED = 3000;

/** The spaces of a launch as one block sees them (its own buffers and those of no block). */
export function spacesOf(model: Model, launch: number, block: number): SpaceMap[] {
  const { buffers } = model;
  const { limits, peaks } = model.launches[launch];
  const bySpace = new Map<string, number[]>();
  for (const b of visible(model, launch, block)) {
    if (buffers.root[b] !== b) continue;
    const list = bySpace.get(buffers.space(b)) ?? [];
    list.push(b);
    bySpace.set(buffers.space(b), list);
  }
  return [...bySpace].map(([name, list]) => ({
    name,
    ...mapOf(model, list),
    limit: limits[name] ?? 0,
    worst: peaks[name] ?? 0,
  }));
}

function mapOf(model: Model, list: readonly number[]) {
  const { buffers, launches } = model;
  const lives = list.map((buffer) => {
    const launch = launches[buffers.launch[buffer]];
    return {
      buffer,
      from: buffers.alloc[buffer] >= 0 ? buffers.alloc[buffer] : launch.firstEvent,
      to: buffers.free[buffer] >= 0 ? buffers.free[buffer] : launch.lastEvent,
      bytes: buffers.bytes(buffer),
    };
  });
  lives.sort((a, b) => a.from - b.from || a.buffer - b.buffer);
  const levels = levelsOf(lives);
  const peak = levels.reduce((most, level) => Math.max(most, level.bytes), 0);
  const peakEvent = levels.find((level) => level.bytes === peak && peak > 0)?.event ?? -1;
  const allocations = lives.length <= MOST_STACKED ? placed(lives) : [];
  const top = allocations.reduce((most, one) => Math.max(most, one.low + one.bytes), peak);
  return { allocations, levels, peak, peakEvent, top };
}

interface Life {
  readonly buffer: number;
  readonly from: number;
  readonly to: number;
  readonly bytes: number;
}

function levelsOf(lives: readonly Life[]): { event: number; bytes: number }[] {
  const changes = lives.flatMap(({ from, to, bytes }) => [
    { event: from, bytes },
    { event: to, bytes: -bytes },
  ]);
  // At one event what ends goes before what begins.
  changes.sort((a, b) => a.event - b.event || a.bytes - b.bytes);
  const found: { event: number; bytes: number }[] = [];
  let bytes = 0;
  for (const change of changes) {
    bytes += change.bytes;
    const last = found.at(-1);
    if (last?.event === change.event) last.bytes = bytes;
    else found.push({ event: change.event, bytes });
  }
  return found;
}

/** The lowest free place for each: a drawing, not the addresses of a compiler. */
function placed(lives: readonly Life[]): Allocation[] {
  let living: Allocation[] = [];
  return lives.map((life) => {
    living = living.filter((one) => one.to > life.from);
    living.sort((a, b) => a.low - b.low);
    let low = 0;
    for (const one of living) {
      if (one.low - low >= life.bytes) break;
      low = Math.max(low, one.low + one.bytes);
    }
    const found = { ...life, low };
    living.push(found);
    return found;
  });
}

/** Bytes alive when `cursor` events have happened. */
export function bytesAt(map: SpaceMap, cursor: number): number {
  let bytes = 0;
  for (const level of map.levels) {
    if (level.event >= cursor) break;
    bytes = level.bytes;
  }
  return bytes;
}

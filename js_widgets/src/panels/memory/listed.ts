/** Which buffers belong to a block: found by an index, for a long recording has many of them. */

import { Groups } from "../../model/groups";
import type { Model } from "../../model/trace";

interface Index {
  readonly ofLaunch: Groups;
  readonly ofThread: Groups;
  /** Buffers of each block number, of any launch. */
  readonly ofBlock: Groups;
  /** Buffers of no block, by launch. */
  readonly shared: Groups;
}

const indices = new WeakMap<Model, Index>();

function indexOf(model: Model): Index {
  let found = indices.get(model);
  if (!found) {
    const { count, block, thread, launch } = model.buffers;
    const { length } = model.launches;
    const blocks = model.launches.reduce((most, one) => Math.max(most, one.blocks), 0);
    found = {
      ofLaunch: Groups.by(count, length, (b) => launch[b]),
      ofThread: Groups.by(count, model.threads.count, (b) => thread[b]),
      ofBlock: Groups.by(count, blocks, (b) => block[b]),
      shared: Groups.by(count, length, (b) => (block[b] < 0 ? launch[b] : -1)),
    };
    indices.set(model, found);
  }
  return found;
}

/** All buffers of a launch; a view, not to be written. */
export function allOf(model: Model, launch: number): Int32Array {
  return indexOf(model).ofLaunch.of(launch);
}

/** Buffers of a launch that belong to no block, and those of one where it is not negative. */
export function visible(model: Model, launch: number, block: number): Int32Array {
  const { ofBlock, shared } = indexOf(model);
  if (block < 0) return shared.of(launch);
  const own = ofBlock.of(block).filter((b) => model.buffers.launch[b] === launch);
  return Int32Array.from([...shared.of(launch), ...own]).sort();
}

/** The same, with what a core keeps from an earlier block. */
export function listed(model: Model, launch: number, block: number): Int32Array {
  const { ofThread } = indexOf(model);
  const own = (b: number) => model.buffers.launch[b] === launch;
  const found = visible(model, launch, block);
  if (block < 0) return found;
  const row = model.blockRow(launch, block);
  const first = row < 0 ? -1 : model.blocks.first[row];
  const stayed = first < 0 ? [] : ofThread.of(model.events.thread[first]).filter(isKept);
  function isKept(b: number): boolean {
    return own(b) && staysUntil(model, b, first);
  }
  return Int32Array.from(new Set([...found, ...stayed])).sort();
}

/** Whether a buffer is a window that a core keeps from an earlier grid point. */
function staysUntil({ buffers }: Model, buffer: number, event: number): boolean {
  const free = buffers.free[buffer];
  return (
    buffers.alloc[buffer] < event &&
    (free < 0 || free >= event) &&
    buffers.role(buffer) === "window"
  );
}

/** Which buffers belong to a block: found by an index, for a long recording has many of them. */

import { Groups } from "../../model/groups";
import type { Model } from "../../model/trace";

interface Index {
  readonly ofThread: Groups;
  /** Buffers of each block number, of any launch. */
  readonly ofBlock: Groups;
  /** Buffers of no block. */
  readonly shared: Int32Array;
}

const indices = new WeakMap<Model, Index>();

function indexOf(model: Model): Index {
  let found = indices.get(model);
  if (!found) {
    const { count, block, thread } = model.buffers;
    const blocks = model.launches.reduce((most, one) => Math.max(most, one.blocks), 0);
    found = {
      ofThread: Groups.by(count, model.threads.count, (b) => thread[b]),
      ofBlock: Groups.by(count, blocks, (b) => block[b]),
      shared: Groups.by(count, 1, (b) => (block[b] < 0 ? 0 : -1)).of(0),
    };
    indices.set(model, found);
  }
  return found;
}

/** Buffers of a launch: those of one block and those of none, or all where the block is negative. */
export function listed(model: Model, launch: number, block: number): Int32Array {
  const { buffers } = model;
  const own = (b: number) => buffers.launch[b] === launch;
  if (block < 0) return Int32Array.from({ length: buffers.count }, (_, b) => b).filter(own);
  const { ofThread, ofBlock, shared } = indexOf(model);
  const row = model.blockRow(launch, block);
  const first = row < 0 ? -1 : model.blocks.first[row];
  const stayed = first < 0 ? [] : ofThread.of(model.events.thread[first]).filter(isKept);
  function isKept(b: number): boolean {
    return staysUntil(model, b, first);
  }
  const found = new Set([...shared, ...ofBlock.of(block), ...stayed].filter(own));
  return Int32Array.from(found).sort();
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

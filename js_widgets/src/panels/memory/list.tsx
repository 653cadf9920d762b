/** The buffers: name, type, place, size, and when each lives. */

import { useComputed } from "@preact/signals";
import { bytesText, grouped } from "../../model/text";
import { usePart } from "../../ui/follow";
import type { App } from "../../ui/store";
import { VirtualList } from "../../ui/virtual";
import type { MemoryView } from "./view";

const ROW = 26;

type State = "before" | "now" | "after";

/** Whether a buffer has been born and has not ended. */
function lives(app: App, buffer: number, cursor: number): State {
  const { alloc, free } = app.model.buffers;
  if (alloc[buffer] >= 0 && cursor <= alloc[buffer]) return "before";
  return free[buffer] >= 0 && cursor > free[buffer] ? "after" : "now";
}

export function BufferList({ view }: { view: MemoryView }) {
  // The values of a buffer come first.
  const app = usePart(view.app);
  const rows = useComputed(() => view.listed(app.launch.value, app.block.value));
  const more = useComputed(() => view.unlisted(app.launch.value, app.block.value)).value;
  const selected = rows.value.indexOf(app.buffer.value);
  const every = view.settings.value.every || app.block.value < 0;
  const hasBlocks = useComputed(() => rows.value.some((b) => app.model.buffers.block[b] >= 0));
  const isMixed = every && hasBlocks.value;
  const range = useComputed(() => rangeOf(app, view.settings.value.every)).value;
  const cursor = app.cursor.value;
  const at = (Math.round((part(range, cursor) * LIFE_STEPS) / 100) * 100) / LIFE_STEPS;
  const select = (row: number) => {
    const buffer = rows.value[Math.min(Math.max(row, 0), rows.value.length - 1)];
    if (buffer !== undefined) pick(view, buffer);
  };
  const key = (event: KeyboardEvent) => {
    const by: Record<string, number> = { ArrowUp: -1, ArrowDown: 1, PageUp: -10, PageDown: 10 };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (by[event.key]) select(selected + by[event.key]);
    else if (event.key === "Enter" && selected >= 0) jumpToBirth(view, rows.value[selected]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <>
      <VirtualList
        count={rows.value.length}
        rowHeight={ROW}
        role="listbox"
        class={`pd-buffers ${isMixed ? "pd-buffers-every" : ""}`}
        label="Buffers; Enter goes to where one begins"
        reveal={selected}
        revealKey={app.buffer.value}
        onKeyDown={key}
        render={(i) => (
          <Row
            view={view}
            buffer={rows.value[i]}
            selected={i === selected}
            state={lives(app, rows.value[i], cursor)}
            every={every}
            range={range}
            at={at}
          />
        )}
      />
      {more > 0 && <More view={view} count={more} />}
    </>
  );
}

/** Below the list of no block: a long launch has very many buffers in its blocks. */
function More({ view, count }: { view: MemoryView; count: number }) {
  const open = (event: { readonly currentTarget: HTMLElement }) => {
    // The button goes; whoever came with the keyboard goes on in the list.
    (event.currentTarget.previousElementSibling as HTMLElement).focus();
    view.set({ every: true });
  };
  return (
    <button
      type="button"
      class="pd-buffers-more"
      title="List them all, as “all blocks” does"
      onClick={open}
    >
      {`${grouped(count)} more in blocks: show all`}
    </button>
  );
}

function pick(view: MemoryView, buffer: number): void {
  const { app } = view;
  app.focus({ buffer });
  app.notice.value = `${app.model.buffers.name(buffer)}, ${app.model.buffers.type(buffer)}`;
}

function jumpToBirth(view: MemoryView, buffer: number): void {
  const { alloc } = view.app.model.buffers;
  if (alloc[buffer] >= 0) view.app.jump(alloc[buffer]);
  else view.app.notice.value = "It was there before the recording.";
}

interface RowProps {
  readonly view: MemoryView;
  readonly buffer: number;
  readonly selected: boolean;
  readonly state: State;
  /** Whether buffers of all blocks are listed. */
  readonly every: boolean;
  readonly range: Range;
  /** Where the cursor is in the range, in percent. */
  readonly at: number;
}

/** A row with the same properties as before is not rendered again: few rows change with a step. */
function Row({ view, buffer, selected, state, every, range, at }: RowProps) {
  const { buffers } = view.app.model;
  const words = {
    before: "not allocated yet (italics)",
    now: "alive",
    after: "freed (struck through)",
  }[state];
  const where = whereOf(view.app, buffer, every);
  const name = buffers.name(buffer);
  const title = `${name}: ${buffers.type(buffer)} in ${buffers.space(buffer)}, ${bytesText(buffers.bytes(buffer))} of ${buffers.owner(buffer)}; ${words}`;
  return (
    <div
      class={`pd-buffer pd-buffer-${state}`}
      role="option"
      aria-selected={selected}
      aria-label={title}
      title={title}
      onClick={() => pick(view, buffer)}
      onDblClick={() => jumpToBirth(view, buffer)}
    >
      <span class="pd-mono pd-buffer-name">
        <span class={`pd-ellipsis ${name.endsWith("]") ? "pd-tail" : ""}`}>
          <bdi>{name}</bdi>
        </span>
        {where && <span class="pd-muted"> {where}</span>}
      </span>
      <span class="pd-ellipsis pd-muted pd-buffer-type">{buffers.type(buffer)}</span>
      <span class="pd-ellipsis pd-muted pd-buffer-space">{buffers.space(buffer)}</span>
      <span class="pd-muted pd-buffer-bytes">{bytesText(buffers.bytes(buffer))}</span>
      <Life view={view} buffer={buffer} range={range} at={at} />
    </div>
  );
}

/** What tells buffers of one name apart, short: `(0, 1)`, `wg 2 of (0, 1)`, `device 3`. */
function whereOf({ model: { buffers } }: App, buffer: number, every: boolean): string {
  if (buffers.block[buffer] < 0)
    return buffers.isOfOneDevice(buffer) ? `device ${buffers.device[buffer]}` : "";
  const owner = every ? buffers.owner(buffer) : "";
  return owner.replace("block ", "").replace("warpgroup ", "wg ");
}

interface Range {
  readonly first: number;
  readonly last: number;
}

/** The events of the selected block, or of the launch where all blocks are listed. */
function rangeOf(app: App, every: boolean): Range {
  const launch = app.launch.value;
  const row = every ? -1 : app.model.blockRow(launch, app.block.value);
  const { firstEvent, lastEvent } = app.model.launches[launch];
  if (row < 0) return { first: firstEvent, last: lastEvent };
  return { first: app.model.blocks.first[row], last: app.model.blocks.last[row] };
}

/** Where an event is in a range, in percent. */
function part({ first, last }: Range, event: number): number {
  return Math.min(Math.max(((event - first) / Math.max(last - first, 1)) * 100, 0), 100);
}

/** As fine as the bar has half pixels. */
const LIFE_STEPS = 112;

interface LifeProps {
  readonly view: MemoryView;
  readonly buffer: number;
  readonly range: Range;
  readonly at: number;
}

/** A bar from birth to end along the events of the block or launch, with the cursor. */
function Life({ view, buffer, range, at }: LifeProps) {
  const { alloc, free } = view.app.model.buffers;
  const from = alloc[buffer] >= 0 ? part(range, alloc[buffer]) : 0;
  const to = free[buffer] >= 0 ? part(range, free[buffer]) : 100;
  return (
    <span class="pd-life" aria-hidden="true">
      <span style={{ left: `${from}%`, width: `max(2px, ${to - from}%)` }} />
      <i style={{ left: `${at}%` }} />
    </span>
  );
}

/** Barriers and semaphores at the cursor: phase, arrivals, units, who waits. */

import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { grouped, plural } from "../../model/text";
import { isBarrier } from "../../model/values";
import { VirtualList } from "../../ui/virtual";
import { placeOf } from "./slice";
import { type SyncState, syncAt } from "./sync";
import type { MemoryView } from "./view";

const ROW = 30;

export function SyncValues({ view }: { view: MemoryView }): JSX.Element {
  const { app } = view;
  const selected = view.buffer.value;
  const isSync = selected >= 0 && app.model.buffers.isSync(selected);
  const shown = useRef<JSX.Element | null>(null);
  // Hidden behind a heat map: it stays as it was, or is made for later.
  if (shown.current && !isSync) return shown.current;
  const buffer = isSync ? selected : view.firstSync.value;
  const states = syncAt(app.model, buffer, app.cursor.value);
  const current = app.model.bufferOf(Math.max(app.event, 0)) === buffer ? app.event : -1;
  shown.current = (
    <VirtualList
      count={states.length}
      rowHeight={ROW}
      label={`${app.model.buffers.name(buffer)} at the cursor`}
      render={(i) => (
        <Row view={view} buffer={buffer} element={i} state={states[i]} current={current} />
      )}
    />
  );
  return shown.current;
}

interface RowProps {
  readonly view: MemoryView;
  readonly buffer: number;
  readonly element: number;
  readonly state: SyncState;
  readonly current: number;
}

function Row({ view, buffer, element, state, current }: RowProps) {
  const { app } = view;
  const { buffers, events, threads } = app.model;
  const shape = buffers.shape(buffer);
  const place = placeOf(shape, element);
  const name =
    shape.length > 0 ? `${buffers.name(buffer)}[${place.join(", ")}]` : buffers.name(buffer);
  const needed = buffers.arrivals[buffer];
  return (
    <div
      class={`pd-sync ${current >= 0 && state.last === current ? "pd-sync-now" : ""}`}
      role="listitem"
    >
      <span class="pd-mono pd-ellipsis pd-sync-name">{name}</span>
      {isBarrier(buffers.dtype(buffer)) ? (
        <>
          <span class="pd-chip">{`phase ${state.phase}`}</span>
          <span class="pd-sync-dots" title={`${state.arrived} of ${needed} arrivals of this phase`}>
            {dots(state.arrived, needed)}
          </span>
        </>
      ) : (
        <span class="pd-chip">{plural(state.units, "unit")}</span>
      )}
      {state.waiting.map((event) => (
        <button
          key={event}
          type="button"
          class="pd-link pd-ellipsis"
          onClick={() => app.jump(event)}
        >
          {`${threads.name(events.thread[event])} waits for ${events.aux[event]}`}
        </button>
      ))}
      {state.waiting.length === 0 && state.last >= 0 && (
        <button
          type="button"
          class="pd-link pd-quiet pd-muted pd-ellipsis"
          onClick={() => app.jump(state.last)}
        >
          {`last: #${grouped(state.last)} ${app.model.what(state.last)}`}
        </button>
      )}
    </div>
  );
}

/** `●●○ 2 of 3`; many arrivals as numbers only. */
function dots(arrived: number, needed: number): string {
  const text = `${arrived} of ${needed} arrived`;
  if (needed < 1 || needed > 8) return needed < 1 ? `${arrived} arrived` : text;
  return `${"●".repeat(Math.min(arrived, needed))}${"○".repeat(Math.max(needed - arrived, 0))} ${text}`;
}

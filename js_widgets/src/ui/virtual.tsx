/**
 * A list that has only its visible rows in the page: fluent with a million rows.
 *
 * Browsers limit the height of an element, so a longer list is scrolled in proportion. `reveal`
 * brings a row into view when it changes, without moving when it is there already.
 */

import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

const MOST_PIXELS = 8_000_000;
const OVERSCAN = 6;

export interface VirtualListProps {
  readonly count: number;
  readonly rowHeight: number;
  readonly render: (row: number) => ComponentChildren;
  /** Row to bring into view, or -1. */
  readonly reveal?: number;
  /** Changes when the same row is to be revealed again. */
  readonly revealKey?: unknown;
  /** Rows to keep in view below the revealed one. */
  readonly below?: number;
  readonly class?: string;
  readonly role?: "list" | "grid" | "listbox" | "rowgroup" | "presentation";
  readonly label?: string;
  readonly tabIndex?: number;
  readonly onKeyDown?: (event: KeyboardEvent) => void;
  readonly activeId?: string;
  /** Stays at the top while rows scroll; its columns line up with theirs. */
  readonly header?: ComponentChildren;
}

export function VirtualList(props: VirtualListProps): JSX.Element {
  const { count, rowHeight, reveal = -1 } = props;
  const box = useRef<HTMLDivElement>(null);
  const view = useSignal({ top: 0, height: 400 });
  const total = count * rowHeight;
  const pixels = Math.min(total, MOST_PIXELS);

  useLayoutEffect(() => {
    const element = box.current!;
    const measure = () => {
      const next = { top: element.scrollTop, height: element.clientHeight };
      if (next.top !== view.value.top || next.height !== view.value.height) view.value = next;
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", measure);
    };
  }, []);

  useEffect(() => {
    const element = box.current!;
    if (reveal < 0 || reveal >= count || !element.clientHeight) return;
    element.scrollLeft = 0;
    const at = reveal * rowHeight - offset(element.scrollTop, element.clientHeight, total, pixels);
    const margin = Math.min(rowHeight * 2, element.clientHeight / 4);
    const below = Math.min(rowHeight * (props.below ?? 2), element.clientHeight / 2);
    if (at >= margin && at + rowHeight <= element.clientHeight - below) return;
    const near = at > -element.clientHeight / 2 && at < element.clientHeight * 1.5;
    const to = near
      ? at < margin
        ? reveal * rowHeight - margin
        : reveal * rowHeight + rowHeight + below - element.clientHeight
      : reveal * rowHeight - element.clientHeight / 2;
    element.scrollTop =
      (to / Math.max(total - element.clientHeight, 1)) * Math.max(pixels - element.clientHeight, 1);
  }, [reveal, props.revealKey, count]);

  const { top, height } = view.value;
  const from = offset(top, height, total, pixels);
  const first = Math.max(Math.floor(from / rowHeight) - OVERSCAN, 0);
  const last = Math.min(Math.ceil((from + height) / rowHeight) + OVERSCAN, count);
  const rows: JSX.Element[] = [];
  for (let row = first; row < last; row++) {
    rows.push(
      <div
        key={row}
        class="pd-vrow"
        style={{ height: `${rowHeight}px`, top: `${row * rowHeight - from + top}px` }}
      >
        {props.render(row)}
      </div>,
    );
  }
  return (
    <div
      ref={box}
      class={`pd-virtual ${props.class ?? ""}`}
      role={props.role ?? "list"}
      aria-label={props.label}
      aria-rowcount={props.role === "grid" ? count : undefined}
      aria-activedescendant={props.activeId}
      tabIndex={props.tabIndex ?? 0}
      onKeyDown={props.onKeyDown}
    >
      {props.header && <div class="pd-vheader">{props.header}</div>}
      <div class="pd-vspace" style={{ height: `${pixels}px` }}>
        {rows}
      </div>
    </div>
  );
}

/** How far the list is scrolled in its own pixels. */
function offset(top: number, height: number, total: number, pixels: number): number {
  if (total <= pixels) return top;
  return (top / Math.max(pixels - height, 1)) * (total - height);
}

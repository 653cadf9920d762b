/**
 * A list that has only its visible rows in the page: fluent with a million rows.
 *
 * Browsers limit the height of an element, so a longer list is scrolled in proportion. `reveal`
 * brings a row into view when it changes, without moving when it is there already. Rows around
 * those in view are made and changed once the cursor rests.
 */

import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useContext, useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { PICTURES, Piece } from "./pictures";
import { clamp } from "./store";

const MOST_PIXELS = 8_000_000;
const OVERSCAN = 6;
/** Rows of a long list are placed in groups: scrolling by a few moves one element, not each of them. */
const GROUP = 128;
/** A list up to this long keeps rows that are scrolled out of view. */
const KEEPS = 1000;
/** Rows that such a list makes ahead, above and below, in one picture and in all: a jump finds them. */
const AHEAD = 3;
const MOST_AHEAD = 18;
const REST = 150; // ms
/** More rows than are in view and these are taken out again. */
const MOST_KEPT = 48;

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

interface View {
  readonly top: number;
  readonly left: number;
  readonly height: number;
  /** Height of the header. */
  readonly head: number;
}

export function VirtualList(props: VirtualListProps): JSX.Element {
  const { count, rowHeight, reveal = -1 } = props;
  const box = useRef<HTMLDivElement>(null);
  const header = useRef<HTMLDivElement>(null);
  const frame = useRef(0);
  const view = useSignal<View>({ top: 0, left: 0, height: 400, head: 0 });
  const around = useAround();
  const exact = useRef({ total: -1, top: -1, from: 0 });
  const total = count * rowHeight;
  const pixels = Math.min(total, MOST_PIXELS);
  /** How far the list is scrolled in its own pixels. */
  const offset = ({ top, height }: View): number => {
    if (total <= pixels) return top;
    // A pixel of a long list is many of its own: the place of a revealed row is known better.
    const { current: known } = exact;
    if (top === known.top && total === known.total) return known.from;
    return (top / Math.max(pixels - height, 1)) * (total - height);
  };
  const measure = () => {
    const { scrollTop: top, scrollLeft: left, clientHeight: height } = box.current!;
    const head = header.current?.offsetHeight ?? 0;
    const now = view.peek();
    if (top === now.top && left === now.left && height === now.height && head === now.head) return;
    // A hand that scrolls goes on: rows around those in view are next.
    around.isDue = true;
    view.value = { top, left, height, head };
  };
  const scroll = (top: number) => {
    view.value = { ...view.peek(), top, left: 0 };
    // Scrolling lays the page out: once, when all of it has changed.
    cancelAnimationFrame(frame.current);
    frame.current = requestAnimationFrame(() => {
      const element = box.current!;
      element.scrollTop = top;
      element.scrollLeft = 0;
      measure();
    });
  };

  useLayoutEffect(() => {
    const element = box.current!;
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", measure);
      cancelAnimationFrame(frame.current);
    };
  }, []);

  useLayoutEffect(() => {
    // What was measured last: asking the element lays the page out once more.
    const { height, head, left } = view.peek();
    if (reveal < 0 || reveal >= count || !height) return;
    const at = reveal * rowHeight - offset(view.peek());
    const margin = Math.min(rowHeight * 2, height / 4);
    const below = Math.min(rowHeight * (props.below ?? 2), height / 2);
    if (at >= margin && at + rowHeight <= height - below) {
      if (left) scroll(view.peek().top);
      return;
    }
    const near = at > -height / 2 && at < height * 1.5;
    const from = near
      ? at < margin
        ? reveal * rowHeight - margin
        : reveal * rowHeight + rowHeight + below - height
      : reveal * rowHeight - height / 2;
    const scaled = (from / Math.max(total - height, 1)) * Math.max(pixels - height, 1);
    const top = clamp(Math.round(scaled), 0, Math.max(pixels + head - height, 0));
    exact.current = { total, top, from: clamp(from, 0, Math.max(total + head - height, 0)) };
    scroll(top);
  }, [reveal, props.revealKey, count]);

  const { top, height } = view.value;
  const from = offset(view.value);
  const first = Math.max(Math.floor(from / rowHeight) - OVERSCAN, 0);
  const last = Math.min(Math.ceil((from + height) / rowHeight) + OVERSCAN, count);
  const isLong = total > pixels;
  const group = isLong ? Math.floor(first / GROUP) * GROUP : 0;
  // Rows that move by a transform are neither laid out nor painted again.
  const shift = isLong ? Math.round(group * rowHeight - from + top) : 0;
  const kept = useRef<readonly number[]>([]);
  around.isBehind = false;
  kept.current =
    count <= KEEPS
      ? shown(kept.current, ...around.reach(first, last, count), count)
      : shown([], first, last, count);
  const isSeen = (row: number) => (row + 1) * rowHeight > from && row * rowHeight < from + height;
  const rows = around.rows(kept.current, group, isSeen, (row) => (
    <div
      key={row}
      class="pd-vrow"
      style={{ height: `${rowHeight}px`, top: `${(row - group) * rowHeight}px` }}
    >
      {props.render(row)}
    </div>
  ));
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
      {props.header && (
        <div class="pd-vheader" ref={header}>
          {props.header}
        </div>
      )}
      <div class="pd-vspace" style={{ height: `${pixels}px` }}>
        <div class="pd-vrows" style={{ transform: shift ? `translateY(${shift}px)` : undefined }}>
          {rows}
        </div>
      </div>
    </div>
  );
}

/** The rows in view, and of those that were shown before the ones that may stay; sorted. */
function shown(before: readonly number[], first: number, last: number, count: number): number[] {
  const around = MOST_KEPT / 2;
  const stays = (row: number) => row < count && row >= first - around && row < last + around;
  const above = before.filter((row) => row < first && stays(row));
  const below = before.filter((row) => row >= last && stays(row));
  return [...above, ...Array.from({ length: last - first }, (_, i) => first + i), ...below];
}

/** Rows in view at once, those around them once the cursor rests; until then as they were. */
function useAround(): Around {
  const pictures = useContext(PICTURES);
  const again = useSignal(0);
  void again.value;
  const around = useMemo(() => new Around(() => again.value++), []);
  useEffect(() => {
    // Nobody sees those of the rows that the cursor only passes.
    if (!around.isBehind) return;
    const timer = setTimeout(() => pictures.add(around.piece), around.rest);
    return () => {
      clearTimeout(timer);
      pictures.remove(around.piece);
    };
  });
  return around;
}

class Around {
  readonly piece: Piece;
  /** Whether the next render makes and changes the rows around those in view. */
  isDue = false;
  /** Whether it has to. */
  isBehind = false;
  /** Milliseconds until it does. */
  rest = REST;
  private made = new Map<number, JSX.Element>();
  private group = -1;
  private first = -1;
  private ahead = 0;

  constructor(render: () => void) {
    this.piece = new Piece(() => {
      this.isDue = true;
      render();
    }, true);
  }

  /** The rows of a short list that are there: at rest a few more with each picture. */
  reach(first: number, last: number, count: number): [from: number, to: number] {
    if (this.isDue) this.ahead = Math.min(this.ahead + AHEAD, MOST_AHEAD);
    else if (first !== this.first) this.ahead = 0;
    this.first = first;
    const [from, to] = [Math.max(first - this.ahead, 0), Math.min(last + this.ahead, count)];
    this.isBehind = this.ahead < MOST_AHEAD && to - from < count;
    return [from, to];
  }

  rows(
    wanted: readonly number[],
    group: number,
    isSeen: (row: number) => boolean,
    render: (row: number) => JSX.Element,
  ): JSX.Element[] {
    const made = new Map<number, JSX.Element>();
    for (const row of wanted) {
      const isFresh = this.isDue || isSeen(row);
      const one = isFresh ? render(row) : group === this.group ? this.made.get(row) : undefined;
      if (one) made.set(row, one);
      this.isBehind ||= !isFresh;
    }
    this.rest = this.isDue ? 0 : REST;
    [this.made, this.group, this.isDue] = [made, group, false];
    return [...made.values()];
  }
}

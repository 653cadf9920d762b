/**
 * A canvas that follows its box and the signals that its drawing reads.
 *
 * `draw` runs in an effect, at most once a frame, with a context in CSS pixels; a signal read
 * in it redraws when it changes. Sizes come from the box, never from the content.
 */

import { effect, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

export type Draw = (context: CanvasRenderingContext2D, width: number, height: number) => void;

export interface Pointer {
  readonly x: number;
  readonly y: number;
  readonly event: PointerEvent;
}

export interface CanvasProps {
  readonly draw: Draw;
  /** What a screen reader says; empty for a layer below another canvas. */
  readonly label: string;
  readonly class?: string;
  readonly cursor?: string;
  /** Text of the tooltip at a point, or null; shown near the pointer. */
  readonly tip?: (x: number, y: number) => string | null;
  readonly onMove?: (at: Pointer) => void;
  readonly onLeave?: () => void;
  readonly onDown?: (at: Pointer) => void;
  readonly onUp?: (at: Pointer) => void;
  readonly onClick?: (at: Pointer) => void;
  readonly onDoubleClick?: (at: Pointer) => void;
  /** Return true to keep the page from scrolling. */
  readonly onWheel?: (x: number, y: number, event: WheelEvent) => boolean;
  /** Return true if the key was used; others go on to the viewer's commands. */
  readonly onKey?: (event: KeyboardEvent) => boolean;
}

export function Canvas(props: CanvasProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const size = useSignal({ width: 0, height: 0 });
  const draw = useRef(props.draw);
  const redraw = useSignal(0);
  const tip = useSignal<{ x: number; y: number; text: string } | null>(null);
  if (draw.current !== props.draw) {
    draw.current = props.draw;
    queueMicrotask(() => redraw.value++);
  }
  // Before the page is painted: a new canvas is never seen empty.
  useLayoutEffect(() => followSize(box.current!, size), []);
  useLayoutEffect(() => paint(canvas.current!, size, redraw, draw), []);
  useEffect(() => {
    const element = canvas.current!;
    const wheel = (event: WheelEvent) => {
      const { x, y } = within(element, event);
      if (props.onWheel?.(x, y, event)) event.preventDefault();
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => element.removeEventListener("wheel", wheel);
  }, [props.onWheel]);

  const pointer = (handler?: (at: Pointer) => void) => (event: Event) =>
    handler?.({ ...within(canvas.current!, event as PointerEvent), event: event as PointerEvent });
  const move = (event: PointerEvent) => {
    const at = within(canvas.current!, event);
    const text = props.tip?.(at.x, at.y) ?? null;
    tip.value = text === null ? null : { ...at, text };
    props.onMove?.({ ...at, event });
  };
  const leave = () => {
    tip.value = null;
    props.onLeave?.();
  };
  const key = (event: KeyboardEvent) => {
    if (props.onKey?.(event)) {
      event.preventDefault();
      event.stopPropagation();
    }
  };
  return (
    <div class={`pd-canvas ${props.class ?? ""}`} ref={box}>
      <canvas
        ref={canvas}
        tabIndex={props.label ? 0 : -1}
        role={props.label ? "img" : "presentation"}
        aria-hidden={!props.label || undefined}
        aria-label={props.label || undefined}
        style={props.cursor ? { cursor: props.cursor } : undefined}
        onPointerMove={move}
        onPointerLeave={leave}
        onPointerDown={pointer(props.onDown)}
        onPointerUp={pointer(props.onUp)}
        onClick={pointer(props.onClick)}
        onDblClick={pointer(props.onDoubleClick)}
        onKeyDown={key}
      />
      {tip.value && <Tip {...tip.value} {...size.value} />}
    </div>
  );
}

function Tip({
  x,
  y,
  text,
  width,
  height,
}: {
  x: number;
  y: number;
  text: string;
  width: number;
  height: number;
}) {
  const right = x > width / 2;
  const below = y < height / 2;
  const style = {
    left: right ? undefined : `${x + 12}px`,
    right: right ? `${width - x + 12}px` : undefined,
    top: below ? `${y + 12}px` : undefined,
    bottom: below ? undefined : `${height - y + 12}px`,
  };
  return (
    <div class="pd-tip" role="tooltip" style={style}>
      {text}
    </div>
  );
}

function within(element: Element, event: MouseEvent): { x: number; y: number } {
  const rect = element.getBoundingClientRect();
  return { x: event.clientX - rect.left, y: event.clientY - rect.top };
}

type Size = { value: { width: number; height: number } };

function followSize(element: HTMLElement, size: Size): () => void {
  const measure = () => {
    const { clientWidth: width, clientHeight: height } = element;
    if (width !== size.value.width || height !== size.value.height) size.value = { width, height };
  };
  measure();
  const observer = new ResizeObserver(measure);
  observer.observe(element);
  const stop = followRatio(() => {
    size.value = { ...size.value };
  });
  return () => {
    observer.disconnect();
    stop();
  };
}

/** Calls back when the page is shown with other pixels: zoomed, or moved to another screen. */
function followRatio(changed: () => void): () => void {
  let media: MediaQueryList | undefined;
  const arm = () => {
    media = globalThis.matchMedia?.(`(resolution: ${globalThis.devicePixelRatio || 1}dppx)`);
    media?.addEventListener("change", again, { once: true });
  };
  const again = () => {
    changed();
    arm();
  };
  arm();
  return () => media?.removeEventListener("change", again);
}

function paint(
  canvas: HTMLCanvasElement,
  size: Size,
  redraw: { value: number },
  draw: { current: Draw },
): () => void {
  let frame = 0;
  let dispose = () => {};
  // An effect's signals are read while painting, so painting is what re-arms the effect.
  const now = () => {
    frame = 0;
    dispose();
    let first = true;
    dispose = effect(() => {
      void redraw.value;
      const { width, height } = size.value;
      if (!first) {
        frame ||= requestAnimationFrame(now);
        return;
      }
      first = false;
      const context = prepare(canvas, width, height);
      if (context) draw.current(context, width, height);
    });
  };
  now();
  return () => {
    cancelAnimationFrame(frame);
    dispose();
  };
}

function prepare(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
): CanvasRenderingContext2D | null {
  const ratio = globalThis.devicePixelRatio || 1;
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  if (!context || !width || !height) return null;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

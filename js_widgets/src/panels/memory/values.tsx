/** The selected buffer as a heat map, with the element under the pointer and who wrote it. */

import { effect, untracked } from "@preact/signals";
import type { JSX } from "preact";
import { useCallback, useEffect, useMemo, useRef } from "preact/hooks";
import { Canvas } from "../../ui/canvas";
import { frame } from "../drawing/patterns";
import { rectanglesOf } from "./access";
import { isPlain } from "./heat";
import { Element, Legend, label } from "./heatfoot";
import { gestures } from "./heatgestures";
import {
  type Cell,
  clipped,
  hasNumbers,
  paintAccess,
  paintChanges,
  paintIndices,
  paintNumbers,
  type Sheet,
} from "./heatpaint";
import { FITTED, type Plot, plotOf } from "./plot";
import { placeOf } from "./slice";
import type { MemoryView } from "./view";

type Context = CanvasRenderingContext2D;
const REST = 150; // ms

export function Values({ view }: { view: MemoryView }): JSX.Element {
  const { app } = view;
  const box = useRef({ width: 1, height: 1 });
  const draw = useCallback(
    (context: Context, width: number, height: number) => {
      box.current = { width, height };
      if (view.covered.value) return;
      paintSheet(context, view, plotOf(view.slice.value, { width, height }, view.zoom.value));
    },
    [view],
  );
  useEffect(() => {
    // Another buffer is shown whole; the cursor may ask for another slice of this one.
    let [buffer, cursor] = [view.buffer.peek(), -1];
    return effect(() => {
      if (view.covered.value) return;
      if (view.buffer.value !== buffer) view.zoom.value = FITTED;
      buffer = view.buffer.value;
      if (app.cursor.value !== cursor) untracked(() => view.followAccess());
      cursor = app.cursor.value;
    });
  }, [view]);
  useEffect(() => {
    // Once the cursor rests: a kernel may know what the page does not hold.
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = effect(() => {
      clearTimeout(timer);
      if (!view.covered.value && view.sheet.value?.survey.missing)
        timer = setTimeout(() => view.fetchMissing(), REST);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [view]);
  const hands = useMemo(() => gestures(view, box), [view]);
  const shown = useRef<JSX.Element | null>(null);
  if (view.covered.value && shown.current) return shown.current;
  const place = view.hover.value ?? app.element.value;
  shown.current = (
    <>
      <Canvas label={label(view)} draw={draw} cursor="crosshair" {...hands} />
      <Legend view={view} />
      <Element view={view} place={place?.length === rank(view) ? place : null} />
    </>
  );
  return shown.current;
}

function rank(view: MemoryView): number {
  return view.app.model.buffers.shape(view.buffer.value).length;
}

function paintSheet(context: Context, view: MemoryView, plot: Plot): void {
  const { app } = view;
  const data = view.sheet.value;
  const theme = app.theme.value;
  if (!data) return;
  const slice = view.slice.value;
  const order = view.physical.value?.logical ?? null;
  const { low, high } = data.range;
  const key = `${data.key} ${low} ${high} ${order ? "p" : ""} ${slice.x} ${slice.y} ${slice.base}`;
  const sheet: Sheet = {
    contents: data.memory,
    dtype: data.memory.dtype,
    slice,
    plot,
    order,
    range: data.range,
    allPlain: isPlain(data.survey),
    key,
  };
  view.pixels.draw(context, sheet, theme);
  paintIndices(context, sheet, theme);
  clipped(context, plot, () => {
    if (hasNumbers(plot)) paintNumbers(context, sheet, theme);
    const shape = data.memory.shape;
    if (data.change.total > 0 && data.change.total < data.survey.total) {
      const cells = data.change.elements.map((flat) => view.cellOf(placeOf(shape, flat)));
      paintChanges(
        context,
        plot,
        cells.filter((cell): cell is [number, number] => cell !== null),
        theme,
      );
    }
    const access = view.access;
    if (access) {
      paintAccess(
        context,
        plot,
        rectanglesOf(access.region, shape, slice, view.position.value),
        access.how,
        theme,
      );
    }
    ring(context, plot, app.element.value && cellIn(view, app.element.value), theme.accent, 2);
    ring(context, plot, view.hover.value && cellIn(view, view.hover.value), theme.text, 1);
  });
}

function cellIn(view: MemoryView, place: readonly number[]): Cell | null {
  return view.cellOf(place);
}

function ring(
  context: Context,
  plot: Plot,
  cell: Cell | null,
  color: string,
  thickness: number,
): void {
  if (!cell) return;
  const [x, y] = [plot.x0 + cell[1] * plot.cellWidth, plot.y0 + cell[0] * plot.cellHeight];
  const [w, h] = [Math.max(plot.cellWidth, 5), Math.max(plot.cellHeight, 5)];
  frame(
    context,
    color,
    thickness,
    x - thickness,
    y - thickness,
    w + 2 * thickness,
    h + 2 * thickness,
  );
}

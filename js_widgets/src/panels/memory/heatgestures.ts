/** Mouse, wheel and keys of the heat map: select, zoom, move, go to the last write. */

import type { Pointer } from "../../ui/canvas";
import { runCommand } from "../../ui/commands";
import type { Cell } from "./heatpaint";
import { cellUnder, FITTED, movedPlot, type Plot, plotOf, revealed, zoomedPlot } from "./plot";
import type { MemoryView } from "./view";

/** The handlers of the canvas. */
export function gestures(
  view: MemoryView,
  box: { readonly current: { width: number; height: number } },
) {
  const plot = () => plotOf(view.slice.peek(), box.current, view.zoom.peek());
  let drag: { x: number; y: number; moved: boolean } | null = null;
  let clickIsDrag = false;
  const under = (x: number, y: number) => {
    const cell = cellUnder(plot(), view.slice.peek(), x, y);
    return cell && view.elementAt(cell[0], cell[1]);
  };
  const zoom = (factor: number, x = box.current.width / 2, y = box.current.height / 2) => {
    view.zoom.value = zoomedPlot(view.slice.peek(), box.current, view.zoom.peek(), factor, x, y);
  };
  return {
    tip: (x: number, y: number) => {
      const place = under(x, y);
      return place && view.words(place);
    },
    onDown: ({ x, y }: Pointer) => {
      drag = { x, y, moved: false };
      clickIsDrag = false;
    },
    onUp: () => {
      drag = null;
    },
    onMove: ({ x, y, event }: Pointer) => {
      if (drag && event.buttons === 0) drag = null;
      if (!drag) {
        const place = under(x, y);
        if (String(place) !== String(view.hover.peek())) view.hover.value = place;
        return;
      }
      if (view.zoom.peek().zoom === 1 || (!drag.moved && Math.hypot(x - drag.x, y - drag.y) < 4))
        return;
      view.zoom.value = movedPlot(plot(), view.zoom.peek(), x - drag.x, y - drag.y);
      drag = { x, y, moved: true };
      clickIsDrag = true;
    },
    onLeave: () => {
      view.hover.value = null;
    },
    onClick: ({ x, y }: Pointer) => {
      const place = under(x, y);
      if (place && !clickIsDrag) view.app.element.value = place;
    },
    onDoubleClick: ({ x, y }: Pointer) => {
      const place = under(x, y);
      const event = place ? view.writerOf(place) : -1;
      if (event >= 0) view.app.jump(event);
    },
    onWheel: (x: number, y: number, event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) {
        if (view.zoom.peek().zoom === 1) return false;
        const [dx, dy] = event.shiftKey ? [event.deltaY, 0] : [event.deltaX, event.deltaY];
        view.zoom.value = movedPlot(plot(), view.zoom.peek(), -dx, -dy);
        return true;
      }
      zoom(Math.exp(-Math.max(Math.min(event.deltaY, 120), -120) * 0.006), x, y);
      return true;
    },
    onKey: (event: KeyboardEvent) => onKey(view, event, zoom, plot),
  };
}

const ARROWS: Record<string, Cell> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

function onKey(
  view: MemoryView,
  event: KeyboardEvent,
  zoom: (factor: number) => void,
  plot: () => Plot,
): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const arrow = ARROWS[event.key];
  const { app } = view;
  if (arrow) {
    const slice = view.slice.peek();
    const [row, column] = (app.element.value && view.cellOf(app.element.value)) ?? [0, 0];
    const by = app.element.value ? (event.shiftKey ? 10 : 1) : 0;
    const next: Cell = [
      Math.min(Math.max(row + arrow[0] * by, 0), slice.rows - 1),
      Math.min(Math.max(column + arrow[1] * by, 0), slice.columns - 1),
    ];
    const place = view.elementAt(next[0], next[1]);
    if (!place) return true;
    app.element.value = place;
    view.zoom.value = revealed(plot(), view.zoom.peek(), next[0], next[1]);
    app.notice.value = `${view.name(place)} = ${view.valueText(place)}`;
    return true;
  }
  if (event.key === "+" || event.key === "=") zoom(1.6);
  else if (event.key === "-") zoom(1 / 1.6);
  else if (event.key === "0") view.zoom.value = FITTED;
  else if (event.key === "Enter" && app.element.value) runCommand(app, "last_write");
  else return false;
  return true;
}

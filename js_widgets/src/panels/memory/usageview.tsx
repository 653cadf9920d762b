/** Memory over time: a map for each space, against what the chip has. */

import { computed, useSignal } from "@preact/signals";
import { useCallback, useMemo, useRef } from "preact/hooks";
import { coordinates, tuple } from "../../model/tables";
import { bytesText, grouped } from "../../model/text";
import { Canvas, type Pointer } from "../../ui/canvas";
import { useSize } from "../drawing/size";
import { axisOf } from "../threads/axis";
import { type Allocation, spacesOf } from "./usage";
import {
  type Across,
  type Band,
  bandsOf,
  FOOT,
  paintBand,
  rectangle,
  titleText,
} from "./usagepaint";
import type { MemoryView } from "./view";

type Context = CanvasRenderingContext2D;

export function Usage({ view }: { view: MemoryView }) {
  const { app } = view;
  const frame = useRef<HTMLDivElement>(null);
  const size = useSize(frame);
  const hover = useSignal(-1);
  const maps = useMemo(
    () =>
      computed(() =>
        spacesOf(app.model, app.launch.value, app.block.value).filter((map) => map.top > 0),
      ),
    [app],
  );
  const across = useMemo(() => computed(() => acrossOf(view, size.value.width)), [view]);
  const bands = useMemo(() => computed(() => bandsOf(maps.value, size.value.height)), [view]);
  const draw = useCallback(
    (context: Context, _: number, height: number) => {
      const theme = app.theme.value;
      const selected = hover.value >= 0 ? hover.value : view.buffer.value;
      for (const band of bands.value) {
        paintBand(context, app.model, band, across.value, app.cursor.value, selected, theme);
      }
      paintFoot(context, view, across.value, height);
    },
    [view],
  );
  const under = ({ x, y }: { x: number; y: number }): Allocation | undefined => {
    const band = bands.peek().find((one) => y >= one.top && y <= one.top + one.height);
    return band && hit(band, across.peek(), x, y);
  };
  const last = bands.value.at(-1);
  const needed = last ? last.top + last.height + FOOT + 6 : 0;
  return (
    <div class="pd-scroll" ref={frame}>
      <div class="pd-usage" style={{ height: `${Math.max(needed, size.value.height)}px` }}>
        <Canvas
          label={words(view, bands.value, across.value)}
          draw={draw}
          tip={(x, y) => {
            const one = under({ x, y });
            return one ? allocationWords(view, one) : null;
          }}
          onMove={(at: Pointer) => {
            hover.value = under(at)?.buffer ?? -1;
          }}
          onLeave={() => {
            hover.value = -1;
          }}
          onClick={(at: Pointer) => {
            const one = under(at);
            if (one) app.focus({ buffer: one.buffer });
          }}
          onDoubleClick={(at: Pointer) => {
            const one = under(at);
            if (one && app.model.buffers.alloc[one.buffer] >= 0) app.jump(one.from);
          }}
        />
      </div>
    </div>
  );
}

/** The life of the selected block, or of the launch where none is selected. */
function acrossOf(view: MemoryView, width: number): Across {
  const { app } = view;
  const launch = app.model.launches[app.launch.value];
  const axis = axisOf("step", app.model.events, launch.firstEvent, launch.lastEvent);
  const row = app.model.blockRow(launch.number, app.block.value);
  if (row < 0) return { axis, low: axis.low, high: axis.high, width };
  const { first, last } = app.model.blocks;
  return { axis, low: axis.at(first[row]), high: axis.at(last[row]) + 1, width };
}

function hit(band: Band, across: Across, x: number, y: number): Allocation | undefined {
  return band.map.allocations.find((one) => {
    const at = rectangle(band, across, one);
    return x >= at.x && x <= at.x + at.width && y >= at.y - 1 && y <= at.y + at.height + 1;
  });
}

function allocationWords(view: MemoryView, one: Allocation): string {
  const { buffers } = view.app.model;
  const { free, alloc } = buffers;
  const born = alloc[one.buffer] >= 0 ? `from #${grouped(one.from)}` : "from the start";
  const ended = free[one.buffer] >= 0 ? `to #${grouped(one.to)}` : "to the end";
  return `${buffers.name(one.buffer)}: ${buffers.type(one.buffer)}\n${bytesText(one.bytes)} of ${buffers.owner(one.buffer)}\n${born} ${ended}`;
}

function paintFoot(context: Context, view: MemoryView, across: Across, height: number): void {
  const { app } = view;
  const theme = app.theme.value;
  context.font = `10px ${theme.sans}`;
  context.fillStyle = theme.muted;
  context.textBaseline = "middle";
  context.fillText(`step ${grouped(across.low)}`, 10, height - FOOT / 2);
  context.textAlign = "right";
  context.fillText(`step ${grouped(across.high)}`, across.width - 10, height - FOOT / 2);
  context.textAlign = "center";
  const place = coordinates(app.model.launches[app.launch.value], app.block.value);
  context.fillText(
    place ? `life of block ${tuple(place)}` : "the whole launch",
    across.width / 2,
    height - FOOT / 2,
  );
  context.textAlign = "left";
}

function words(view: MemoryView, bands: readonly Band[], across: Across): string {
  const text = bands.map(
    ({ map }) => `${map.name}: ${titleText(map, across.axis, view.app.cursor.value)}`,
  );
  return `Memory over time. ${text.join(". ")}.`;
}

/** Which dimensions of a buffer are drawn, and the indices of the others. */

import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { type Slice, sliceOf } from "./slice";
import type { MemoryView } from "./view";

export function Axes({ view, shape }: { view: MemoryView; shape: readonly number[] }) {
  const wide = shape.filter((size) => size > 1).length;
  const shown = shape.length >= 3 && (wide >= 3 || view.settings.value.axes !== null);
  const last = useRef<JSX.Element | null>(null);
  const deep = view.isRested.value && !last.current ? view.firstDeep.value : null;
  if (shown) last.current = <Dimensions view={view} shape={shape} slice={view.slice.value} />;
  else if (deep) last.current = <Dimensions view={view} shape={deep} slice={sliceOf(deep)} />;
  return (
    <div class="pd-axes" hidden={!shown}>
      {last.current}
    </div>
  );
}

interface DimensionsProps {
  readonly view: MemoryView;
  readonly shape: readonly number[];
  readonly slice: Slice;
}

function Dimensions({ view, shape, slice }: DimensionsProps) {
  const pick = (x: number, y: number) => view.set({ axes: [x, y] });
  return (
    <>
      <DimensionSelect
        name="↓"
        shape={shape}
        value={slice.y}
        onPick={(to) => pick(to === slice.x ? slice.y : slice.x, to)}
      />
      <DimensionSelect
        name="→"
        shape={shape}
        value={slice.x}
        onPick={(to) => pick(to, to === slice.y ? slice.x : slice.y)}
      />
      {shape.map((size, d) =>
        d === slice.x || d === slice.y || size < 2 ? null : (
          <label class="pd-muted pd-slider" key={d}>
            {`dim ${d}: ${slice.fixed[d]}`}
            <input
              type="range"
              min={0}
              max={size - 1}
              value={String(slice.fixed[d])}
              aria-label={`index of dimension ${d}`}
              onInput={(event) => {
                const next = [...slice.fixed];
                next[d] = Number(event.currentTarget.value);
                view.set({ slice: next });
              }}
            />
          </label>
        ),
      )}
    </>
  );
}

interface DimensionProps {
  readonly name: string;
  readonly shape: readonly number[];
  readonly value: number;
  readonly onPick: (dimension: number) => void;
}

function DimensionSelect({ name, shape, value, onPick }: DimensionProps) {
  return (
    <label class="pd-muted">
      {name}{" "}
      <select
        class="pd-select"
        aria-label={name === "→" ? "dimension along x" : "dimension along y"}
        value={String(value)}
        onChange={(event) => onPick(Number(event.currentTarget.value))}
      >
        {shape.map((size, d) => (
          <option key={d} value={String(d)}>{`dim ${d} (${size})`}</option>
        ))}
      </select>
    </label>
  );
}

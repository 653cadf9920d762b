/** The kernel as the machine runs it, one instruction a row, in step with the source. */

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { App } from "../../ui/store";
import { VirtualList } from "../../ui/virtual";
import type { Position } from "./places";

export function Listing({ app, position }: { app: App; position: Position | null }): JSX.Element {
  const kernel =
    app.model.kernels[position?.kernel ?? app.model.launches[app.launch.value]?.kernel ?? 0];
  const rowOf = useMemo(() => {
    const rows = new Map<number, number>();
    for (const [row, [, instr]] of (kernel?.listing ?? []).entries())
      if (instr >= 0) rows.set(instr, row);
    return rows;
  }, [kernel]);
  if (!kernel?.listing.length) {
    return <div class="pd-empty">A plain trace file has no listing.</div>;
  }
  const here = position ? (rowOf.get(position.instr) ?? -1) : -1;
  const render = (row: number) => {
    const [depth, instr, text, source, line] = kernel.listing[row];
    const current = row === here;
    const same = !current && instr >= 0 && line === position?.line && source === position?.source;
    return (
      <div
        class={`pd-instr ${current ? "pd-current" : ""} ${same ? "pd-same" : ""} ${instr < 0 ? "pd-scope" : ""}`}
      >
        <span class="pd-number">{instr >= 0 ? instr : ""}</span>
        <span class="pd-instr-line">{line > 0 ? line : ""}</span>
        <code style={{ paddingLeft: `${depth * 14}px` }}>{text}</code>
      </div>
    );
  };
  return (
    <VirtualList
      count={kernel.listing.length}
      rowHeight={18}
      render={render}
      reveal={here}
      class="pd-listing pd-wide"
      label={`Instructions of ${kernel.name}`}
    />
  );
}

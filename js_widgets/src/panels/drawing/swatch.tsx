/** Keys of a legend: a small square with color and pattern, and a ramp of colors between two numbers. */

import { cssAt, type ScaleKind } from "./scales";

interface SwatchProps {
  readonly color: string;
  readonly pattern?: string;
  readonly mark?: string;
  readonly hollow?: boolean;
}

const ANGLES: Record<string, string> = {
  rising: "repeating-linear-gradient(135deg, INK 0 1.2px, transparent 1.2px 4px)",
  falling: "repeating-linear-gradient(45deg, INK 0 1.2px, transparent 1.2px 4px)",
  cross:
    "repeating-linear-gradient(135deg, INK 0 1px, transparent 1px 4px), repeating-linear-gradient(45deg, INK 0 1px, transparent 1px 4px)",
  dots: "radial-gradient(INK 25%, transparent 30%) 0 0 / 4px 4px",
};

export function Swatch({ color, pattern, mark, hollow }: SwatchProps) {
  const ink = hollow ? color : "var(--pd-background)";
  const lines = pattern ? `${ANGLES[pattern].replaceAll("INK", ink)}, ` : "";
  const style = hollow
    ? { border: `1px solid ${color}`, color, background: `${lines}transparent` }
    : { background: lines ? `${lines}${color}` : color, color: "var(--pd-background)" };
  return (
    <span class="pd-swatch" style={style} aria-hidden="true">
      {mark}
    </span>
  );
}

interface RampProps {
  readonly kind: ScaleKind;
  readonly dark: boolean;
  readonly low: string;
  readonly high: string;
}

export function Ramp({ kind, dark, low, high }: RampProps) {
  const stops = Array.from({ length: 9 }, (_, i) => cssAt(kind, dark, i / 8)).join(", ");
  return (
    <span class="pd-legend-key">
      {low}
      <span
        class="pd-ramp"
        style={{ background: `linear-gradient(90deg, ${stops})` }}
        aria-hidden="true"
      />
      {high}
    </span>
  );
}

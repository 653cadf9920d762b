/** Color scales as tables of packed pixels, and the choice of a range for values. Knows no panel. */

export type Rgb = readonly [number, number, number];

/** How a table of colors is to be read: from low to high, or from both sides of a middle. */
export type ScaleKind = "sequential" | "diverging";

export interface Range {
  readonly kind: ScaleKind;
  readonly low: number;
  readonly high: number;
}

/** Steps of a table; a byte holds a step and, above, what is no value. */
export const STEPS = 240;

// Lightness runs one way in each, so they stay readable without color and for every kind of color vision.
const SEQUENTIAL: Rgb[] = [
  [0, 32, 77],
  [53, 69, 108],
  [102, 105, 112],
  [148, 142, 119],
  [200, 184, 102],
  [255, 234, 70],
];
const DIVERGING_LIGHT: Rgb[] = [
  [0, 68, 120],
  [86, 160, 211],
  [244, 244, 242],
  [238, 150, 84],
  [158, 60, 0],
];
const DIVERGING_DARK: Rgb[] = [
  [120, 196, 255],
  [20, 104, 166],
  [38, 38, 40],
  [178, 76, 8],
  [255, 176, 110],
];

/** A color between the stops of a scale; `t` is in 0 … 1. */
export function between(stops: readonly Rgb[], t: number): Rgb {
  const place = Math.min(Math.max(t, 0), 1) * (stops.length - 1);
  const first = Math.min(Math.floor(place), stops.length - 2);
  const part = place - first;
  const [a, b] = [stops[first], stops[first + 1]];
  return [0, 1, 2].map((i) => Math.round(a[i] + (b[i] - a[i]) * part)) as unknown as Rgb;
}

/** A pixel as `ImageData` stores it on a little-endian machine. */
export function pack([r, g, b]: Rgb, alpha = 255): number {
  return ((alpha << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

/** The stops of a kind of scale for a light or dark page. */
export function stopsOf(kind: ScaleKind, dark: boolean): readonly Rgb[] {
  if (kind === "sequential") return SEQUENTIAL;
  return dark ? DIVERGING_DARK : DIVERGING_LIGHT;
}

/** `STEPS` packed pixels from low to high. */
export function table(kind: ScaleKind, dark: boolean): Uint32Array {
  const stops = stopsOf(kind, dark);
  return Uint32Array.from({ length: STEPS }, (_, i) => pack(between(stops, i / (STEPS - 1))));
}

/** The CSS color at `t` of a scale. */
export function cssAt(kind: ScaleKind, dark: boolean, t: number): string {
  return `rgb(${between(stopsOf(kind, dark), t).join(" ")})`;
}

/** Whether black text is easier to read than white on a color. */
export function wantsDarkText([r, g, b]: Rgb): boolean {
  return 0.299 * r + 0.587 * g + 0.114 * b > 140;
}

/** The range that shows values between two numbers: symmetrical when they lie on both sides of 0. */
export function rangeOf(low: number, high: number): Range {
  if (!(low <= high)) return { kind: "sequential", low: 0, high: 1 };
  if (low < 0 && high > 0) {
    const most = Math.max(-low, high);
    return { kind: "diverging", low: -most, high: most };
  }
  return { kind: "sequential", low, high };
}

/** The step of a value in a range. */
export function stepOf(value: number, range: Range): number {
  const span = range.high - range.low;
  if (!(span > 0)) return range.kind === "diverging" ? STEPS >> 1 : STEPS - 1;
  // Halves first: the span of two large floats may overflow.
  const t = Number.isFinite(span)
    ? (value - range.low) / span
    : (value / 2 - range.low / 2) / (range.high / 2 - range.low / 2);
  return Math.min(Math.max(Math.round(t * (STEPS - 1)), 0), STEPS - 1);
}

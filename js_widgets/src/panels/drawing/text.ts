/** Text on a canvas: measured, shortened, never over another text. */

export type Measure = (text: string) => number;

const ELLIPSIS = "…";

const widths = new Map<string, Map<string, number>>();

/** A measure of a context's current font; it remembers what it measured. */
export function measurer(context: CanvasRenderingContext2D): Measure {
  const { font } = context;
  const known = widths.get(font) ?? new Map<string, number>();
  widths.set(font, known);
  return (text) => {
    let width = known.get(text);
    if (width === undefined) {
      if (known.size > 5000) known.clear();
      width = context.measureText(text).width;
      known.set(text, width);
    }
    return width;
  };
}

/** The longest beginning of a text that fits, with an ellipsis; empty if none does. */
export function fitted(text: string, width: number, measure: Measure): string {
  if (width <= 0) return "";
  if (measure(text) <= width) return text;
  let low = 0;
  let high = text.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (measure(text.slice(0, middle).trimEnd() + ELLIPSIS) <= width) low = middle;
    else high = middle - 1;
  }
  return low >= 2 ? text.slice(0, low).trimEnd() + ELLIPSIS : "";
}

/** The same with the middle taken out: names differ at their ends. */
export function fittedInside(text: string, width: number, measure: Measure): string {
  if (measure(text) <= width) return text;
  for (let kept = text.length - 2; kept >= 4; kept--) {
    const head = Math.ceil(kept / 2);
    const short = text.slice(0, head) + ELLIPSIS + text.slice(text.length - (kept - head));
    if (measure(short) <= width) return short;
  }
  return "";
}

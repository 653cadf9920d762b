/** Fills that tell kinds apart without color. Knows no panel. */

export type Hatch = "rising" | "falling" | "cross" | "dots";

const SIZE = 6;
const made = new Map<string, CanvasPattern | null>();

/** Lines or dots of a color on nothing; crisp at any pixel ratio. */
export function hatch(
  context: CanvasRenderingContext2D,
  kind: Hatch,
  color: string,
): CanvasPattern | string {
  const ratio = Math.max(Math.round(context.getTransform().a), 1);
  const key = `${kind} ${color} ${ratio}`;
  let found = made.get(key);
  if (found === undefined) {
    if (made.size > 100) made.clear();
    found = make(context, kind, color, ratio);
    made.set(key, found);
  }
  return found ?? color;
}

function make(
  context: CanvasRenderingContext2D,
  kind: Hatch,
  color: string,
  ratio: number,
): CanvasPattern | null {
  const size = SIZE * ratio;
  const tile = context.canvas.ownerDocument.createElement("canvas");
  tile.width = size;
  tile.height = size;
  const ink = tile.getContext("2d");
  if (!ink) return null;
  ink.strokeStyle = color;
  ink.fillStyle = color;
  ink.lineWidth = 1.25 * ratio;
  if (kind === "dots") ink.fillRect(size / 3, size / 3, 1.5 * ratio, 1.5 * ratio);
  if (kind === "rising" || kind === "cross") diagonal(ink, size, false);
  if (kind === "falling" || kind === "cross") diagonal(ink, size, true);
  const pattern = context.createPattern(tile, "repeat");
  pattern?.setTransform(new DOMMatrix([1 / ratio, 0, 0, 1 / ratio, 0, 0]));
  return pattern;
}

function diagonal(ink: CanvasRenderingContext2D, size: number, falling: boolean): void {
  ink.beginPath();
  for (const shift of [-size, 0, size]) {
    ink.moveTo(shift, falling ? 0 : size);
    ink.lineTo(shift + size, falling ? size : 0);
  }
  ink.stroke();
}

/** A filled rectangle with whole-pixel borders. */
export function box(
  context: CanvasRenderingContext2D,
  fill: string | CanvasPattern,
  x: number,
  y: number,
  width: number,
  height: number,
): void {
  context.fillStyle = fill;
  context.fillRect(x, y, width, height);
}

/** The outline of a rectangle, inside it. */
export function frame(
  context: CanvasRenderingContext2D,
  color: string,
  thickness: number,
  x: number,
  y: number,
  width: number,
  height: number,
): void {
  context.strokeStyle = color;
  context.lineWidth = thickness;
  const half = thickness / 2;
  context.strokeRect(x + half, y + half, width - thickness, height - thickness);
}

/** A CSS color as a packed pixel; the browser itself reads it. */
export function packed(context: CanvasRenderingContext2D, color: string): number {
  context.save();
  context.fillStyle = "#000";
  context.fillStyle = color;
  const text = String(context.fillStyle);
  context.restore();
  const hex = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(text);
  const [r, g, b] = hex
    ? hex.slice(1).map((part) => Number.parseInt(part, 16))
    : (text.match(/[\d.]+/g) ?? ["0", "0", "0"]).map(Number);
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

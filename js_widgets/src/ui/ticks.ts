/** Round numbers for an axis: steps of 1, 2 or 5 times a power of ten, at least `least`. */

export function ticks(from: number, to: number, most: number, least = 0): number[] {
  const raw = Math.max((to - from) / Math.max(most, 1), least, Number.MIN_VALUE);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 5, 10].find((unit) => unit * power >= raw * (1 - 1e-9)) ?? 10);
  const found: number[] = [];
  for (let i = Math.ceil(from / step); i * step <= to && found.length < 200; i++)
    found.push(i * step);
  return found;
}

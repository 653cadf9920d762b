/** Colours of a canvas, read from the style sheet's `--pd-*` tokens. */

export interface Theme {
  readonly dark: boolean;
  readonly background: string;
  /** Raised surfaces: headers, lanes of the selected thread. */
  readonly surface: string;
  readonly text: string;
  readonly muted: string;
  /** Hairlines. */
  readonly line: string;
  /** The selection and the cursor. */
  readonly accent: string;
  readonly error: string;
  readonly warning: string;
  readonly info: string;
  readonly abort: string;
  readonly read: string;
  readonly write: string;
  readonly run: string;
  readonly wait: string;
  readonly flight: string;
  readonly done: string;
  readonly idle: string;
  /** Eight categorical colours (Okabe–Ito), readable on `background`. */
  readonly series: readonly string[];
  /** Font families. */
  readonly sans: string;
  readonly mono: string;
}

const TOKENS = [
  "background surface text muted line accent error warning info abort",
  "read write run wait flight done idle sans mono",
]
  .join(" ")
  .split(" ");

/** Reads the tokens as they are at an element of the viewer. */
export function readTheme(element: Element): Theme {
  const style = getComputedStyle(element);
  const token = (name: string) => style.getPropertyValue(`--pd-${name}`).trim() || "#888";
  const colors = Object.fromEntries(TOKENS.map((name) => [name, token(name)]));
  const series = Array.from({ length: 8 }, (_, i) => token(`series-${i}`));
  return { ...colors, series, dark: isDark(token("background")) } as unknown as Theme;
}

function isDark(color: string): boolean {
  const hex = /^#([0-9a-f]{6})$/i.exec(color)?.[1];
  const parts = hex
    ? [0, 2, 4].map((i) => Number.parseInt(hex.slice(i, i + 2), 16))
    : /^#[0-9a-f]{3}$/i.test(color)
      ? [...color.slice(1)].map((c) => Number.parseInt(c + c, 16))
      : rgb(color);
  return parts[0] * 0.299 + parts[1] * 0.587 + parts[2] * 0.114 < 128;
}

function rgb(color: string): number[] {
  const numbers = color.match(/[\d.]+/g)?.map(Number) ?? [];
  return numbers.length >= 3 ? numbers : [255, 255, 255];
}

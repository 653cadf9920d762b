/** Icons: 16 px strokes in the colour of the text. */

import type { JSX } from "preact";

const PATHS: Record<string, string> = {
  first: "M4 3v10M13 3 7 8l6 5z",
  last: "M12 3v10M3 3l6 5-6 5z",
  back: "M10.5 3.5 5 8l5.5 4.5",
  step: "M5.5 3.5 11 8l-5.5 4.5",
  continue_: "M3 3.5 8 8l-5 4.5zM8.5 3.5l5 4.5-5 4.5z",
  reverse_continue: "M13 3.5 8 8l5 4.5zM7.5 3.5l-5 4.5 5 4.5z",
  next_line: "M3 3.5h10M8 6.5v6M5 10l3 3 3-3",
  prev_line: "M3 12.5h10M8 9.5v-6M5 6l3-3 3 3",
  over: "M2.5 9a5.5 5.5 0 0 1 10.6-1.5M13.5 4v4h-4M8 12.6v.1",
  out: "M8 10V2.5M5 5.5l3-3 3 3M3 13.5h10",
  next_thread: "M2 8h6M8 5l3 3-3 3M13.5 4v8",
  prev_thread: "M14 8H8M8 5 5 8l3 3M2.5 4v8",
  next_block: "M2.5 2.5h5v5h-5zM10 8l3.5 3L10 14M4 11h9",
  prev_block: "M8.5 2.5h5v5h-5zM6 8l-3.5 3L6 14M12 11H3",
  next_buffer: "M2.5 3h8v3h-8zM2.5 8h8v3h-8zM13 5v6M11.5 10l1.5 2 1.5-2",
  prev_buffer: "M5.5 3h8v3h-8zM5.5 8h8v3h-8zM3 11V5M1.5 6 3 4l1.5 2",
  next_finding: "M2.5 12 7 4l4.5 8zM7 7v2.5M13 5l2 3-2 3",
  prev_finding: "M4.5 12 9 4l4.5 8zM9 7v2.5M3 5 1 8l2 3",
  breakpoints: "M5.5 2.5h5l3 3v5l-3 3h-5l-3-3v-5z",
  help: "M5.5 6a2.5 2.5 0 1 1 3.4 2.3c-.6.3-.9.7-.9 1.4v.3M8 12.6v.1",
  fullscreen: "M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",
  close: "m4 4 8 8M12 4l-8 8",
  copy: "M5.5 5.5h7v7h-7zM3.5 10.5v-7h7",
  more: "M3.5 8h.1M8 8h.1M12.5 8h.1",
  pin: "M6 2.5h4l-.5 4 2 2.5h-7l2-2.5zM8 9v4.5",
  zoom: "M9.5 2.5h4v4M13.5 2.5l-5 5M6.5 13.5h-4v-4M2.5 13.5l5-5",
  unzoom: "M13 3 9 7M9 3.5V7h3.5M3 13l4-4M7 12.5V9H3.5",
  chevron: "m6 4 4 4-4 4",
  plus: "M8 3v10M3 8h10",
  trash: "M3 4.5h10M6 4.5v-2h4v2M4.5 4.5l.5 9h6l.5-9",
  eye: "M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8zM8 6.2a1.8 1.8 0 1 0 .01 0",
  replay: "M3 8a5 5 0 1 1 1.5 3.5M3 13v-3h3",
};

export function Icon({ name }: { name: string }): JSX.Element {
  return (
    <svg class="pd-icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={PATHS[name] ?? PATHS.more} />
    </svg>
  );
}

/** A mark that differs in shape as well as colour: error ◆, warning ▲, info ●, would abort ⬣. */
const MARKS: Record<string, string> = {
  error: "M8 1.8 14.2 8 8 14.2 1.8 8z",
  warning: "M8 2 14.5 13.5h-13z",
  info: "M8 2.5a5.5 5.5 0 1 0 .01 0z",
  abort: "M5.2 1.8h5.6l3.4 3.4v5.6l-3.4 3.4H5.2l-3.4-3.4V5.2z",
};

export function SeverityMark({ kind }: { kind: string }): JSX.Element {
  return (
    <svg
      class={`pd-mark pd-${kind}`}
      viewBox="0 0 16 16"
      width="12"
      height="12"
      role="img"
      aria-label={kind}
    >
      <path d={MARKS[kind] ?? MARKS.info} />
    </svg>
  );
}

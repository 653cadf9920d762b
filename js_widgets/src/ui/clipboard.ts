/** Copies text and says so; where the page may not use the clipboard, it shows the text. */

import type { App } from "./store";

export async function copyPython(app: App, text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    app.notice.value = `Copied: ${text}`;
  } catch {
    app.notice.value = copyBySelection(text) ? `Copied: ${text}` : text;
  }
}

/** The way of sandboxed frames, which have no clipboard permission. */
function copyBySelection(text: string): boolean {
  const field = document.createElement("textarea");
  field.value = text;
  field.style.position = "fixed";
  field.style.opacity = "0";
  document.body.append(field);
  field.select();
  let done = false;
  try {
    done = document.execCommand("copy");
  } finally {
    field.remove();
  }
  return done;
}

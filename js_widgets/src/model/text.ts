/** An event in words, as Python's `Event.what` and `repr` say it. */

import { Kind } from "../schema.gen";
import { regionText } from "./regions";
import { coordinates, tuple } from "./tables";
import type { Model } from "./trace";

export const KIND_NAMES: readonly string[] = Object.entries(Kind).reduce<string[]>(
  (names, [name, number]) => {
    names[number] = name.toLowerCase();
    return names;
  },
  [],
);

/** Verb and object: `write acc[0:64, 32:64]`. */
export function what(model: Model, event: number): string {
  const { kind: kinds, aux: numbers, object, region } = model.events;
  const [kind, aux] = [kinds[event], numbers[event]];
  const verb = KIND_NAMES[kind] ?? `kind ${kind}`;
  if (kind === Kind.SPAWN || kind === Kind.JOIN)
    return `${verb} ${model.threads.name(object[event])}`;
  if (kind === Kind.PRINT) {
    const text = model.texts[aux];
    return text === undefined ? verb : `${verb} ${pythonText(text)}`;
  }
  if (kind === Kind.ASSERT) {
    const text = aux < 0 ? model.texts[-1 - aux] : "";
    return `${verb} ${aux > 0 ? "held" : "failed"}${text ? `: ${pythonText(text)}` : ""}`;
  }
  if (kind === Kind.GRID) {
    const place = coordinates(model.launches[model.launchOf(event)], model.events.block[event]);
    return `${verb} ${place ? tuple(place) : "None"}`;
  }
  const buffer = model.bufferOf(event);
  if (buffer < 0) return verb;
  const part =
    region[event] >= 0 ? regionText(model.region(region[event]), model.buffers.shape(buffer)) : "";
  const text = `${verb} ${model.buffers.name(buffer)}${part}${owner(model, event, buffer)}`;
  return kind === Kind.WAIT || kind === Kind.PHASE || kind === Kind.SIGNAL
    ? `${text} (${aux})`
    : text;
}

/** ` of device 1` if the buffer is another device's than the thread. */
function owner(model: Model, event: number, buffer: number): string {
  const own = model.threads.device[model.events.thread[event]];
  const device = model.buffers.device[buffer];
  return own < 0 || device === own ? "" : ` of device ${device}`;
}

/** A string as Python's `repr` writes it. */
export function pythonText(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escapes: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\" };
  let out = "";
  for (const char of text) {
    if (char === quote) out += `\\${char}`;
    else if (char in escapes) out += escapes[char];
    else if (char < " " || char === "\x7f")
      out += `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}`;
    else out += char;
  }
  return quote + out + quote;
}

/** `kernel.py:41`, or empty. */
export function place(model: Model, event: number): string {
  const loc = model.locOf(event);
  return loc ? `${fileName(loc.file)}:${loc.line}` : "";
}

export function fileName(file: string): string {
  return file.split("/").at(-1) ?? file;
}

/** 12,345 */
export function grouped(number: number): string {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** `1.5 KiB`, `227 KiB`, exact below 1024. */
export function bytesText(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  const text =
    unit === 0 || Number.isInteger(value) ? String(value) : value.toFixed(value < 10 ? 2 : 1);
  return `${text} ${units[unit]}`;
}

/** `1 event`, `2 events`. */
export function plural(number: number, word: string): string {
  return `${grouped(number)} ${word}${number === 1 ? "" : "s"}`;
}

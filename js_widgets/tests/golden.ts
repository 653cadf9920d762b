/** The golden bundles that Python wrote, and its answers about them. */

import { readdirSync, readFileSync } from "node:fs";
import { openBundle } from "../src/bundle";
import { Model } from "../src/model/trace";

// vitest runs in the folder of package.json.
const FOLDER = "tests/golden/";

export const CASES: readonly string[] = readdirSync(FOLDER)
  .filter((name) => name.endsWith(".bundle"))
  .map((name) => name.replace(/\.bundle$/, ""))
  .sort();

export function bytesOf(name: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(readFileSync(`${FOLDER}${name}.bundle`));
}

/** A part of a case whose bundle grows. */
export function partOf(name: string, number: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(readFileSync(`${FOLDER}${name}.part${number}`));
}

export async function modelOf(name: string): Promise<Model> {
  return new Model(await openBundle(bytesOf(name)));
}

// biome-ignore lint/suspicious/noExplicitAny: JSON of Python's making
export function answersOf(name: string): any {
  return JSON.parse(readFileSync(`${FOLDER}${name}.json`, "utf8"));
}

/** Every so many-th element, NaN and infinities as words, as the answers have them. */
export function sampled(values: ArrayLike<number>, every: number): (number | string)[] {
  const found: (number | string)[] = [];
  for (let i = 0; i < values.length; i += every) {
    const value = values[i];
    if (Number.isNaN(value)) found.push("NaN");
    else if (Number.isFinite(value)) found.push(value);
    else found.push(value > 0 ? "Infinity" : "-Infinity");
  }
  return found;
}

/** The details of a finding in words: known ones only, for a bare number explains nothing. Pure. */

import { grouped } from "../../model/text";

type Details = Readonly<Record<string, unknown>>;
type Write = (value: unknown, details: Details) => string;

const isNumbers = (value: unknown): value is number[] =>
  Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === "number");

/** `[2:4, 0:128]` from `(start, size, stride)` or `(start, stop)` per dimension; "" for other things. */
export function slices(value: unknown): string {
  if (!Array.isArray(value) || !value.length || !value.every(isNumbers)) return "";
  const parts = (value as number[][]).map(([start, second, stride]) => {
    if (stride === undefined) return second === start + 1 ? `${start}` : `${start}:${second}`;
    if (second === 1) return `${start}`;
    return `${start}:${start + second * stride}${stride === 1 ? "" : `:${stride}`}`;
  });
  return `[${parts.join(", ")}]`;
}

/** Runs of indices per dimension: `[0:6, 0:128]`; several runs of one dimension by commas. */
function runs(value: unknown): string {
  if (!Array.isArray(value) || isNumbers(value)) return "";
  const parts = value.map((one) => slices(one).slice(1, -1).replaceAll(", ", " and "));
  return parts.every(Boolean) ? `[${parts.join(", ")}]` : "";
}

const text: Write = (value) => (typeof value === "string" ? value : "");
const whole: Write = (value) => (typeof value === "number" ? grouped(value) : "");
const tuple: Write = (value) =>
  isNumbers(value) ? `(${value.join(", ")}${value.length === 1 ? "," : ""})` : "";
const event: Write = (value) => (typeof value === "number" && value >= 0 ? `#${value}` : "");
const progress: Write = (value) => {
  const { seen, needed } = (value ?? {}) as { seen?: number; needed?: number };
  return needed === undefined ? "" : `${seen} of the ${needed} needed`;
};

/** What is said, in this order, and how. */
const KNOWN: readonly [key: string, name: string, Write][] = [
  ["requested", "asked for", slices],
  ["shape", "shape", tuple],
  ["dimensions", "outside in dimension", (value) => (isNumbers(value) ? value.join(", ") : "")],
  ["elements", "elements", (value) => runs(value) || (isNumbers(value) ? value.join(", ") : "")],
  ["missing", "elements missing", whole],
  ["output_elements", "reaches", (value, { output }) => `${text(output, {})}${slices(value)}`],
  ["output_block", "block of the output", tuple],
  ["arrivals", "arrivals", progress],
  ["given", "units given", whole],
  ["taken", "units taken", whole],
  ["left", "units left", whole],
  ["asked", "asked for", whole],
  ["limit", "limit", whole],
  ["free", "freed at", event],
  ["wording", "JAX says", text],
  ["exception", "raises", text],
  ["where", "where", text],
];

/** Names and texts to show of a finding's details. */
export function factsOf(details: Details | null): (readonly [string, string])[] {
  const given = details ?? {};
  const race = Array.isArray(given.accesses);
  return KNOWN.flatMap(([key, name, write]) => {
    const said = race || given[key] === undefined ? "" : write(given[key], given);
    return said ? [[name, said] as const] : [];
  });
}

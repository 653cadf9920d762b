/** What a kernel says about a buffer where it makes it: the layout in memory. */

import type { Model } from "../../model/trace";
import { type Physical, parseTransforms, physicalOf } from "./physical";

interface Declaration {
  readonly name?: string;
  readonly params?: { readonly transforms?: readonly unknown[] };
}

interface Kept {
  readonly ofBuffer: Map<number, Physical | null>;
  /** Every block has buffers of the same few layouts. */
  readonly ofText: Map<string, Physical | null>;
}

const kept = new WeakMap<Model, Kept>();

/** The physical layout of a buffer; null where it has none of its own, or one we do not understand. */
export function layoutOf(model: Model, buffer: number): Physical | null {
  const known = kept.get(model) ?? { ofBuffer: new Map(), ofText: new Map() };
  kept.set(model, known);
  let found = known.ofBuffer.get(buffer);
  if (found === undefined) {
    const transforms = transformsOf(model, buffer);
    const text = transforms ? `${transforms.join()} ${model.buffers.type(buffer)}` : "";
    found = known.ofText.get(text);
    if (found === undefined) found = transforms ? made(model, buffer, transforms) : null;
    known.ofText.set(text, found);
    known.ofBuffer.set(buffer, found);
  }
  return found;
}

function made(model: Model, buffer: number, transforms: readonly string[]): Physical | null {
  const { buffers } = model;
  const layout = parseTransforms(transforms);
  return layout ? physicalOf(buffers.shape(buffer), bitsOf(buffers.dtype(buffer)), layout) : null;
}

/** The transforms of a buffer's declaration as text, or null. */
function transformsOf(model: Model, buffer: number): string[] | null {
  const { buffers, events, launches, header } = model;
  const kernel = header.kernels[launches[buffers.launch[buffer]].kernel];
  const alloc = buffers.alloc[buffer];
  const instr = alloc >= 0 ? kernel.tape[events.instr[alloc]] : undefined;
  const declared: Declaration[] = [...(instr?.params?.decls ?? []), ...(kernel.buffers ?? [])];
  const name = buffers.name(buffer);
  const transforms = declared.find((one) => one.name === name)?.params?.transforms;
  return transforms?.length ? transforms.map(text) : null;
}

/** JSON of a text that stands for something else is an object. */
function text(value: unknown): string {
  return typeof value === "string"
    ? value
    : String((value as { text?: string } | null)?.text ?? "");
}

function bitsOf(dtype: string): number {
  const digits = /\d+/.exec(dtype);
  return digits ? Number(digits[0]) : 8;
}

/** Kernels, launches and sources from the header: JSON of Python's making, typed once here. */

import type { Bundle, Header } from "../bundle";
import { sitesOf } from "./calls";
import type { Kernel, Launch, ListingLine, Loc, Scope } from "./tables";
import { count } from "./values";

export interface Source {
  readonly file: string;
  readonly name: string;
  /** First line number. */
  readonly start: number;
  /** Per line: pieces of text with a short Pygments class, or "". */
  readonly tokens: readonly (readonly (readonly [text: string, cls: string])[])[];
}

// biome-ignore lint/suspicious/noExplicitAny: JSON
type Json = any;

function readLoc(data: Json): Loc {
  return {
    file: data.file,
    line: data.line,
    endLine: data.end_line ?? data.line,
    function: data.function,
    text: data.text ?? "",
  };
}

export function readSources(header: Header): Source[] {
  const given = header.view?.sources as Source[] | undefined;
  return given ?? excerpts(header);
}

/** A plain trace file has no sources, but each location carries its own line. */
function excerpts(header: Header): Source[] {
  const files = new Map<string, Map<number, string>>();
  for (const kernel of header.kernels as Json[]) {
    for (const loc of kernel.locs as Json[]) {
      const lines = files.get(loc.file) ?? new Map<number, string>();
      files.set(loc.file, lines);
      const texts = String(loc.text ?? "").split("\n");
      for (const [i, text] of texts.entries()) if (text) lines.set(loc.line + i, text);
    }
  }
  return [...files].map(([file, lines]) => {
    const numbers = [...lines.keys()];
    const start = Math.min(...numbers);
    const tokens: [string, string][][] = [];
    for (let line = start; line <= Math.max(...numbers); line++)
      tokens.push([[lines.get(line) ?? "", ""]]);
    return { file, name: file.split(/[\\/]/).at(-1) ?? file, start, tokens };
  });
}

export function readKernels(bundle: Bundle, sources: readonly Source[]): Kernel[] {
  const firsts = bundle.intsOrNone("view.instrs.first");
  const given = bundle.intsOrNone("view.instrs.source");
  return (bundle.header.kernels as Json[]).map((data, number) => {
    const locs = (data.locs as Json[]).map(readLoc);
    const tape = data.tape as Json[];
    const own = (data.loc ?? -1) as number;
    const loc = Int32Array.from(tape, (instr) => (instr.loc >= 0 ? instr.loc : own));
    const bySource = locs.map((one) => sources.findIndex((s) => s.file === one.file));
    const view = bundle.header.view?.kernels?.[number];
    const scopes = (data.scopes as Json[] | undefined)?.map(readScope) ?? [
      { kind: "kernel", name: "", parent: -1, loc: -1 },
    ];
    return {
      number,
      name: data.name,
      backend: data.backend,
      ops: tape.map((instr) => instr.op as string),
      loc,
      line: Int32Array.from(loc, (row) => locs[row]?.line ?? 0),
      endLine: Int32Array.from(loc, (row) => locs[row]?.endLine ?? 0),
      source: given.length
        ? Int32Array.from(given.subarray(firsts[number], firsts[number] + tape.length))
        : Int32Array.from(loc, (row) => bySource[row] ?? -1),
      scope: Int32Array.from(tape, (instr) => instr.scope ?? 0),
      scopes,
      sites: sitesOf(scopes, locs, own),
      locs,
      kernelLoc: own,
      names: (view?.names as string[]) ?? [],
      listing: (view?.listing as ListingLine[]) ?? [],
    };
  });
}

function readScope(data: Json): Scope {
  return { kind: data.kind, name: data.name, parent: data.parent, loc: data.loc ?? -1 };
}

export function readLaunches(header: Header): Launch[] {
  return (header.launches as Json[]).map((data, number) => {
    const kernel = header.kernels[data.kernel] as Json;
    const view = header.view?.launches?.[number] as Json | undefined;
    const cluster = (kernel.grid?.cluster ?? []) as number[];
    const axes = (data.axes ?? {}) as Record<string, number>;
    const together = Object.keys(data.device ?? {}).length === 0;
    const mesh = together ? Object.values(axes) : [];
    const blockShape = (view?.block_shape ?? [...mesh, ...data.grid, ...cluster]) as number[];
    const names = [
      ...(together ? Object.keys(axes) : []),
      ...(kernel.grid?.names ?? []),
      ...(kernel.grid?.cluster_names ?? []),
    ];
    return {
      number,
      name: kernel.name,
      backend: kernel.backend,
      kernel: data.kernel,
      blockShape,
      grid: data.grid,
      cluster,
      axisNames: (view?.axis_names?.length ? view.axis_names : names) as string[],
      chip: data.chip ?? "",
      axes,
      mesh,
      limits: view?.limits ?? {},
      peaks: view?.peaks ?? {},
      scalars: view?.scalars ?? {},
      outcome: { kind: data.outcome.kind, message: data.outcome.message ?? "" },
      firstEvent: data.first_event,
      lastEvent: data.last_event,
      blocks: count(blockShape),
    };
  });
}

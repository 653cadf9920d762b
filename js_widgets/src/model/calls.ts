/**
 * Calls, loops and branches around instructions: the same as Python's `Kernel.callers_of`.
 *
 * The scope tree is the table of call stacks; a scope's place is the line that opened it.
 */

import type { Kernel, Loc, Scope } from "./tables";

/** Scopes that no line of the kernel opens. */
const WITHOUT_SITE: ReadonlySet<string> = new Set(["kernel", "grid", "agent"]);

export function hasSite(scope: Scope): boolean {
  return scope.loc >= 0 && !WITHOUT_SITE.has(scope.kind);
}

function isAt(one: Loc | undefined, other: Loc | undefined): boolean {
  return (
    one !== undefined &&
    one.line === other?.line &&
    one.file === other.file &&
    one.function === other.function
  );
}

/** For each scope the rows of `locs` of those around it and of its own, innermost first. */
export function sitesOf(
  scopes: readonly Scope[],
  locs: readonly Loc[],
  own: number,
): readonly (readonly number[])[] {
  const found: (readonly number[])[] = [];
  for (const scope of scopes) {
    const sites = found[scope.parent] ?? [];
    const near = locs[sites[0] ?? own];
    found.push(hasSite(scope) && !isAt(near, locs[scope.loc]) ? [scope.loc, ...sites] : sites);
  }
  return found;
}

/** Rows of `locs` where the calls, loops and branches around an instruction stand. */
export function callersOf(kernel: Kernel, instr: number): readonly number[] {
  const sites = kernel.sites[kernel.scope[instr]] ?? [];
  const same = isAt(kernel.locs[kernel.loc[instr]], kernel.locs[sites[0]]);
  return same ? sites.slice(1) : sites;
}

/** Scopes that are calls of functions, not loops or branches. */
const CALLS: ReadonlySet<string> = new Set(["function", "call"]);

/** Rows of `locs` where the functions around an instruction were called, innermost first. */
export function callsOf(kernel: Kernel, instr: number): readonly number[] {
  const { locs, scopes } = kernel;
  const found: number[] = [];
  let near = kernel.loc[instr];
  for (let at = kernel.scope[instr] ?? -1; at >= 0; at = scopes[at].parent) {
    const { kind, loc } = scopes[at];
    const known = [near, kernel.kernelLoc].some((row) => isAt(locs[row], locs[loc]));
    if (!CALLS.has(kind) || loc < 0 || known) continue;
    found.push(loc);
    near = loc;
  }
  return found;
}

/** What the viewer's words mean: one sentence each, for tooltips and the help. */

export const WORDS = {
  event:
    "One recorded fact, such as a read, a write or the end of a wait; numbered from #0 as they happened in this run.",
  step: "How many instructions the launch had executed before this event. Most instructions leave no event.",
  tick: "How many events this thread had before this one: its own clock.",
  thread:
    "What runs by itself: a core, a warpgroup, a block of Triton; an agent is a copy or a matrix product that a thread has started.",
  block: "One point of the grid (in a cluster: of the cluster's grid).",
  phase: "How often a barrier has been complete; who waits names the phase that it waits for.",
  run: "What one execution did. “what if” runs start at the recording and differ from it; they never change it.",
  generic:
    "The kernel names no feature of one kind of chip, so it runs by the rules that all share.",
  "as on …": "The chip whose limits and sizes are pretended; Options(chip=…) chooses another.",
  any: "The memory of a buffer for which the kernel names none: the compiler chooses it.",
  "not set": "Nothing has been written there yet: the value is what the memory happened to hold.",
  "not recorded": "The value is not in the trace; a live kernel computes it again.",
} as const;

/** The meaning of a word that stands in the data, "" if it explains itself. */
export function meaning(word: string): string {
  return (WORDS as Record<string, string>)[word] ?? "";
}

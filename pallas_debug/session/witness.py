"""The shortest schedule found that makes a fault visible in what a launch returns.

Interleavings are tried at random, the same ones each time; the first that gives another
result, or another end, is shrunk by leaving out choices as long as it still does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from pallas_debug.session import diversion
from pallas_debug.session.progress import progress
from pallas_debug.session.replay import Replay
from pallas_debug.trace import Trace

SEEDS = 200
RUNS = 300  # while shrinking


def witness(trace: Trace, replay: Replay, launch: int) -> list[int] | None:
    """Threads in the order in which they are to run; None if no try showed anything.

    After the last of them the thread that runs goes on until it waits, as ever.
    """
    given = replay.options(launch)
    options = replace(given, values="writes", progress=False)

    def run(**how: Any) -> Trace:
        return diversion.scheduled(trace, replay, launch, **how)[0]

    def differs(made: Trace) -> bool:
        return _seen(made) != usual

    usual = _seen(run(options=options))
    hidden = True if given.progress is False else None  # None: if no terminal shows it
    with progress(SEEDS, "interleavings", hidden=hidden) as bar:
        for seed in range(SEEDS):
            made = run(options=replace(options, policy="random", seed=seed))
            if differs(made):
                choices = [thread for _, _, thread in made.choices]
                return shrunk(
                    choices, lambda few: differs(run(options=options, choices=few))
                )
            bar.update()
    return None


def shrunk(
    choices: Sequence[int], shows: Callable[[list[int]], bool], runs: int = RUNS
) -> list[int]:
    """The choices without what is not needed: of chunks, then of single ones."""
    kept = list(choices)
    size = max(len(kept) // 2, 1)
    while kept and runs > 0:
        start, cut = len(kept), False
        while start > 0 and runs > 0:
            start = max(start - size, 0)
            fewer = kept[:start] + kept[start + size :]
            runs -= 1
            if shows(fewer):
                kept, cut = fewer, True
        if size == 1 and not cut:
            break
        size = max(size // 2, 1)
    return kept


def _seen(trace: Trace) -> tuple[str, list[bytes]]:
    """How the only launch of a run ended, and what it returned."""
    outputs = [array.tobytes() for array in diversion.outputs_of(trace)]
    return trace.launches[0].outcome.kind, outputs

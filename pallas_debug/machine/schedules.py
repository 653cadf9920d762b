"""Policies: who runs next. A policy sees thread numbers, never what they do."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence

# (enabled threads, thread that ran last and is still enabled or -1) → thread to run
Policy = Callable[[Sequence[int], int], int]


def round_robin(enabled: Sequence[int], current: int) -> int:
    """The current thread until it waits, then the one that is ready longest."""
    return current if current >= 0 else enabled[0]


def seeded(seed: int) -> Policy:
    """Any enabled thread, the same ones for the same seed."""
    rng = random.Random(seed)

    def policy(enabled: Sequence[int], current: int) -> int:
        return enabled[rng.randrange(len(enabled))]

    return policy


def last_first(enabled: Sequence[int], current: int) -> int:
    """The youngest thread first: copies run at once, as in JAX's own interpreter."""
    return max(enabled)


def replay(choices: Iterable[int]) -> Policy:
    """The recorded threads in their order; skips one that is not enabled."""
    pending = iter(choices)

    def policy(enabled: Sequence[int], current: int) -> int:
        for thread in pending:
            if thread in enabled:
                return thread
        return round_robin(enabled, current)

    return policy

"""Policies: who runs next. A policy sees thread numbers, never what they do.

`Options.policy` names a registered one. `round-robin` alone switches threads only where
they wait; any other is asked before each synchronization, too.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pallas_debug.registry import Registry

# (enabled threads, thread that ran last and is still enabled or -1) → thread to run
Policy = Callable[[Sequence[int], int], int]
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A registered policy.

    Attributes:
      function: The policy, or what makes one of a seed.
      seeded: It makes one: a launch gets a fresh policy, so that it can be repeated.
    """

    function: Callable[..., Any]
    seeded: bool = False

    def policy(self, seed: int) -> Policy:
        """The policy for one launch."""
        return self.function(seed) if self.seeded else self.function


SCHEDULES: Registry[Schedule] = Registry("schedule")


def schedule(name: str, *, seeded: bool = False) -> Callable[[F], F]:
    """Registers a policy for `Options(policy=name)`; gives the function back unchanged.

    Args:
      name: Kebab-case name.
      seeded: The function takes `Options.seed` and makes a policy. Needed by policies
        that draw random numbers or remember what they chose.
    """

    def register(function: F) -> F:
        SCHEDULES.add(name, Schedule(function=function, seeded=seeded))
        return function

    return register


@schedule("round-robin")
def round_robin(enabled: Sequence[int], current: int) -> int:
    """The current thread until it waits, then the one that is ready longest."""
    return current if current >= 0 else enabled[0]


@schedule("random", seeded=True)
def seeded(seed: int) -> Policy:
    """Any enabled thread, the same ones for the same seed."""
    rng = random.Random(seed)

    def policy(enabled: Sequence[int], current: int) -> int:
        return enabled[rng.randrange(len(enabled))]

    return policy


@schedule("last-first")
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

"""What a run may use and what it records: one frozen object for all layers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, SupportsIndex, cast

from pallas_debug.accepted import flag, is_whole, one_of, real, scalar, text, whole
from pallas_debug.errors import BadOption

GiB = 1 << 30
MOST_BLOCKS = 1 << 24  # an iterator without an end is refused


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of a recording; all are optional.

    Attributes:
      chip: The chip that is pretended (`h100`, `b200`, `tpu-v5e`, …); None chooses by
        the kernel's backend. A GPU's for a TPU kernel, or the reverse, is refused.
      cores: Number of cores that the pretended chip reports; None: the chip's own.
      max_events: Events after which a launch ends as `truncated`. The function goes on
        with what its outputs hold by then, and further launches are recorded, too.
      max_seconds: Wall-clock seconds after which a launch does; None: no limit.
      max_value_bytes: Bytes of recorded values after which no more are kept (said in
        the report, PD904).
      blocks: Grid points to run; None: all. Linear indices, coordinates in tuples, or
        both, in anything that can be gone through: `range(4)`, `[0, (1, 2)]`, an array;
        a single index stands for itself. Kept sorted, in a tuple.
      values: Which values are recorded: `all`, `writes` or `none`.
      exact: Evaluate each op as op-by-op JAX does, to the last bit; slower.
      policy: `round-robin` (a thread runs until it waits), `random`, `last-first`
        (copies run at once), or one of your own, under `@extend.schedule`.
      seed: Seed of the `random` policy, or of your own; None: 0, for a recording that
        is made again is the same.
      resident: Clusters that run at the same time.
      uninitialized: What unset memory reads as: `nan` (NaN, the largest integer) or
        `zero`.
      unsupported: At an op without a rule: `stop` ends the launch there, `stub` skips
        the op and leaves its results unset.
      progress: Show a progress bar on long runs; None: only in a terminal or notebook.
    """

    chip: str | None = None
    cores: int | None = None
    max_events: int = 5_000_000
    max_seconds: float | None = None
    max_value_bytes: int = GiB
    blocks: SupportsIndex | Iterable[SupportsIndex | Iterable[SupportsIndex]] | None = (
        None
    )
    values: str = "writes"
    exact: bool = False
    policy: str = "round-robin"
    seed: int = 0
    resident: int = 1
    uninitialized: str = "nan"
    unsupported: str = "stop"
    progress: bool | Callable[[int, int], None] | None = None

    ACCEPTED = {
        "values": ("all", "writes", "none"),
        "uninitialized": ("nan", "zero"),
        "unsupported": ("stop", "stub"),
    }

    def __post_init__(self) -> None:
        from pallas_debug.machine.schedules import SCHEDULES

        for name, words in (*self.ACCEPTED.items(), ("policy", tuple(SCHEDULES))):
            one_of(name, getattr(self, name), words)
        plain: dict[str, Any] = {}
        for name in ("max_events", "max_value_bytes", "resident", "cores"):
            value = getattr(self, name)
            if isinstance(value, bool):
                raise BadOption(option=name, value=value, accepted="a positive int")
            if name != "cores" or value is not None:
                plain[name] = whole(name, value, "a positive int", low=1)
        seed = cast("int | None", self.seed)
        plain["seed"] = 0 if seed is None else whole("seed", seed)
        plain["exact"] = flag("exact", self.exact)
        if self.chip is not None:
            text("chip", self.chip, "a chip's name: h100, b200, tpu-v5e, …")
        if self.max_seconds is not None:
            words = "seconds, as a number"
            plain["max_seconds"] = real("max_seconds", self.max_seconds, words, low=0)
        if self.progress is not None and not callable(self.progress):
            plain["progress"] = flag("progress", self.progress)
        if self.blocks is not None:
            plain["blocks"] = _points(self.blocks)
        for name, value in plain.items():  # NumPy's numbers as Python's
            object.__setattr__(self, name, value)


def _points(given: Any) -> tuple[int | tuple[int, ...], ...]:
    """Grid points as numbers and as coordinates: each once, numbers first."""
    found = {_point(row) for row in ([given] if is_whole(given) else _each(given))}
    return tuple(sorted(found, key=lambda at: (isinstance(at, tuple), at)))


def _point(row: Any) -> int | tuple[int, ...]:
    if is_whole(row):
        return operator.index(row)
    place = _each(row)
    if not all(map(is_whole, place)):
        raise _refused(row)
    return tuple(map(operator.index, place))


def _each(value: Any) -> list[Any]:
    """What is in a value that can be gone through; nobody means the letters of a text."""
    value = scalar(value)
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise _refused(value)
    some = list(islice(cast("Iterable[Any]", value), MOST_BLOCKS + 1))
    if len(some) > MOST_BLOCKS:
        raise _refused(value)
    return some


def _refused(value: object) -> BadOption:
    accepted = "a linear index, or several, or coordinates: `range(4)`, `[0, (1, 2)]`"
    return BadOption(option="blocks", value=value, accepted=accepted)

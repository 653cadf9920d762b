"""What a run may use and what it records: one frozen object for all layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pallas_debug.accepted import flag, is_whole, one_of, real, text, whole
from pallas_debug.errors import BadOption

GiB = 1 << 30


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of a recording; all are optional.

    Attributes:
      chip: The chip that is pretended (`h100`, `b200`, `tpu-v5e`, …); None chooses by
        the kernel's backend. A GPU's for a TPU kernel, or the reverse, is refused.
      cores: Number of cores that the pretended chip reports; None: the chip's own.
      max_events: Events after which the run ends as `truncated`.
      max_seconds: Wall-clock seconds after which it does; None: no limit.
      max_value_bytes: Bytes of recorded values after which no more are kept (said in
        the report, PD904).
      blocks: Grid points to run, as linear indices or coordinates; None: all.
      values: Which values are recorded: `all`, `writes` or `none`.
      exact: Evaluate each op as op-by-op JAX does, to the last bit; slower.
      policy: `round-robin` (a thread runs until it waits), `random`, `last-first`
        (copies run at once), or one of your own, under `@extend.schedule`.
      seed: Seed of the `random` policy, or of your own.
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
    blocks: Sequence[int | tuple[int, ...]] | None = None
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
        plain["seed"] = whole("seed", self.seed)
        plain["exact"] = flag("exact", self.exact)
        if self.chip is not None:
            text("chip", self.chip, "a chip's name: h100, b200, tpu-v5e, …")
        if self.max_seconds is not None:
            words = "seconds, as a number"
            plain["max_seconds"] = real("max_seconds", self.max_seconds, words, low=0)
        if self.progress is not None and not callable(self.progress):
            plain["progress"] = flag("progress", self.progress)
        for name, value in plain.items():  # NumPy's numbers as Python's
            object.__setattr__(self, name, value)
        if self.blocks is not None and not _are_points(self.blocks):
            accepted = "linear indices or coordinate tuples in a list"
            raise BadOption(option="blocks", value=self.blocks, accepted=accepted)


def _are_points(blocks: object) -> bool:
    """Whether this is a sequence of ints or of tuples of ints."""
    if isinstance(blocks, str) or not isinstance(blocks, Sequence | set | frozenset):
        return False
    rows = [b if isinstance(b, tuple | list) else (b,) for b in blocks]
    return all(is_whole(at) for row in rows for at in row)

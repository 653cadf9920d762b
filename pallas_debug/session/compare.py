"""`compare`: a kernel against a reference, down to the line that wrote a wrong element."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.accepted import real
from pallas_debug.errors import BadOption
from pallas_debug.machine.options import Options
from pallas_debug.session.agreement import disagreement, largest
from pallas_debug.session.verbs import trace as record
from pallas_debug.session.writers import NOBODY, Writer, writers_of
from pallas_debug.trace.trace import Trace

# Allowed relative and absolute difference by dtype: some units in the last place.
TOLERANCES: Mapping[str, float] = MappingProxyType(
    {
        "float64": 1e-10,
        "complex128": 1e-10,
        "float32": 2e-5,
        "complex64": 2e-5,
        "float16": 2e-3,
        "bfloat16": 2e-2,
    }
)
SHORT_FLOAT = 0.15  # float8 and shorter


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Difference:
    """One output that is not as the reference says.

    Attributes:
      output: Path of the output in what the function returned; empty for a single one.
      index: The first wrong element in row-major order.
      got, expected: The numbers there.
      tolerance: What was allowed, relative to the expected number and absolutely.
      wrong, size: How many elements are wrong, of how many.
      largest: The largest difference.
      buffer: The kernel's name of the output, empty if no launch wrote this array.
      event, block, thread, loc: Who wrote the element last; -1, None, empty and None if
        nobody did or if it was computed outside the kernels.
      blocks: Grid points that wrote wrong elements, with how many.
    """

    output: str
    index: tuple[int, ...]
    got: Any
    expected: Any
    tolerance: float
    wrong: int
    size: int
    largest: float
    buffer: str = ""
    event: int = -1
    block: tuple[int, ...] | None = None
    thread: str = ""
    loc: ir.Loc | None = None
    blocks: Mapping[Any, int] = field(default_factory=lambda: NOBODY)

    def __str__(self) -> str:
        name = f"`{self.buffer}`" if self.buffer else f"output{self.output or ''}"
        lines = [
            f"{name}{list(self.index) if self.index else ''} is {self.got}, "
            f"expected {self.expected} (`tolerance` {self.tolerance:g}); {self.wrong:,} "
            f"of {self.size:,} elements are wrong, by up to {self.largest:.3g}"
        ]
        if self.event >= 0:
            where = f" of block {self.block}" if self.block else ""
            thread = self.thread if "block" in self.thread else f"{self.thread}{where}"
            lines.append(f"  written by {thread}, event {self.event:,}")
            if self.loc:
                text = self.loc.text.strip().partition("\n")[0]
                lines.append(f"  in {self.loc}:   {text}")
        elif self.buffer:
            lines.append("  nobody wrote it")
        if len(self.blocks) > 1:
            lines.append(f"  wrong elements come from {len(self.blocks):,} blocks")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Difference at {self.output}{list(self.index)}: {self.wrong:,} wrong>"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Comparison:
    """What `compare` found; true if every output is as the reference says.

    Attributes:
      differences: One entry for each output that is not.
      trace: The recording of the kernel.
      unfinished: Why the kernel did not end, or empty.
      largest: The largest difference of any element, wrong or not.
      allowed: What was allowed there, in the same unit.
    """

    differences: tuple[Difference, ...]
    trace: Trace
    unfinished: str = ""
    largest: float = 0.0
    allowed: float = 0.0

    def __bool__(self) -> bool:
        return not self.differences and not self.unfinished

    def __str__(self) -> str:
        if self.unfinished:
            return f"the kernel did not end: {self.unfinished}"
        if not self.differences:
            said = "every output is as the reference says"
            if self.largest:
                said += f": at most {self.largest:.3g} away, {self.allowed:.3g} allowed"
            return said
        return "\n".join(map(str, self.differences))

    __repr__ = __str__


def compare(
    kernel: Callable[..., Any],
    reference: Any,
    *args: Any,
    options: Options | None = None,
    tolerance: float | None = None,
    **kwargs: Any,
) -> Comparison:
    """Records `kernel(*args)` and compares what it returns with a reference.

    Args:
      kernel: Any JAX function that launches a kernel.
      reference: A function of the same arguments, or what it would return.
      *args: The arguments of both.
      options: As for `trace`.
      tolerance: Allowed difference, relative and absolute; None: by dtype, and
        absolutely in units of the largest expected number, since sums cancel.
      **kwargs: Keyword arguments of both.

    Returns:
      A comparison: true if all outputs agree. Its `differences` name the first wrong
      element of each output and the block, thread and line that wrote it.

    Raises:
      NoLaunch: `kernel` launched no kernel.
      BadOption: `reference` gives other shapes or another number of arrays, or
        `tolerance` is negative.

    Example:
      >>> print(pldb.compare(my_matmul, lambda a, b: a @ b, a, b))
    """
    if tolerance is not None:
        words = "a number that is not negative"
        tolerance = real("tolerance", tolerance, words, low=0)
    recorded = record(kernel, *args, options=options, **kwargs)
    expected = reference(*args, **kwargs) if callable(reference) else reference
    ends = [launch.outcome for launch in recorded.launches]
    bad = [end for end in ends if end.kind not in ("finished", "skipped")]
    if bad or recorded.outputs is None:
        why = f"{bad[0].kind}, {bad[0].message}" if bad else "it was stopped"
        return Comparison(differences=(), trace=recorded, unfinished=why)
    outputs = tuple(_outputs(recorded, expected, tolerance))
    farthest = max((one.farthest for one in outputs), default=(0.0, 0.0))
    return Comparison(
        differences=tuple(
            _difference(recorded, one) for one in outputs if one.wrong.any()
        ),
        trace=recorded,
        largest=farthest[0],
        allowed=farthest[1],
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Output:
    """One output beside what is expected.

    Attributes:
      path: Its name in the results.
      got, want: The arrays.
      wrong, error: As `disagreement` gives them.
      tolerance: Relative, and absolute in units of `scale`.
    """

    path: str
    got: np.ndarray
    want: np.ndarray
    wrong: np.ndarray
    error: np.ndarray
    tolerance: float
    scale: float

    @property
    def farthest(self) -> tuple[float, float]:
        """The largest difference, and what is allowed there."""
        if not self.error.size:
            return 0.0, 0.0
        at = int(np.argmax(np.nan_to_num(self.error, nan=np.inf)))
        bound = self.tolerance * (self.scale + abs(self.want.reshape(-1)[at]))
        return float(self.error.reshape(-1)[at]), float(bound)


def _outputs(trace: Trace, expected: Any, tolerance: float | None) -> Iterator[_Output]:
    from pallas_debug.jaxlink.results import leaves

    got, wanted = leaves(trace.outputs), leaves(expected)
    if len(got) != len(wanted):
        raise BadOption(
            option="reference",
            value=f"{len(wanted)} arrays",
            accepted=f"as many as the kernel returns: {len(got)}",
        )
    for (path, array), (_, want) in zip(got, wanted, strict=True):
        if array.shape != want.shape:
            raise BadOption(
                option="reference",
                value=f"an array of shape {want.shape}",
                accepted=f"the shape that the kernel returns: {array.shape}",
            )
        allowed = tolerance_of(array, want) if tolerance is None else tolerance
        exact = tolerance is not None or want.dtype.kind in "biu"
        scale = 1.0 if exact else largest(want, least=1.0)
        wrong, error = disagreement(
            array, want, relative=allowed, absolute=allowed * scale
        )
        yield _Output(
            path=path,
            got=array,
            want=want,
            wrong=wrong,
            error=error,
            tolerance=allowed,
            scale=scale,
        )


def tolerance_of(got: np.ndarray, want: np.ndarray) -> float:
    """What dtypes allow: the coarser of the two decides, integers allow nothing."""
    return max(_tolerance(got.dtype.name), _tolerance(want.dtype.name))


def _tolerance(name: str) -> float:
    if name in TOLERANCES:
        return TOLERANCES[name]
    return SHORT_FLOAT if name.startswith("float") else 0.0


def _difference(trace: Trace, one: _Output) -> Difference:
    got, error = one.got, one.error
    flat = np.flatnonzero(one.wrong.reshape(-1))
    first = int(flat[0])
    known = error[np.isfinite(error)]
    largest = float(known.max()) if known.size == error.size else math.inf
    writer, blocks = writers_of(trace, got, flat)
    return Difference(
        output=one.path,
        index=tuple(int(i) for i in np.unravel_index(first, got.shape)),
        got=got.reshape(-1)[first],
        expected=one.want.reshape(-1)[first],
        tolerance=one.tolerance,
        wrong=len(flat),
        size=got.size,
        largest=largest,
        blocks=blocks,
        **_said(trace, writer),
    )


def _said(trace: Trace, writer: Writer | None) -> dict[str, Any]:
    """The fields of a difference that say who wrote the element."""
    if writer is None:
        return {}
    if writer.event < 0:
        return {"buffer": writer.buffer}
    event = trace.events[writer.event]
    return {
        "buffer": writer.buffer,
        "event": writer.event,
        "block": event.block,
        "thread": event.thread.name,
        "loc": event.loc,
    }

"""PD108 duplicate-index: one store or atomic update names an element twice.

## What it does

Looks at gathered stores and atomic updates whose index vector has equal entries. An
atomic update is fine and only worth knowing (information); of a plain store to one place
by several lanes nobody says which one wins (warning).

## Why is this bad?

Every lane's atomic lands on a device, and here; JAX's own interpreter turns the vector
into one gather, addition and scatter, so that only one of two equal indices counts and
its result differs.

## Example

```python
plt.atomic_add(o_ref, i_ref[...], d_ref[...])  # i_ref has 1 twice
```

## Use instead

Compare with a device or with this interpreter, not with `interpret=True`; or combine
equal indices before, e.g. with `jax.ops.segment_sum`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pallas_debug.checks import accesses
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding, Severity
from pallas_debug.trace.regions import in_range
from pallas_debug.trace.schema import Kind, RegionKind
from pallas_debug.trace.trace import Trace

WRITE, UPDATE = int(Kind.WRITE), int(Kind.UPDATE)


@check("PD108", "duplicate-index", severity=Severity.WARNING)
def duplicate_index(trace: Trace) -> Iterator[Finding]:
    """Stores and updates with equal elements, one finding for each line and buffer."""
    columns = trace.columns
    events = np.flatnonzero(np.isin(columns.kind, (WRITE, UPDATE)))
    if not len(trace.regions) or not len(events):
        return
    events = events[columns.region[events] >= 0]
    events = events[trace.regions.kind[columns.region[events]] == RegionKind.ELEMENTS]
    if not len(events):
        return
    pairs = accesses.pairs(trace, events)
    twice = [
        _twice(trace, trace.buffer_rows[number].shape, region)
        for number, region in zip(
            pairs.buffer.tolist(), pairs.region.tolist(), strict=True
        )
    ]
    hits = np.array([len(equal) > 0 for equal in twice], bool)[pairs.of]
    equal_of = dict(zip(events.tolist(), pairs.of.tolist(), strict=True))
    for kind, severity in ((WRITE, Severity.WARNING), (UPDATE, Severity.INFO)):
        mine = events[hits & (columns.kind[events] == kind)]
        for group in accesses.by_line(trace, mine):
            yield _finding(trace, group, twice[equal_of[int(group[0])]], severity)


def _twice(trace: Trace, shape: tuple[int, ...], region: int) -> np.ndarray:
    """Elements of a buffer of this shape that a region names more than once."""
    elements = trace.region(region).elements
    assert elements is not None, "a set of elements"
    inside = elements[in_range(elements, shape)]
    numbers, counts = np.unique(inside, return_counts=True)
    return numbers[counts > 1]


def _finding(
    trace: Trace, group: np.ndarray, equal: np.ndarray, severity: Severity
) -> Finding:
    first = trace.events[int(group[0])]
    assert first.buffer is not None, "a write has a buffer"
    index = tuple(int(i) for i in np.unravel_index(equal[0], first.buffer.shape))
    named = index[0] if len(index) == 1 else index
    atomic = severity is Severity.INFO
    verb = "updates" if atomic else "stores to"
    end = "; every lane counts, but JAX's interpreter counts one" if atomic else ""
    end = end or "; which lane wins is not defined"
    return accesses.finding_at(
        trace,
        group,
        f"{verb} element {named} of `{first.buffer.name}` from several lanes at once"
        f"{end}{accesses.times(trace, group)}",
        hint="combine equal indices before, or do not compare with `interpret=True`"
        if atomic
        else "make the indices distinct, or use an atomic update",
        severity=severity,
        details={"index": named, "elements": tuple(equal.tolist())},
    )

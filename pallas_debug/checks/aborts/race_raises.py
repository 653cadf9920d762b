"""PD323 race-raises: a race that JAX's interpreters stop at.

## What it does

Finds races (PD201 to PD204) of a kernel that is asked to run with `detect_races=True` in
JAX's GPU or TPU interpret mode, and says what JAX makes of them. Passed over are those
between grid points that are only called parallel, as JAX runs them on one core, and reads
of what another block wrote, which JAX takes.

## Why is this bad?

From JAX 0.12.0 on both modes stop at the first race: `RuntimeError: RACE DETECTED`, unless
they are told `on_race="warn"`. A read that a copy overwrites without a fence (PD204) is
one for it, too. Versions before 0.12.0 print the same and go on, so that the result is
whatever came of it.

## Example

```python
plgpu.copy_smem_to_gmem(smem, o_ref)
smem[...] = x_ref[...]  # InterpretGPUParams(detect_races=True)
```

## Use instead

```python
plgpu.copy_smem_to_gmem(smem, o_ref)
plgpu.wait_smem_to_gmem(0, wait_read_only=True)
smem[...] = x_ref[...]
```
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pallas_debug import ir
from pallas_debug.checks import races_words
from pallas_debug.checks.aborts.refusal import (
    GPU_MODE,
    TPU_MODE,
    interpret_of,
    kernels,
    refusal,
)
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding
from pallas_debug.checks.races import Fault, Race
from pallas_debug.trace.trace import Trace

SEEN = (Fault.READ_WRITE, Fault.WRITE_WRITE, Fault.UNCOMMITTED, Fault.UNFENCED)
MODES = {"gpu": GPU_MODE, "tpu": TPU_MODE}
RAISES = "RuntimeError: RACE DETECTED…"
HINT = 'put them in order, or pass on_race="warn" to see the result'


@check("PD323", "race-raises")
def race_raises(trace: Trace) -> Iterator[Finding]:
    """The first race of each kernel that JAX takes for one."""
    for launch, kernel in kernels(trace, "PD323", _raises):
        mine = {other.number for other in trace.launches if other.kernel is kernel}
        for race in races_words.of_fault(trace, *SEEN):
            is_mine = int(trace.columns.launch[race.first]) in mine
            if not is_mine or race.is_parallel or not _is_seen(trace, race):
                continue
            row = trace.buffer_rows[int(trace.columns.object[race.second])]
            other, place = (
                kernel.loc_of(int(trace.columns.instr[seq]))
                for seq in (race.first, race.second)
            )
            yield refusal(
                launch,
                f"`{row.name}` is accessed twice in no order ({race.fault.value})",
                RAISES,
                HINT,
                where=MODES[interpret_of(kernel)],
                loc=place,
                other=other,
                events=(race.first, race.second),
                buffer=row.name,
            )
            break


def _raises(kernel: ir.Kernel) -> bool:
    return interpret_of(kernel) in MODES and kernel.facts.get("on_race") == "raise"


def _is_seen(trace: Trace, race: Race) -> bool:
    """Whether JAX sees a race; its blocks of a GPU follow each other for a read."""
    rows = trace.thread_rows
    launch = trace.launches[int(trace.columns.launch[race.first])]
    if race.fault is Fault.WRITE_WRITE or interpret_of(launch.kernel) == "tpu":
        return True
    places = np.array([r.block if r.cluster < 0 else r.cluster for r in rows])
    first, second = places[trace.columns.thread[race.pairs]].T
    return bool((first == second).any())

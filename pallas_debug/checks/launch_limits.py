"""PD602 launch-limits: more threads, blocks of a cluster or registers than a chip has.

## What it does

Compares the threads of a block (128 for each warpgroup), the blocks of a cluster and the
registers asked for with `set_max_registers` with the chip; where no chip was chosen,
with the largest of its kind.

## Why is this bad?

JAX's interpreter runs any number of warpgroups and any cluster. A device refuses the
launch, or never starts it.

## Example

```python
plgpu.kernel(body, num_threads=9, thread_name="wg", …)  # 1152 threads
```

## Use instead

```python
plgpu.kernel(body, num_threads=8, thread_name="wg", …)
```
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from pallas_debug.checks import target
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding
from pallas_debug.ir.chips import Chip
from pallas_debug.trace.tables import RecordedLaunch
from pallas_debug.trace.trace import Trace

WARPGROUP = 128  # PTX ISA, "Warpgroup": four warps of 32 threads
REGISTER_RANGE = (24, 256)  # PTX ISA, "setmaxnreg": a multiple of 8 in this range


@check("PD602", "launch-limits")
def launch_limits(trace: Trace) -> Iterator[Finding]:
    """Launches that no judged chip can start."""
    for launch in trace.launches:
        chips = target.chips_of(trace, launch)
        if not chips or launch.backend != "mosaic_gpu":
            continue
        yield from _threads(launch, chips)
        yield from _cluster(launch, chips)
        yield from _registers(launch, chips)


def _threads(launch: RecordedLaunch, chips: tuple[Chip, ...]) -> Iterator[Finding]:
    most = max(one.max_threads_per_block for one in chips)
    asked = launch.threads * WARPGROUP
    if asked > most:
        yield Finding(
            message=f"a block has {launch.threads} warpgroups, {asked:,} threads; "
            f"{target.named(chips)} allows {most:,}",
            hint=f"use at most {most // WARPGROUP} threads (warpgroups)",
            loc=launch.loc,
            launch=launch.number,
            details={"asked": asked, "limit": most},
        )


def _cluster(launch: RecordedLaunch, chips: tuple[Chip, ...]) -> Iterator[Finding]:
    most = max(one.max_cluster_blocks for one in chips)
    asked = math.prod(launch.cluster)
    if asked > most:
        yield Finding(
            message=f"a cluster has {asked} blocks; {target.named(chips)} allows {most}",
            hint="make the cluster smaller"
            if most > 1
            else "this chip has no clusters; clusters exist from compute capability "
            "9.0 on",
            loc=launch.loc,
            launch=launch.number,
            details={"asked": asked, "limit": most},
        )


def _registers(launch: RecordedLaunch, chips: tuple[Chip, ...]) -> Iterator[Finding]:
    """`set_max_registers` out of range; or for all threads more than the core has."""
    low, high = REGISTER_RANGE
    most = max(one.registers_per_core for one in chips)
    for position, instr in enumerate(launch.kernel.tape):
        if instr.op != "gpu.set_max_registers":
            continue
        asked = int(instr.params.get("n", 0))
        words = ""
        if asked % 8 or not low <= asked <= high:
            words = f"is no multiple of 8 from {low} to {high}"
        elif asked * WARPGROUP > most:
            words = f"for {WARPGROUP} threads are more than the {most:,} of a core"
        if words:
            yield Finding(
                message=f"set_max_registers({asked}) {words}",
                hint="share the core's 65,536 registers among its warpgroups",
                loc=launch.kernel.loc_of(position),
                launch=launch.number,
                details={"asked": asked},
            )

"""PD320 hang: a deadlock that GPU interpret mode does not tell.

## What it does

Finds launches that came to a deadlock here, of a kernel that is asked to run in JAX's GPU
interpret mode.

## Why is this bad?

JAX 0.10.2 to 0.12.0.1 raises nothing there: the process sleeps for ever, in a callback
that a keyboard interrupt does not end. Before 0.11.2 an exception in one warpgroup does
not wake the others either.

## Example

```python
plgpu.barrier_wait(barrier)  # nobody arrives
```

## Use instead

See the deadlock's own finding (PD210) for who waits for whom; run a kernel in that mode
only when it comes to its end here.
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_debug.checks.aborts import versions
from pallas_debug.checks.aborts.refusal import GPU_MODE, asked_of_gpu
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding
from pallas_debug.trace.tables import RecordedLaunch
from pallas_debug.trace.trace import Trace

WAKES = (0, 11, 2)


@check("PD320", "hang")
def hang(trace: Trace) -> Iterator[Finding]:
    """Launches that would never come back from JAX."""
    for launch in trace.launches:
        kernel = launch.kernel
        is_stuck = launch.outcome.kind == "deadlock" and asked_of_gpu(kernel)
        if is_stuck and versions.is_refused("PD320", kernel):
            yield Finding(
                message=f"the launch comes to a deadlock; JAX's {GPU_MODE}, if it gets "
                "so far, hangs without a word",
                hint="do not run it there before the deadlock is gone",
                loc=launch.loc,
                launch=launch.number,
                details={"exception": "", "wording": "", "where": GPU_MODE},
            )


def outlives_an_error(launch: RecordedLaunch) -> bool:
    """Whether a thread that waits there goes on waiting when another one fails."""
    return launch.threads > 1 and not versions.within(launch.kernel, WAKES)

"""PD907 blocks-left-out: only some blocks of the grid were recorded, as was asked for.

## What it does

Says how many blocks of a launch ran where `blocks=` chose some of them.

## Why is this bad?

Nothing is wrong with the kernel. But no check has looked at the other blocks, and what they
would have written is unset in the outputs.

## Example

```python
pldb.trace(fn, x, options=pldb.Options(blocks=[0, 5]))
```

## Use instead

All blocks (no `blocks=`) where the outputs, or what blocks do to each other, matter; then
smaller shapes, if the recording is too long.
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding, Severity
from pallas_debug.trace.trace import Trace


@check("PD907", "blocks-left-out", severity=Severity.INFO)
def blocks_left_out(trace: Trace) -> Iterator[Finding]:
    """Launches of which some blocks were chosen."""
    for launch in trace.launches:
        out = trace.blocks_left_out(launch)
        ran = launch.blocks - out
        if out:
            yield Finding(
                message=f"{ran:,} of {launch.blocks:,} blocks of {launch.name} "
                f"{'was' if ran == 1 else 'were'} recorded; what the others would have "
                "written is unset in the outputs",
                hint="leave out `blocks=` before the outputs count",
                loc=launch.loc,
                launch=launch.number,
            )

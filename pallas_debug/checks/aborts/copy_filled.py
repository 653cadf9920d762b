"""PD333 copy-filled: a copy past the end that GPU interpret mode fills in silence.

## What it does

Finds copies into shared memory whose window goes past the end of the source, in a kernel
that is asked to run in JAX's GPU interpret mode.

## Why is this bad?

It is what the hardware does; but JAX 0.11.2 to 0.12.0.1 says nothing, also where the
window was not meant to leave the array, and zeros enter the result. Before 0.11.2 it
raises (PD317).

## Example

```python
plgpu.copy_gmem_to_smem(x_ref.at[pl.ds(6, 4)], smem, barrier)  # x_ref has 8 elements
```

## Use instead

A window that fits, or zeros that are said: `oob_mode=plgpu.OOBFillMode.ZEROS` where the
installed JAX has it.
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_debug.checks.aborts.access_outside import copy_of, outside
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding, Severity
from pallas_debug.trace.trace import Trace


@check("PD333", "copy-filled", severity=Severity.INFO)
def copy_filled(trace: Trace) -> Iterator[Finding]:
    """Windows past the end whose rest JAX fills with zeros."""
    for one in outside(trace, "PD333"):
        is_copy = one.instr.op == "gpu.tma_read" and one.past and not one.negative
        if is_copy and copy_of(one) == "gpu.copy_gmem_to_smem":
            row = trace.buffer_rows[int(trace.columns.object[one.seq])]
            region = trace.region(int(trace.columns.region[one.seq])).text
            yield Finding(
                message=f"the copy of `{row.name}`{region} goes past the end of shape "
                f"{row.shape}; JAX's GPU interpret mode fills with zeros in silence",
                hint="make the window fit, if the zeros are not wanted",
                loc=one.kernel.loc_of(one.position),
                launch=one.launch.number,
                events=(one.seq,),
                buffer=row.name,
            )

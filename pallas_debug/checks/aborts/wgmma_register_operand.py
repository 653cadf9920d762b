"""PD316 wgmma-register-operand: a matrix product whose left side is in registers.

## What it does

Finds `plgpu.wgmma` with a value, not a reference, on the left, in a kernel that is asked
to run in JAX's GPU interpret mode.

## Why is this bad?

JAX 0.10.2 to 0.12.0.1 takes the value for a reference and stops in the middle of the run:
`ValueError: Expected shape (6,) but got (128, 64)`. Before 0.11.2 the other warpgroups
then wait for ever.

## Example

```python
plgpu.wgmma(acc, a_smem[...].astype(jnp.float16), b_smem)
```

## Use instead

```python
cast_smem[...] = a_smem[...].astype(jnp.float16)
plgpu.commit_smem()
plgpu.wgmma(acc, cast_smem, b_smem)
```
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_debug import ir
from pallas_debug.checks.aborts import versions
from pallas_debug.checks.aborts.foreseen import Refused, findings, routine
from pallas_debug.checks.aborts.unimplemented_primitive import KEY_LENGTH
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding
from pallas_debug.trace.trace import Trace


@check("PD316", "wgmma-register-operand")
def register_operand(trace: Trace) -> Iterator[Finding]:
    """Matrix products of registers that JAX refuses."""
    yield from findings(trace, "PD316", _judge, when_run=True)


def _judge(kernel: ir.Kernel, number: int) -> Iterator[Refused]:
    if kernel.tape[number].op != "gpu.wgmma":
        return
    if any(one.params.get("left_is_value") for one in routine(kernel, number)):
        since, before, after = KEY_LENGTH
        length = after if versions.within(kernel, since) else before
        yield Refused(
            "the left operand of wgmma is a value in registers",
            f"ValueError: Expected shape ({length},) but got (…",
            "store it to shared memory, plgpu.commit_smem(), and multiply from there",
        )

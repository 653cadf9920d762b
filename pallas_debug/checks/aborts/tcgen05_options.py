"""PD319 tcgen05-options: what GPU interpret mode does not simulate of the tensor core.

## What it does

Looks at the products and copies of Blackwell's tensor core in a kernel that is asked to
run in JAX's GPU interpret mode: along a cluster axis (`collective_axis=`), with block
scales or sparsity.

## Why is this bad?

JAX 0.11.1 to 0.12.0.1 stops in the middle of the run: `AssertionError: collective_axis
not supported yet`, for scales and sparsity without a text (from 0.11.0 on). No line of
the kernel is named. JAX 0.10.2 has no tensor memory at all (PD306).

## Example

```python
plgpu.tcgen05_mma(acc, a_smem, b_smem, barrier, collective_axis="cluster")
```

## Use instead

A product of plain matrices within one block, without `collective_axis=`.
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_debug import ir
from pallas_debug.checks.aborts import versions
from pallas_debug.checks.aborts.foreseen import Refused, findings, routine
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding
from pallas_debug.trace.trace import Trace

COLLECTIVE = "AssertionError: collective_axis not supported yet"
COLLECTIVE_COPY = "AssertionError: Collective axis not supported for copy yet"
NO_REFERENCE = "ValueError: async_copy_scales_to_tmem source must be an SMEM ref"
SINCE = (0, 11, 1)
OPS = {
    "gpu.tcgen05_mma": "tcgen05_mma",
    "gpu.tcgen05_copy_start": "a copy to tensor memory",
}
WITHIN = "stay within one block in what runs there"


@check("PD319", "tcgen05-options")
def tensor_core_options(trace: Trace) -> Iterator[Finding]:
    """Uses of the tensor core that JAX refuses."""
    yield from findings(trace, "PD319", _judge, when_run=True)


def _judge(kernel: ir.Kernel, number: int) -> Iterator[Refused]:
    starter = kernel.tape[number]
    name = OPS.get(starter.op)
    if name is None:
        return
    is_new = versions.within(kernel, SINCE)
    for instr in routine(kernel, number):
        options = instr.params
        if options.get("scaled") or options.get("sparse"):
            why = f"{name} has block scales or sparsity"
            yield Refused(why, "AssertionError: ", "multiply plain matrices there")
            return
        if is_new and instr.op == "gpu.tcgen05_multiply" and options["axes"]:
            yield Refused(f"{name} has a collective_axis", COLLECTIVE, WITHIN)
            return
        if is_new and instr.op == "gpu.tcgen05_copy" and options["axes"]:
            if options["what"] == "smem":
                yield Refused(f"{name} has a collective_axis", COLLECTIVE_COPY, WITHIN)
            return
        if instr.op == "gpu.tcgen05_copy" and options["what"] != "smem":
            if versions.within(kernel, (0, 12, 0)):
                why = f"{name} brings block scales or sparsity"
                yield Refused(why, NO_REFERENCE, "multiply plain matrices there")
            return

"""PD310 masked-access: loads and stores of another backend.

## What it does

Finds `pltriton.load`, `pltriton.store`, `pltpu.load` and `pltpu.store`, with a mask or
without, in a kernel that is asked to run in JAX's GPU interpret mode.

## Why is this bad?

JAX 0.10.2 to 0.12.0.1 stops while tracing: `NotImplementedError: load_p is not supported
on GPU yet` (stores: `swap_p`).

## Example

```python
o_ref[...] = pltriton.load(x_ref.at[:], mask=jnp.arange(8) < n, other=0)
```

## Use instead

```python
o_ref[...] = jnp.where(jnp.arange(8) < n, x_ref[...], 0)
```

or `interpret=True`, which takes masks.
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_debug import ir
from pallas_debug.checks.aborts.foreseen import Refused, findings
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding
from pallas_debug.trace.trace import Trace

OPS = {
    "pallas.masked_load": "load",
    "pallas.masked_swap": "swap",
    "pallas.masked_store": "swap",
}


@check("PD310", "masked-access")
def masked_access(trace: Trace) -> Iterator[Finding]:
    """Loads and stores of other backends that JAX refuses."""
    yield from findings(trace, "PD310", _judge)


def _judge(kernel: ir.Kernel, number: int) -> Iterator[Refused]:
    instr = kernel.tape[number]
    name = OPS.get(instr.op)
    if name:
        verb = "loads" if name == "load" else "stores"
        yield Refused(
            f"it {verb} with a primitive that takes a mask",
            f"NotImplementedError: {name}_p is not supported on GPU yet",
            "index the reference and choose with jnp.where, or use interpret=True",
        )

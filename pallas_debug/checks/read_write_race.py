"""PD201 read-write-race: a read and a write of the same memory in no order.

## What it does

Finds reads and writes that touch the same elements while nothing in the kernel orders
them: threads of a block, blocks of a cluster or of the grid, cores of a TPU, and a
thread against the asynchronous operations in flight (TMA and DMA copies, products that
read their operands). What orders is the kernel: program order, barriers, semaphores,
waits for copies and products, cluster barriers. The schedule of the recording does not.
Atomic updates do not race with each other. Grid points of a TPU that differ along a
dimension called parallel are in no order, either.

## Why is this bad?

The read gets the old value, the new one, or a mixture, and not the same each time.

## Example

```python
bank[...] = x[n]
copy = pltpu.make_async_copy(bank, o_hbm.at[n], sem)
copy.start()
bank[...] = x[n + 1]  # the copy may still read
copy.wait()
```

## Use instead

```python
copy.start()
copy.wait()
bank[...] = x[n + 1]
```

The finding names both accesses, both vector clocks and where the missing edge belongs.
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_debug.checks import races_words
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding
from pallas_debug.checks.races import Fault
from pallas_debug.trace.trace import Trace


@check("PD201", "read-write-race")
def read_write_race(trace: Trace) -> Iterator[Finding]:
    """One finding for each pair of lines and buffer."""
    for race in races_words.of_fault(trace, Fault.READ_WRITE):
        yield races_words.finding(trace, race)

"""What replay must know of an op: whether it acts on values, or on threads alone.

An op that is not here is never replayed. Adding one is a promise, which the laws check:
its events are the same in number and kind whatever the values are (`DATA`), or depend
on nothing but who did what before (`INERT`, `SPAWN`).
"""

from __future__ import annotations

# Reads and writes values: its rule is called in each block.
DATA = {
    "gpu.async_load_tmem",
    "gpu.async_store_tmem",
    "gpu.atomic_store",
    "gpu.mma",
    "gpu.tma_read",
    "gpu.tma_store",
    "gpu.tma_write",
    "gpu.wgmma_multiply",
    "pallas.masked_load",
    "pallas.masked_store",
    "pallas.masked_swap",
    "state.addupdate",
    "state.get",
    "state.set",
    "state.swap",
    "tpu.dma_read",
    "tpu.dma_write",
    "triton.atomic_cas",
    "triton.atomic_rmw",
}

# Of those, what reads its one access, and what writes its one value there.
READS = {"gpu.tma_read", "state.get", "tpu.dma_read"}
WRITES = {"gpu.tma_store", "gpu.tma_write", "state.set", "tpu.dma_write"}

# Of the others, those whose events follow from where their accesses lie.
PLACED = {"gpu.mma", "gpu.wgmma_multiply", "state.addupdate"}

# Signals, waits, orders: the rows of a block that took the same path say it all.
INERT = {
    "gpu.await_previous",
    "gpu.barrier_arrive",
    "gpu.barrier_wait",
    "gpu.commit_group",
    "gpu.commit_smem",
    "gpu.commit_tmem",
    "gpu.tma_arrive",
    "gpu.tma_reads_done",
    "gpu.wait_gmem_to_smem",
    "gpu.wait_load_tmem",
    "gpu.wait_smem_to_gmem",
    "gpu.wgmma_wait",
    "pallas.semaphore_signal",
    "pallas.semaphore_wait",
    "tpu.dma_signal",
    "tpu.dma_wait",
}

# Starts a thread with its operands in the first registers.
SPAWN = {
    "gpu.async_store_smem",
    "gpu.copy_gmem_to_smem",
    "gpu.copy_smem_to_gmem",
    "gpu.wgmma",
    "tpu.dma_start",
}

# The first access names what is waited for; of the others only the size counts.
SIZED = {"tpu.dma_signal", "tpu.dma_wait"}

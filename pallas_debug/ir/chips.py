"""The chips a kernel can be meant for, and what fits into each.

A table of published numbers, so that a laptop can answer for a chip it does not have.
Knows no rule: a check compares a kernel with these.

Sources, by the letter behind a number:
  C  CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
  P  CUDA PTX ISA, "Tensor Memory": 512 columns of 128 lanes of 32 bits.
  N  NVIDIA's architecture white papers and data sheets, SXM form.
  J  JAX's own table, `jax._src.pallas.mosaic.tpu_info`; a test compares them.
"""

from __future__ import annotations

from dataclasses import dataclass

from pallas_debug import errors

KIB = 1024
MIB = 1024 * KIB


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """One chip as JAX sees it: one device.

    Attributes:
      name: Our name for it.
      backend: `gpu` or `tpu`.
      device_kind: What `jax.Device.device_kind` says.
      core_count: Streaming multiprocessors of a GPU, TensorCores of a TPU device.
      smem_bytes: Shared memory that one block of a GPU may use, scalar memory of a
        TensorCore.
      hbm_bytes: Device memory.
      compute_capability: Of a GPU, as `9.0`.
      tmem_bytes: Tensor memory of a GPU's multiprocessor.
      registers_per_core: 32-bit registers of a GPU's multiprocessor.
      max_registers_per_thread: More are spilled, or refused.
      max_threads_per_block: Of a GPU.
      max_cluster_blocks: Blocks in a cluster, without opting in to more.
      vmem_bytes: Vector memory of a TensorCore.
      lanes: Of a TPU's vector register.
      sublanes: Of a TPU's vector register, for 32-bit elements.
      mxu_columns: Width of a TPU's matrix unit.
    """

    name: str
    backend: str
    device_kind: str
    core_count: int
    smem_bytes: int
    hbm_bytes: int
    compute_capability: str | None = None
    tmem_bytes: int = 0
    registers_per_core: int = 0
    max_registers_per_thread: int = 0
    max_threads_per_block: int = 0
    max_cluster_blocks: int = 1
    vmem_bytes: int = 0
    lanes: int = 0
    sublanes: int = 0
    mxu_columns: int = 0


def _gpu(
    name: str,
    device_kind: str,
    compute_capability: str,
    core_count: int,
    smem_bytes: int,
    hbm_bytes: int,
    *,
    tmem_bytes: int = 0,
    max_cluster_blocks: int = 8,  # C, from 9.0 on
) -> Chip:
    return Chip(
        name=name,
        backend="gpu",
        device_kind=device_kind,
        core_count=core_count,
        smem_bytes=smem_bytes,
        hbm_bytes=hbm_bytes,
        compute_capability=compute_capability,
        tmem_bytes=tmem_bytes,
        registers_per_core=64 * KIB,  # C, 8.0 to 10.0
        max_registers_per_thread=255,  # C
        max_threads_per_block=1024,  # C
        max_cluster_blocks=max_cluster_blocks,
    )


def _tpu(
    name: str,
    device_kind: str,
    core_count: int,
    vmem_bytes: int,
    hbm_bytes: int,
    mxu_columns: int,
) -> Chip:
    return Chip(
        name=name,
        backend="tpu",
        device_kind=device_kind,
        core_count=core_count,
        smem_bytes=1 * MIB,  # J, v4 to v7x
        hbm_bytes=hbm_bytes,
        vmem_bytes=vmem_bytes,
        lanes=128,  # J
        sublanes=8,  # J
        mxu_columns=mxu_columns,
    )


# fmt: off
_ALL = (
    # name, device_kind, capability, multiprocessors (N), shared memory (C), HBM (N)
    _gpu("a100", "NVIDIA A100-SXM4-80GB", "8.0", 108, 163 * KIB, 80 * 10**9,
         max_cluster_blocks=1),
    _gpu("h100", "NVIDIA H100 80GB HBM3", "9.0", 132, 227 * KIB, 80 * 10**9),
    _gpu("h200", "NVIDIA H200", "9.0", 132, 227 * KIB, 141 * 10**9),
    _gpu("b200", "NVIDIA B200", "10.0", 148, 227 * KIB, 180 * 10**9,
         tmem_bytes=512 * 128 * 4),  # P
    # name, device_kind, TensorCores, vector memory, HBM of all cores, matrix unit: all J
    _tpu("v4", "TPU v4", 2, 16 * MIB, 2 * 17_200_000_000, 128),
    _tpu("v5e", "TPU v5 lite", 1, 128 * MIB, 17_200_000_000, 128),
    _tpu("v5p", "TPU v5", 2, 64 * MIB, 2 * 51_500_000_000, 128),
    _tpu("v6e", "TPU v6 lite", 1, 128 * MIB, 34_400_000_000, 256),
    _tpu("v7x", "TPU7x", 1, 64 * MIB, 103_000_000_000, 256),
)
# fmt: on

CHIPS = {one.name: one for one in _ALL}

DEFAULT = {"gpu": "h100", "tpu": "v5e"}
"""The chip of a backend where nobody chose one."""


def limits(name: str) -> dict[str, int]:
    """Bytes of each memory space of a chip that has a limit; empty for no chip."""
    if name not in CHIPS:
        return {}
    one = CHIPS[name]
    known = {"gmem": one.hbm_bytes, "hbm": one.hbm_bytes, "smem": one.smem_bytes}
    known |= {"vmem": one.vmem_bytes, "tmem": one.tmem_bytes}
    return {space: size for space, size in known.items() if size}


def chip(name: str) -> Chip:
    """A chip by its name, in any case and with or without `tpu` before it."""
    key = name.lower().removeprefix("tpu").lstrip(" _-")
    if key not in CHIPS:
        raise errors.BadOption(option="chip", value=name, accepted=tuple(CHIPS))
    return CHIPS[key]

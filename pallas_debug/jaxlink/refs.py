"""References in equations: transforms to view steps, avals to buffer declarations."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from pallas_debug import ir
from pallas_debug.errors import UnsupportedForm
from pallas_debug.jaxlink import privates
from pallas_debug.jaxlink.lowering import Lowering, constant

# Physical layout only: the logical buffer is allocated and these are passed over.
LAYOUT = (
    "UntilingTransform",
    "UnswizzleRef",
    "TilingTransform",
    "SwizzleTransform",
    "MemorySpaceCastTransform",
    "IdentityTransform",
    "ExpandLeadingBatchDimensionsTransform",
    "AccessAssumptionTransform",
)
TMEM_COLUMN_BYTES = 128 * 4


Dim = ir.Slice | ir.At | ir.Gather


class Leaf(NamedTuple):
    """A traced index with its type."""

    operand: ir.Operand
    aval: Any


def unflatten(tree: Any, operands: Sequence[ir.Operand], avals: Sequence[Any]) -> Any:
    """A transforms tree with `Leaf`s for its traced indices."""
    leaves = [Leaf(o, a) for o, a in zip(operands, avals, strict=True)]
    return jax.tree.unflatten(tree, [_Box(leaf) for leaf in leaves])


class _Box:
    """Hides a Leaf, a tuple, from tree functions."""

    __slots__ = ("leaf",)

    def __init__(self, leaf: Leaf) -> None:
        self.leaf = leaf


def access(
    ref: ir.Operand,
    aval: Any,
    transforms: Iterable[Any],
    by_reference: Callable[[Any], Dim] | None = None,
) -> ir.Access:
    """A reference with its transforms as an `ir.Access`.

    `by_reference` says what an index stands for that is itself a reference.
    """
    steps: list[ir.ViewStep] = []
    transforms = list(transforms or ())
    for number, transform in enumerate(transforms):
        if type(transform).__name__ == "ExtractAliasedRef":
            steps.append(_alias(transform, aval, transforms[number + 1 :]))
        else:
            step = _step(transform, aval, by_reference or _refuse)
            if step is not None:
                steps.append(step)
        aval = transform.transform_type(aval) if aval is not None else None
    return ir.Access(ref=ref, steps=tuple(steps))


def _alias(transform: Any, aval: Any, following: Sequence[Any]) -> ir.Alias:
    """A member of a union with its logical shape; a column of TMEM has 128 lanes."""
    inner = transform.transform_type(aval)
    for layout in following:
        if type(layout).__name__ not in LAYOUT:
            break
        inner = layout.transform_type(inner)
    in_tmem = space_of(aval) == "tmem"
    return ir.Alias(
        dtype=np.dtype(transform.dtype).name,
        shape=tuple(int(d) for d in inner.shape),
        offset=int(transform.offset) * (TMEM_COLUMN_BYTES if in_tmem else 1),
        group=int(transform.alias_group_idx),
    )


def _refuse(index: Any) -> Dim:
    raise UnsupportedForm(
        op="",
        form="a reference as an index, in something else than a copy",
        way="read the indices first: `x[i_ref[...]]`",
    )


def is_reference(index: Any) -> bool:
    """Whether an index is a reference, or a view of one."""
    aval = index.leaf.aval if isinstance(index, _Box) else index
    return hasattr(index, "ref") or isinstance(aval, privates.AbstractRef)


def _step(
    transform: Any, aval: Any, by_reference: Callable[[Any], Dim]
) -> ir.ViewStep | None:
    name = type(transform).__name__
    if name in LAYOUT:
        return None
    if name == "NDIndexer":
        return ir.Index(
            dims=tuple(
                by_reference(i) if is_reference(i) else dimension(i)
                for i in transform.indices
            )
        )
    if name == "TransposeTransform":
        return ir.Transpose(permutation=tuple(transform.permutation))
    if name == "ReshapeTransform":
        return ir.Reshape(shape=tuple(transform.shape))
    if name == "BitcastTransform":
        shape = tuple(transform.transform_type(aval).shape)
        return ir.Bitcast(dtype=np.dtype(transform.dtype).name, shape=shape)
    if name == "MulticastRef":
        axes = transform.collective_axes
        axes = (axes,) if isinstance(axes, str) else tuple(axes)
        return ir.Multicast(axes=axes)
    if name == "PeerMemRef":
        return _peer(transform)
    if name == "ClusterRefTransform":
        return ir.Peer(
            ids=tuple(operand(i) for i in transform.idxs), axes=tuple(transform.dims)
        )
    raise UnsupportedForm(
        op="",
        form=f"a reference under `{name}`",
        way='index the reference another way, or trace with unsupported="stub"',
    )


def _peer(transform: Any) -> ir.Peer:
    ids = transform.device_id
    if isinstance(ids, dict):
        axes = tuple(str(k) for k in ids)
        return ir.Peer(ids=tuple(operand(v) for v in ids.values()), axes=axes)
    if isinstance(ids, (tuple, list)):
        axes = tuple(f"#{k}" for k in range(len(ids)))
        return ir.Peer(ids=tuple(operand(v) for v in ids), axes=axes)
    return ir.Peer(ids=(operand(ids),), axes=("logical",))


def operand(value: Any) -> ir.Operand:
    """An index of a transform as an operand."""
    if isinstance(value, _Box):
        return value.leaf.operand
    if isinstance(value, privates.Literal):
        return constant(value.val)
    return constant(np.asarray(value))


def dimension(index: Any) -> Dim:
    if isinstance(index, privates.indexing.Slice):
        dtype, ndim = "", 0
        if isinstance(index.start, _Box):
            aval = index.start.leaf.aval
            dtype, ndim = str(aval.dtype), len(aval.shape)
        dynamic = isinstance(index.size, _Box)
        return ir.Slice(
            start=operand(index.start),
            size=-1 if dynamic else int(index.size),
            stride=int(index.stride),
            start_dtype=dtype,
            start_ndim=ndim,
            size_operand=operand(index.size) if dynamic else None,
        )
    if isinstance(index, _Box) and index.leaf.aval.shape:
        return ir.Gather(index=index.leaf.operand)
    value = operand(index)
    if isinstance(value, ir.Const) and np.ndim(value.value):
        return ir.Gather(index=value)
    dtype = str(index.leaf.aval.dtype) if isinstance(index, _Box) else ""
    return ir.At(index=value, dtype=dtype)


def logical(aval: Any, transforms: Iterable[Any]) -> Any:
    """The type of a scratch reference as the user sees it, without its layout."""
    for transform in transforms:
        aval = transform.transform_type(aval)
    return aval


SYNC = {
    "BarrierType": "barrier",
    "ClusterBarrierType": "cluster_barrier",
}


def space_of(aval: Any, default: str = "any") -> str:
    """Name of a reference's memory space."""
    space = getattr(aval, "memory_space", None)
    if space is None:
        return default
    value = getattr(space, "value", None)
    name = value if isinstance(value, str) else str(getattr(space, "name", space))
    names = {"semaphore_mem": "semaphore", "device": "hbm", "default": default}
    return names.get(name.lower(), name.lower())


def declare(
    lw: Lowering, name: str, aval: Any, transforms: Iterable[Any], scope: str
) -> ir.Buffer:
    """The declaration of a reference of this type."""
    inner = logical(aval, transforms)
    params: dict[str, Any] = {}
    layout = [repr(t) for t in transforms]
    if layout:
        params["transforms"] = layout
        params["physical_shape"] = tuple(aval.shape)
    space, dtype_name = _kind(lw, aval, params)
    return ir.Buffer(
        name=name,
        space=space,
        shape=tuple(int(d) for d in inner.shape),
        dtype=dtype_name,
        scope=scope,
        params=params,
        loc=lw.loc,
    )


def _kind(lw: Lowering, aval: Any, params: dict[str, Any]) -> tuple[str, str]:
    """Memory space and name of the dtype; adds what the dtype says to `params`."""
    dtype = aval.dtype
    kind = SYNC.get(type(dtype).__name__)
    if kind is not None:
        params["num_arrivals"] = int(dtype.num_arrivals)
        for key in ("orders_tensor_core", "leader_tracked", "collective_axes"):
            if getattr(dtype, key, None):
                params[key] = getattr(dtype, key)
        if kind == "cluster_barrier":
            params["num_arrivals"] = _cluster_arrivals(lw, dtype)
        return "barrier", kind
    if not isinstance(dtype, np.dtype) and "sem" in str(dtype).lower():
        if lw.backend == "mosaic_gpu" and space_of(aval) == "semaphore":
            params["space"] = "semaphore_mem"  # a TPU's, not Mosaic GPU's
        for word in ("dma", "barrier"):
            if word in str(dtype):
                return "semaphore", f"{word}_semaphore"
        return "semaphore", "semaphore"
    if type(aval).__name__ == "AbstractRefUnion":
        params["union"] = True
    if type(aval).__name__ == "WGMMAAbstractAccumulatorRef":
        params["zeroed"] = True
    space = space_of(aval, "vmem" if lw.backend == "tpu" else "any")
    return space, np.dtype(dtype).name


def _cluster_arrivals(lw: Lowering, dtype: Any) -> int:
    """Arrivals that complete a cluster barrier.

    Each block of the groups that differ along one entry of the axes arrives; the groups
    meet in the block itself.
    """
    sizes = dict(zip(lw.grid.cluster_names, lw.grid.cluster, strict=True))
    groups = [(g,) if isinstance(g, str) else g for g in dtype.collective_axes]
    blocks = sum(math.prod(sizes[name] for name in group) for group in groups)
    return int(dtype.num_arrivals) * (blocks - len(groups) + 1)


class ArrayRef:
    """A whole array as a reference type: what `declare` needs to know of it."""

    def __init__(self, shape: tuple[int, ...], dtype: Any, space: str) -> None:
        self.shape = shape
        self.dtype = dtype
        self.memory_space = space

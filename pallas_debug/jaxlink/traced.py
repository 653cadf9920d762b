"""A function and its arguments as a jaxpr, its inputs, and what makes results of outputs.

What `jax.jit` would not trace again is not traced again here: a jitted function that is
called with the same types has the same jaxpr.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.sharding import SingleDeviceSharding, get_abstract_mesh

from pallas_debug.jaxlink import privates
from pallas_debug.jaxlink.owned import copied
from pallas_debug.jaxlink.pretend import may_ask

_ARRAY = object()
_ASKED = (
    jax.errors.ConcretizationTypeError,
    jax.errors.NonConcreteBooleanIndexError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
)


class _Traced(NamedTuple):
    """The jaxpr of a call, and its results: their tree, and where arrays are in it."""

    jaxpr: Any
    tree: Any
    leaves: list[Any]

    def rebuild(self, values: Sequence[Any]) -> Any:
        """The results, as JAX's arrays."""
        rest = map(_on_device, values)
        outs = [next(rest) if leaf is _ARRAY else leaf for leaf in self.leaves]
        return jax.tree.unflatten(self.tree, outs)


@dataclass(frozen=True, slots=True)
class _Arguments:
    """The arguments of a call, alike for another one if the same is traced for both.

    Attributes:
      tree, types: Their tree, and type or value of each leaf.
      leaves: They themselves, as long as the function is being traced.
    """

    tree: Any
    types: tuple[Hashable, ...]
    leaves: list[Any] = field(compare=False, repr=False)


def traced(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, list[Any], Callable[[Sequence[Any]], Any]]:
    """The jaxpr of a call, its array arguments, and what makes results of its values."""
    leaves, tree = jax.tree.flatten((args, kwargs))
    given = _given_to(fn)
    arrays = [leaf for leaf in leaves if given(leaf)]
    types = tuple(map(_type, leaves))
    if not _is_jitted(fn) or any(one is None for one in types):
        found = _trace(fn, tree, leaves)
    else:
        arguments = _Arguments(tree, types, list(leaves))
        found = _traced_before(fn, arguments)
        arguments.leaves.clear()
    return found.jaxpr, [_owned(array) for array in arrays], found.rebuild


@privates.weakref_lru_cache
def _traced_before(fn: Callable[..., Any], arguments: _Arguments) -> _Traced:
    return _trace(fn, arguments.tree, arguments.leaves)


def _trace(fn: Callable[..., Any], tree: Any, leaves: Sequence[Any]) -> _Traced:
    may_ask()
    leaves, given = list(leaves), _given_to(fn)
    out_leaves: list[Any] = []
    out_tree: Any = None

    @functools.wraps(fn)
    def on_arrays(*args: Any, **kwargs: Any) -> list[Any]:
        nonlocal out_leaves, out_tree
        tracers = iter(jax.tree.leaves((args, kwargs)))
        merged = [next(tracers) if given(leaf) else leaf for leaf in leaves]
        all_args, all_kwargs = jax.tree.unflatten(tree, merged)
        outs, out_tree = jax.tree.flatten(fn(*all_args, **all_kwargs))
        if _is_jitted(fn):
            outs = [out if _is_array(out) else jax.numpy.asarray(out) for out in outs]
        # A tracer must not outlive its trace.
        out_leaves = [_ARRAY if _is_array(out) else out for out in outs]
        return [out for out in outs if _is_array(out)]

    # None is an empty tree: JAX sees the arrays by their arguments' names, and no more.
    seen = [leaf if given(leaf) else None for leaf in leaves]
    seen_args, seen_kwargs = jax.tree.unflatten(tree, seen)
    jaxpr = jax.make_jaxpr(on_arrays)(*seen_args, **seen_kwargs)
    return _Traced(jaxpr, out_tree, out_leaves)


def wants_values(fn: Callable[..., Any], error: BaseException) -> bool:
    """Whether a function that nobody jitted asked for a value while it was traced."""
    return isinstance(error, _ASKED) and not _is_jitted(fn)


def _is_jitted(fn: Callable[..., Any]) -> bool:
    return type(fn) is privates.JittedFunction


def _given_to(fn: Callable[..., Any]) -> Callable[[Any], bool]:
    """Which arguments are traced: a jitted function may have NumPy's scalars static."""
    if not _is_jitted(fn):
        return _is_array
    return lambda leaf: _is_array(leaf) and not isinstance(leaf, np.generic)


def _type(leaf: Any) -> Hashable:
    """What a jaxpr may depend on in an argument; None if that cannot be told.

    A number is more than what it equals: `1`, `1.0` and `True`, `0.0` and `-0.0`.
    """
    if isinstance(leaf, privates.Ref):
        return None
    if isinstance(leaf, np.generic):
        return type(leaf), leaf.tobytes()
    if _is_array(leaf):
        return jax.typeof(leaf)
    if isinstance(leaf, (bool, int, float, complex, str)):
        return type(leaf), repr(leaf)
    return None


def _owned(array: Any) -> Any:
    """An array that stays as it is; of another dtype without `jax_enable_x64`."""
    if isinstance(array, (jax.Array, privates.Ref)):
        return array
    array = np.asarray(array)
    narrow = array.dtype.kind in "biuf" and array.dtype.itemsize < 8
    return copied(array, array.dtype if narrow else jax.typeof(array).dtype)


def _on_device(value: Any) -> Any:
    if isinstance(value, (int, float, complex)):  # a literal
        return jax.numpy.asarray(value)
    if not isinstance(value, np.ndarray):
        return value
    type_ = jax.typeof(value)
    of_jax = type_.dtype == value.dtype and value.dtype.names is None  # not float0
    if not of_jax or not get_abstract_mesh().empty:
        return jax.device_put(value)
    # What that comes to, without its many questions.
    device = privates.get_default_device()
    sharding = SingleDeviceSharding(device)
    return privates.batched_device_put(type_, sharding, [value], [device], False)


def _is_array(leaf: Any) -> bool:
    if isinstance(leaf, (np.ndarray, np.generic)):
        return leaf.dtype.kind not in "OSUMm"
    return isinstance(leaf, (jax.Array, privates.Ref))

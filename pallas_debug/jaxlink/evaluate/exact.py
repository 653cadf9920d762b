"""One operation computed by XLA itself, compiled once and called op by op.

It is the exact meaning of primitives whose NumPy twin differs in the last bits, and
the only one of primitives that have no NumPy rule. A call costs ten microseconds or
more and enters JAX: inside a host callback of JAX only under `apart.computing`.
"""

import contextlib
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.extend.core import primitives

from pallas_debug.ir.pure import Pure
from pallas_debug.jaxlink import apart
from pallas_debug.jaxlink.evaluate import kinds
from pallas_debug.jaxlink.evaluate.kinds import Avals, Params

INEXACT = kinds.names(
    "exp exp2 expm1 log log1p log2 rsqrt cbrt tanh sin cos tan sinh cosh asin acos "
    "atan asinh acosh atanh atan2 logistic pow integer_pow one_minus_square max min "
    "clamp reciprocal nextafter reduce_sum reduce_prod reduce_max reduce_min cumsum "
    "cumprod cummax cummin cumlogsumexp dot_general scatter-add scatter-sub "
    "scatter-mul scatter-min scatter-max scatter_add scatter_sub scatter_mul "
    "scatter_min scatter_max"
)
"""Names whose NumPy rule differs from XLA in last bits (or in the sign of a zero)."""

XLA_ONLY = kinds.names(
    "erf erfc erf_inv lgamma digamma polygamma igamma igammac igamma_grad_a zeta "
    "bessel_i0e bessel_i1e regularized_incomplete_beta eq_to lt_to le_to clz mulhi "
    "top_k approx_top_k reduce reduce_window reduce_window_sum reduce_window_max "
    "reduce_window_min select_and_scatter select_and_scatter_add "
    "select_and_gather_add ragged_dot_general scaled_dot conv_general_dilated fft "
    "rng_bit_generator rng_uniform random_bits random_seed random_fold_in "
    "random_split random_gamma philox2x32 philox4x32 threefry4x32 iota_2x32_shape "
    "einshape_lo polynomial dynamic_update_slice_add cholesky cholesky_update "
    "custom_linear_solve eig eigh geqrf geqp3 hessenberg householder_product lu "
    "lu_pivots_to_permutation qr schur svd symmetric_product triangular_solve "
    "tridiagonal tridiagonal_solve"
)
"""Names of pure primitives without a NumPy rule."""


def _hashable(params: Params) -> Any:
    key = tuple(sorted(params.items()))
    try:
        hash(key)
    except TypeError:
        return None
    return key


def _key_impl(aval: Any) -> Any:
    """The PRNG implementation behind an abstract key, asked through a trace."""
    impls = []
    jax.eval_shape(lambda key: impls.append(jax.random.key_impl(key)) or 0, aval)
    return impls[0]


def _enter(impl: Any, value: Any) -> Any:
    return value if impl is None else jax.random.wrap_key_data(value, impl=impl)


def _leave(value: Any) -> Any:
    is_key = kinds.is_key(value.dtype)
    return jax.random.key_data(value) if is_key else value


def _compiled(primitive: Any, params: Params, impls: tuple[Any, ...]) -> Any:
    def call(*operands):
        entered = (_enter(i, x) for i, x in zip(impls, operands, strict=True))
        out = primitive.bind(*entered, **params)
        return [_leave(x) for x in out] if primitive.multiple_results else _leave(out)

    return jax.jit(call)


def _values(out: Any, many: bool) -> Any:
    return tuple(np.array(x)[()] for x in out) if many else np.array(out)[()]


def _called(run: Callable, wide: bool, many: bool) -> Callable:
    """Calls `run` on a CPU, with 64-bit types if it needs them."""
    if jax.default_backend() == "cpu" and not wide:
        return lambda *operands: _values(run(*operands), many)

    def call(*operands):
        with contextlib.ExitStack() as stack:
            stack.enter_context(jax.default_device(apart.cpu()))
            if wide:
                stack.enter_context(jax.enable_x64(True))
            return _values(run(*operands), many)

    return call


_cache: dict[Any, Any] = {}


def xla(
    name: str, params: Params, in_avals: Avals, out_avals: Avals, primitive: Any
) -> Pure | None:
    """Meaning of a primitive as XLA computes it on a CPU; None if it is not found."""
    if primitive is None:
        primitive = getattr(primitives, name.replace("-", "_") + "_p", None)
    if primitive is None:
        return None
    impls = tuple(_key_impl(a) if kinds.is_key(a.dtype) else None for a in in_avals)
    key = _hashable(params)
    found = (primitive, key, impls)
    run = _cache.get(found) if key is not None else None
    if run is None:
        run = _compiled(primitive, dict(params), impls)
        if key is not None:
            _cache[found] = run
    wide = any(_is_wide(a.dtype) for a in (*in_avals, *out_avals))
    call = _called(run, wide, primitive.multiple_results)
    operands = ", ".join(f"{{{i}}}" for i in range(len(in_avals)))
    results = len(out_avals)
    unpack = "[0]" if primitive.multiple_results and results == 1 else ""
    return Pure(expr=f"xla({operands}){unpack}", env={"xla": call}, results=results)


def _is_wide(dtype: Any) -> bool:
    if kinds.is_key(dtype) or kinds.is_complex(dtype):
        return dtype.itemsize > 8
    return dtype.itemsize == 8

"""The names that the user gave: of a kernel and of its parameters.

Where JAX wraps the kernel (`plgpu.kernel`, `vmap`) it forgets them; they are found again
in the code that the wrapped function's equations come from.
"""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Any

from pallas_debug.jaxlink import locations, privates

# How JAX names the parameters of its own wrappers around a kernel.
WRAPPED = ("refs[", "args[")


def kernel_name(jaxpr: Any) -> str | None:
    """The name of the kernel code that was traced to a jaxpr, by its equations."""
    for code in locations.kernel_codes(jaxpr):
        owner, _, name = code.co_qualname.rpartition(".")
        is_call = name == "__call__" and owner
        return owner.rpartition(".")[2] if is_call else name
    return None


def debug_names(jaxpr: Any) -> list[str]:
    """The user's parameter names of a jaxpr's inputs, "" where unknown."""
    info = getattr(jaxpr, "debug_info", None)
    names = list(getattr(info, "arg_names", None) or [])
    count = len(jaxpr.invars)
    names = names[-count:] if len(names) > count else names
    names += [""] * (count - len(names))
    # With a layout an argument is a pair of reference and transforms.
    return [str(n or "").removesuffix(".ref") for n in names]


def parameters(body: Any, n_scalars: int, n_in: int, n_out: int) -> list[str]:
    """The user's parameter names, else `in0`, `out0` and so on."""
    names = debug_names(body)
    count = n_scalars + n_in + n_out
    if _is_wrapped(body, names[:count]):
        names[:count] = _of_kernel(body, count) or [""] * count
    for i in range(count):
        k = i - n_scalars
        default = f"scalar{i}" if k < 0 else f"in{k}" if k < n_in else f"out{k - n_in}"
        names[i] = names[i] or default
    return names


def _is_wrapped(body: Any, names: Sequence[str]) -> bool:
    """Whether the names are those of a wrapper of JAX and not the user's `*refs`."""
    info = getattr(body, "debug_info", None)
    place = (getattr(info, "func_src_info", "") or "").rpartition(" at ")[2]
    return all(name.startswith(WRAPPED) for name in names) and not (
        locations.is_kernel_code(place.rpartition(":")[0])
    )


def _of_kernel(body: Any, count: int) -> list[str] | None:
    """The first `count` parameters of the wrapped kernel, None where that is unsure.

    A kernel may have values bound to it (`functools.partial`). Its scratch, whose names
    JAX still knows, tells where its references are.
    """
    scratch = _scratch_names(body)
    codes = locations.kernel_codes(body)
    for code in codes:
        own = _parameters_of(code)
        known = [own.index(name) for name in scratch if name in own]
        end = min(known) if known else len(own) - len(scratch)
        if end >= count and (known or end == count):
            return own[end - count : end]
    if codes and codes[0].co_flags & _VARARGS and codes[0].co_argcount == 0:
        stars = codes[0].co_varnames[codes[0].co_kwonlyargcount]
        return [f"{stars}[{i}]" for i in range(count)]
    return None


_VARARGS = 0x04  # `inspect.CO_VARARGS`


def _parameters_of(code: types.CodeType) -> list[str]:
    """Names of the parameters that a caller gives; the last may be by keyword only."""
    names = list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    return names[1:] if names[:1] == ["self"] else names


def _scratch_names(body: Any) -> list[str]:
    """What `plgpu.kernel` allocates around the kernel, by name."""
    for eqn in body.eqns:
        if eqn.primitive.name == "run_scoped":
            return debug_names(eqn.params["jaxpr"])
        for inner in privates.core.jaxprs_in_params(eqn.params):
            return _scratch_names(inner)
    return []

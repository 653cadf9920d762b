"""Names of a `plgpu.kernel`'s arguments: JAX wraps the user's function and loses them.

The wrapper's body is one scoped allocation, whose function is the user's; any traceback
from within has its code, and that its parameters.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

from pallas_debug.jaxlink import locations, privates


def of_wrapped(body: Any, count: int) -> list[str]:
    """Names of the user's first `count` parameters; empty if they are not known."""
    if len(body.eqns) != 1 or "jaxpr" not in body.eqns[0].params:
        return []
    inner = body.eqns[0].params["jaxpr"]
    place = locations.defined_at(inner)
    if place is None:
        return []
    for code in _codes(inner):
        if (code.co_filename, code.co_firstlineno) == (place.file, place.line):
            info = inner.debug_info
            scratch = {str(name).split("[")[0] for name in info.arg_names or ()}
            return _before(scratch, _parameters(code), count)
    return []


def _parameters(code: types.CodeType) -> list[str]:
    names = list(code.co_varnames[: code.co_argcount])
    return names[1:] if names[:1] == ["self"] else names


def _before(scratch: set[str], own: list[str], count: int) -> list[str]:
    """The `count` parameters that stand before the scratch; those bound are first.

    Fewer are there where arguments are packed in a tree.
    """
    places = [n for n, name in enumerate(own) if name in scratch]
    end = min(places, default=count)
    return own[end - count : end] if count <= end <= len(own) else []


def _codes(jaxpr: Any) -> Iterator[types.CodeType]:
    for eqn in jaxpr.eqns:
        traceback = eqn.source_info.traceback
        if traceback is not None:
            yield from traceback.raw_frames()[0]
        for inner in privates.core.jaxprs_in_params(eqn.params):
            yield from _codes(inner)

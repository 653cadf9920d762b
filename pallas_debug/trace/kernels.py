"""Kernels (and other plain data of ours) as JSON and back, without callables.

A kernel read from a file has `pure=None` everywhere and its big constants as short text:
it can be listed and checked, not run. Mappings and tuples are JSON's own; everything
else is an object whose `$` says what it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.trace.dtypes import numpy_dtype

TEXT_LIMIT = 200
CLASSES: dict[str, type] = {
    cls.__name__: cls
    for cls in (
        ir.Access,
        ir.Alias,
        ir.At,
        ir.Bitcast,
        ir.Buffer,
        ir.Const,
        ir.Gather,
        ir.Grid,
        ir.Index,
        ir.Instr,
        ir.Loc,
        ir.Multicast,
        ir.Peer,
        ir.Reg,
        ir.Reshape,
        ir.Scope,
        ir.Slice,
        ir.Transpose,
    )
}
KERNEL_FIELDS = tuple(field.name for field in fields(ir.Kernel))


def kernel_to_json(kernel: ir.Kernel) -> dict[str, Any]:
    """A kernel as JSON; its fingerprint goes along."""
    data = {name: encode(getattr(kernel, name)) for name in KERNEL_FIELDS}
    return {**data, "fingerprint": kernel.fingerprint}


def kernel_from_json(data: Mapping[str, Any]) -> ir.Kernel:
    """The kernel that `kernel_to_json` wrote; raises `ValueError` for anything else."""
    given = {name: decode(data[name]) for name in KERNEL_FIELDS if name in data}
    kernel = ir.Kernel(**given)
    kernel.__dict__["fingerprint"] = str(data["fingerprint"])
    _validate(kernel)
    return kernel


def _validate(kernel: ir.Kernel) -> None:
    """The cross references that readers follow without looking."""
    typed: tuple[tuple[Any, type], ...] = (
        (kernel.tape, ir.Instr),
        (kernel.locs, ir.Loc),
        (kernel.scopes, ir.Scope),
        (kernel.buffers, ir.Buffer),
    )
    for entries, cls in typed:
        if type(entries) is not tuple or any(type(one) is not cls for one in entries):
            raise ValueError(f"the kernel lists something else than {cls.__name__}")
    shape: tuple[Any, Any] = kernel.grid, kernel.facts
    if type(shape[0]) is not ir.Grid or type(shape[1]) is not MappingProxyType:
        raise ValueError("the kernel has no grid or no facts")
    last = len(kernel.locs)
    for thing in (kernel, *kernel.tape, *kernel.scopes, *kernel.buffers):
        if not -1 <= thing.loc < last:
            raise ValueError(f"source location {thing.loc!r} of {last}")
    scopes = len(kernel.scopes)
    if any(not 0 <= instr.scope < scopes for instr in kernel.tape):
        raise ValueError("an instruction lies in no scope")


class Described(str):
    """Short text that stands for what was not saved; saved again, it stays that."""


def encode(value: Any) -> Any:
    """Plain data as JSON; what is not plain becomes short text."""
    if isinstance(value, Described):
        return {"$": "text", "text": str(value)}
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, np.generic):
        if isinstance(value, int) or math.isfinite(value):
            return value
        return {"$": "float", "value": repr(value)}
    if isinstance(value, (tuple, list)):
        return [encode(item) for item in value]
    if isinstance(value, Mapping):
        return _encode_mapping(value)
    if type(value).__name__ in CLASSES and is_dataclass(value):
        return _encode_dataclass(value)
    if isinstance(value, np.generic) or (
        isinstance(value, np.ndarray) and value.ndim == 0
    ):
        return {"$": "scalar", "dtype": value.dtype.name, "value": str(value)}
    if isinstance(value, np.dtype):
        return value.name
    text = (
        f"{value.dtype}{list(value.shape)}" if hasattr(value, "shape") else str(value)
    )
    return {"$": "text", "text": text[:TEXT_LIMIT]}


def _encode_mapping(value: Mapping[Any, Any]) -> Any:
    if all(isinstance(key, str) for key in value) and "$" not in value:
        return {key: encode(item) for key, item in value.items()}
    items = [[encode(key), encode(item)] for key, item in value.items()]
    return {"$": "pairs", "items": items}


def _encode_dataclass(value: Any) -> dict[str, Any]:
    data: dict[str, Any] = {"$": type(value).__name__}
    for field in fields(value):
        item = getattr(value, field.name)
        if isinstance(value, ir.Instr) and field.name == "pure":
            continue
        if isinstance(item, Mapping):
            default = not item
        else:
            default = field.default is not MISSING and (
                type(item) is type(field.default) and item == field.default
            )
        if not default:
            data[field.name] = encode(item)
    return data


def decode(data: Any) -> Any:
    """The value that `encode` took; raises `ValueError` for an unknown `$`."""
    if isinstance(data, list):
        return tuple(decode(item) for item in data)
    if not isinstance(data, dict):
        return data
    tag = data.get("$")
    if tag is None:
        return MappingProxyType({key: decode(item) for key, item in data.items()})
    if tag in CLASSES:
        given = {key: decode(item) for key, item in data.items() if key != "$"}
        return CLASSES[tag](**given)
    if tag == "float":
        return float(data["value"])
    if tag == "text":
        return Described(data["text"])
    if tag == "pairs":
        return MappingProxyType(dict(decode(data["items"])))
    if tag == "scalar":
        return _scalar(str(data["dtype"]), str(data["value"]))
    raise ValueError(f"unknown data {tag!r}")


def _scalar(dtype: str, text: str) -> Any:
    """A NumPy scalar from its text; the text itself for another dtype."""
    if dtype == "bool":
        return np.bool_(text == "True")
    try:
        kind = numpy_dtype(dtype)
    except TypeError:
        return text
    if dtype.startswith(("int", "uint")):
        return kind.type(int(text))
    return kind.type(complex(text) if kind.kind == "c" else float(text))

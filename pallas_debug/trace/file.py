"""Traces as files: what `trace.save` writes, `load` and the viewer read.

The header has the small things as JSON (kernels, launches, interned strings), the
container the long ones (columns, regions, values). A reader refuses what is cut short,
damaged or newer, and says which.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from pallas_debug import errors
from pallas_debug.accepted import file_path, flag
from pallas_debug.trace import kernels, schema
from pallas_debug.trace.columns import Columns, launch_column
from pallas_debug.trace.container import Packer, Unpacker, count_of, decompress
from pallas_debug.trace.dtypes import is_number, numpy_dtype
from pallas_debug.trace.regions import Regions
from pallas_debug.trace.tables import RecordedLaunch
from pallas_debug.trace.trace import Trace
from pallas_debug.trace.validate import validate

WHAT = "pallas_debug trace"
DAMAGE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
PATHS = str | os.PathLike[str]
LEFT_OUT = -1  # in the place of a dtype: the file does not carry the value


def save(trace: Trace, path: PATHS, *, compress: bool = False) -> None:
    """Writes a trace to a file."""
    name, compress = file_path(path), flag("compress", compress)
    Path(name).write_bytes(dumps(trace, compress=compress))


def load(path: PATHS) -> Trace:
    """Reads a trace from a file.

    Raises:
      BadTraceFile: If the file is no trace, cut short, damaged, or of a newer format.
    """
    name = file_path(path, "the path of a file that trace.save(path) wrote")
    return loads(Path(name).read_bytes(), path=name)


def dumps(trace: Trace, *, compress: bool = False) -> bytes:
    """The bytes of the file."""
    packer = Packer()
    data = packer.finish(pack(trace, packer))
    return gzip.compress(data, mtime=0) if compress else data


def pack(trace: Trace, packer: Packer) -> dict[str, Any]:
    """Gives a packer the arrays of a trace; the header that goes with them.

    A viewer's bundle is the same file with more arrays and one more entry.
    """
    for column in schema.COLUMNS:
        packer.add_integers(
            f"events.{column.name}", getattr(trace.columns, column.name)
        )
    packer.add_integers("regions.offsets", trace.regions.offsets)
    packer.add_integers("regions.data", trace.regions.data)
    for i, name in enumerate(("launch", "step", "thread")):
        packer.add_integers(f"choices.{name}", [choice[i] for choice in trace.choices])
    kernel_list = list({id(la.kernel): la.kernel for la in trace.launches}.values())
    numbers = {id(kernel): i for i, kernel in enumerate(kernel_list)}
    return {
        "what": WHAT,
        "format": schema.FORMAT,
        "events": len(trace),
        "meta": kernels.encode(trace.meta),
        "kernels": [kernels.kernel_to_json(kernel) for kernel in kernel_list],
        "launches": [_launch(la, numbers[id(la.kernel)]) for la in trace.launches],
        "threads": _rows(packer, "threads", schema.ThreadRow, trace.thread_rows),
        "buffers": _rows(packer, "buffers", schema.BufferRow, trace.buffer_rows),
        "payloads": _payloads(packer, trace),
        "texts": list(trace.texts),
    }


def loads(data: bytes, *, path: str = "<bytes>") -> Trace:
    """A trace from the bytes of a file; raises as `load`."""
    unpacker = Unpacker(decompress(data, path), path)
    header = unpacker.header
    if header.get("what") != WHAT:
        raise errors.NotATrace(path=path, reason="its header is another one")
    number = header.get("format")
    if not isinstance(number, int) or number < 1:
        raise errors.BadTraceFile(path=path, reason=f"it has format {number!r:.40}")
    if number > schema.FORMAT:
        raise errors.NewerFormat(path=path, format=number, known=schema.FORMAT)
    try:
        trace = _trace(unpacker, header)
        validate(trace)
    except (*DAMAGE, RecursionError) as error:
        reason = f"it is damaged ({type(error).__name__}: {error!s:.200})"
        raise errors.BadTraceFile(path=path, reason=reason) from error
    return trace


def _launch(launch: RecordedLaunch, kernel: int) -> dict[str, Any]:
    return {
        "kernel": kernel,
        "grid": list(launch.grid),
        "outcome": asdict(launch.outcome),
        "first_event": launch.first_event,
        "last_event": launch.last_event,
        "chip": launch.chip,
        "axes": dict(launch.axes),
        "device": dict(launch.device),
        "steps": launch.steps,
        "arguments": list(launch.arguments),
        "outputs": list(launch.outputs),
    }


def _fields(cls: Any) -> list[tuple[str, str]]:
    """Names and types of a row's fields."""
    kinds = cls.__annotations__
    return [(n, getattr(kinds[n], "__forward_arg__", kinds[n])) for n in cls._fields]


def _rows(packer: Packer, table: str, cls: Any, rows: Sequence[Any]) -> dict[str, Any]:
    """A table by columns: integers as arrays, other values interned."""
    interned: dict[str, list[Any]] = {}
    for name, kind in _fields(cls):
        values = [getattr(row, name) for row in rows]
        if kind != "int":
            codes: dict[Any, int] = {}
            values = [codes.setdefault(value, len(codes)) for value in values]
            interned[name] = list(codes)
        packer.add_integers(f"{table}.{name}", values)
    return {"interned": interned}


def _payloads(packer: Packer, trace: Trace) -> dict[str, Any]:
    numbers: dict[np.dtype, int] = {}
    names: list[str] = []
    shapes: dict[tuple[int, ...], int] = {}
    rows: list[tuple[int, int, int]] = []
    for number, array in enumerate(trace.payloads):
        if number in trace.left_out:
            rows.append((LEFT_OUT, shapes.setdefault(array.shape, len(shapes)), 0))
            continue
        dtype = numbers.get(array.dtype)  # a dtype's name takes long to find
        if dtype is None:
            array = _storable(array)
            if array.dtype not in numbers:
                numbers[array.dtype] = len(names)
                names.append(array.dtype.name)
            dtype = numbers[array.dtype]
        shape = shapes.setdefault(array.shape, len(shapes))
        rows.append((dtype, shape, packer.add_value(number, array)))
    table = np.array(rows, np.int64).reshape(-1, 3)
    for i, name in enumerate(("dtype", "shape", "offset")):
        packer.add_integers(f"payloads.{name}", table[:, i])
    return {"dtypes": names, "shapes": [list(shape) for shape in shapes]}


def _storable(array: np.ndarray) -> np.ndarray:
    """Little-endian numbers as they are, anything else as text."""
    if not is_number(array.dtype.name):
        array = np.frombuffer(str(array).encode(), np.uint8)
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def _trace(unpacker: Unpacker, header: dict[str, Any]) -> Trace:
    count = header["events"]
    arrays = {
        column.name: unpacker.integers(f"events.{column.name}", column.dtype)
        for column in schema.COLUMNS
    }
    if any(len(array) != count for array in arrays.values()):
        raise ValueError("the columns have different lengths")
    kernel_list = [kernels.kernel_from_json(data) for data in header["kernels"]]
    payloads, left_out = _read_payloads(unpacker, header["payloads"])
    buffers = _read_rows(unpacker, header, "buffers", schema.BufferRow)
    launches = tuple(
        _read_launch(number, data, kernel_list, buffers, payloads, left_out)
        for number, data in enumerate(header["launches"])
    )
    choices = [
        unpacker.integers(f"choices.{name}").tolist()
        for name in ("launch", "step", "thread")
    ]
    first_events = [launch.first_event for launch in launches]
    return Trace(
        columns=Columns(**arrays, launch=launch_column(first_events, count)),
        regions=_read_regions(unpacker),
        payloads=payloads,
        left_out=left_out,
        thread_rows=_read_rows(unpacker, header, "threads", schema.ThreadRow),
        buffer_rows=buffers,
        launches=launches,
        texts=tuple(str(text) for text in header["texts"]),
        choices=tuple(zip(*choices, strict=True)),
        meta=kernels.decode(header["meta"]),
    )


def _read_launch(
    number: int, data: Any, kernel_list: Any, buffers: Any, payloads: Any, left_out: Any
) -> RecordedLaunch:
    kernel = kernel_list[data["kernel"]]
    outcome = dict(data["outcome"])
    outcome["waiting"] = tuple(tuple(map(int, row)) for row in outcome["waiting"])
    arguments = tuple(map(int, data["arguments"]))
    rows = [buffers[i] for i in arguments[: kernel.num_scalars]]
    scalars = {
        row.name: payloads[row.initial]
        for row in rows
        if row.initial >= 0 and row.initial not in left_out
    }
    return RecordedLaunch(
        number=number,
        kernel=kernel,
        grid=tuple(map(int, data["grid"])),
        outcome=schema.Outcome(**outcome),
        first_event=int(data["first_event"]),
        last_event=int(data["last_event"]),
        chip=str(data["chip"]),
        axes=MappingProxyType({str(k): int(v) for k, v in data["axes"].items()}),
        device=MappingProxyType({str(k): int(v) for k, v in data["device"].items()}),
        scalars=MappingProxyType(scalars),
        steps=int(data["steps"]),
        arguments=arguments,
        outputs=tuple(map(int, data["outputs"])),
    )


def _read_rows(
    unpacker: Unpacker, header: Any, table: str, cls: Any
) -> tuple[Any, ...]:
    columns: dict[str, list[Any]] = {}
    for field, kind in _fields(cls):
        name = f"{table}.{field}"
        if name not in header["arrays"] and field in cls._field_defaults:
            continue  # written before the field existed
        values = unpacker.integers(name)
        column: list[Any] = values.tolist()
        if kind != "int":
            known = [_interned(kind, v) for v in header[table]["interned"][field]]
            if len(values) and not 0 <= values.min() <= values.max() < len(known):
                raise ValueError(f"{name} names something unknown")
            column = [known[code] for code in column]
        columns[field] = column
    names = tuple(columns)
    rows = zip(*columns.values(), strict=True)
    return tuple(cls(**dict(zip(names, row, strict=True))) for row in rows)


def _interned(kind: Any, value: Any) -> Any:
    if kind == "str":
        return str(value)
    count_of(value)
    return tuple(value)


def _read_payloads(
    unpacker: Unpacker, table: Any
) -> tuple[tuple[np.ndarray, ...], frozenset[int]]:
    """The values, and the numbers of those that stand for one left out."""
    kinds = [numpy_dtype(str(name)) for name in table["dtypes"]]
    shapes = [(tuple(shape), count_of(shape)) for shape in table["shapes"]]
    codes = [unpacker.integers(f"payloads.{n}") for n in ("dtype", "shape", "offset")]
    least = (LEFT_OUT, 0, 0)
    if any(
        len(code) and code.min() < low for code, low in zip(codes, least, strict=True)
    ):
        raise ValueError("a value has a negative number")
    found: list[np.ndarray] = []
    left_out: list[int] = []
    for dtype, shape, offset in zip(*(code.tolist() for code in codes), strict=True):
        size, count = shapes[shape]
        if dtype == LEFT_OUT:
            left_out.append(len(found))
            found.append(np.broadcast_to(np.False_, size))  # only its shape is known
        else:
            found.append(unpacker.raw(offset, kinds[dtype], count).reshape(size))
    return tuple(found), frozenset(left_out)


def _read_regions(unpacker: Unpacker) -> Regions:
    offsets = unpacker.integers("regions.offsets")
    data = unpacker.integers("regions.data").tolist()
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(data):
        raise ValueError("the regions table has a wrong length")
    if (np.diff(offsets) < 1).any():
        raise ValueError("a region is empty")
    ends = offsets.tolist()
    return Regions([tuple(data[a:b]) for a, b in pairwise(ends)])

"""The container of a trace file: a length, a JSON header, aligned little-endian arrays.

Shaped like safetensors, so that Python and the viewer read it without a dependency and
without copying. Integer arrays are stored in the narrowest type, as differences where
those are narrower. Nothing is pickled; sizes are checked before anything is allocated.
A checksum over the arrays tells a damaged file from an odd one.
"""

from __future__ import annotations

import gzip
import io
import json
import math
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from pallas_debug import errors
from pallas_debug.trace.columns import frozen

ALIGN = 8
GZIP = b"\x1f\x8b"
LENGTH_BYTES = 8
MAX_HEADER = 1 << 30
MAX_BYTES = 8 << 30
INTEGERS = ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8")


class Packer:
    """Collects arrays and gives the bytes of the file.

    Attributes:
      known: Numbers of the values that the reader has already; none of a file's.
    """

    known: frozenset[int] = frozenset()

    def __init__(self) -> None:
        self.arrays: dict[str, dict[str, Any]] = {}
        self._chunks: list[bytes] = []
        self._size = 0

    def add_bytes(self, data: bytes | np.ndarray) -> int:
        """Appends raw bytes, aligned; gives their offset."""
        offset = self._size
        raw = data if isinstance(data, bytes) else data.tobytes()
        padding = -len(raw) % ALIGN
        self._chunks += (raw, b"\0" * padding)
        self._size += len(raw) + padding
        return offset

    def add_value(self, number: int, value: np.ndarray) -> int:
        """Appends a recorded value by its number; gives its offset."""
        return self.add_bytes(value)

    def add_integers(self, name: str, values: Any) -> None:
        """Appends an integer array under a name, as small as it goes."""
        array = np.asarray(values)
        array = array.astype(np.int64) if array.dtype.kind != "i" else array
        dtype, encoding = _narrowest(array), "raw"
        if len(array) > 1:
            delta = np.diff(array.astype(np.int64), prepend=np.int64(0))
            narrow = _narrowest(delta)
            if np.dtype(narrow).itemsize < np.dtype(dtype).itemsize:
                array, dtype, encoding = delta, narrow, "delta"
        raw = array.astype("<" + dtype).tobytes()
        self.arrays[name] = {
            "dtype": dtype,
            "count": len(array),
            "encoding": encoding,
            "offset": self.add_bytes(raw),
        }

    def finish(self, header: Mapping[str, Any]) -> bytes:
        """The whole file."""
        checksum = 0
        for chunk in self._chunks:
            checksum = zlib.crc32(chunk, checksum)
        full = {
            **header,
            "arrays": self.arrays,
            "data_bytes": self._size,
            "data_crc32": checksum,
        }
        text = json.dumps(full, allow_nan=False, separators=(",", ":")).encode()
        text += b" " * (-len(text) % ALIGN)
        return b"".join(
            [len(text).to_bytes(LENGTH_BYTES, "little"), text, *self._chunks]
        )


def _narrowest(array: np.ndarray) -> str:
    low, high = (int(array.min()), int(array.max())) if len(array) else (0, 0)
    for name in INTEGERS:
        info = np.iinfo(name)
        if info.min <= low and high <= info.max:
            return name
    raise AssertionError("NumPy integers fit into 64 bits")


class Unpacker:
    """The header and arrays of a file; every size is checked against the bytes."""

    def __init__(self, data: bytes, path: str) -> None:
        self._path = path
        raw = data[:LENGTH_BYTES]
        length = int.from_bytes(raw, "little")
        if len(raw) < LENGTH_BYTES or not 2 <= length <= MAX_HEADER:
            raise errors.NotATrace(path=path, reason="it does not begin with a header")
        if LENGTH_BYTES + length > len(data):
            if data[LENGTH_BYTES : LENGTH_BYTES + 1] != b"{":
                raise errors.NotATrace(path=path, reason="it has no JSON header")
            expected = f"at least {LENGTH_BYTES + length}"
            raise errors.TraceCutShort(path=path, size=len(data), expected=expected)
        self.header = self._parse(data[LENGTH_BYTES : LENGTH_BYTES + length])
        self._start = LENGTH_BYTES + length
        self._data = data
        self._check_size()
        self._check_sum()

    def _parse(self, text: bytes) -> dict[str, Any]:
        try:
            header = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise errors.NotATrace(
                path=self._path, reason=f"its header is no JSON ({error})"
            ) from None
        if not isinstance(header, dict) or "arrays" not in header:
            raise errors.NotATrace(path=self._path, reason="its header is another one")
        return header

    def _check_size(self) -> None:
        size, claimed = len(self._data), self.header.get("data_bytes")
        if not isinstance(claimed, int) or claimed < 0:
            raise errors.BadTraceFile(path=self._path, reason="it states no size")
        expected = self._start + claimed
        if size < expected:
            raise errors.TraceCutShort(path=self._path, size=size, expected=expected)
        if size > expected:
            raise errors.BadTraceFile(
                path=self._path, reason=f"{size - expected} bytes too many follow"
            )

    def _check_sum(self) -> None:
        """Compares the arrays with their checksum; files without one are older."""
        expected = self.header.get("data_crc32")
        found = zlib.crc32(memoryview(self._data)[self._start :])
        if expected is not None and expected != found:
            raise errors.ChangedBytes(path=self._path)

    def raw(self, offset: int, dtype: np.dtype, count: int) -> np.ndarray:
        """`count` values at an offset of the data part, without a copy."""
        end = offset + count * dtype.itemsize
        if offset < 0 or count < 0 or end > len(self._data) - self._start:
            raise ValueError(f"{count} values at {offset} lie outside the file")
        return np.frombuffer(self._data, dtype, count, self._start + offset)

    def integers(self, name: str, dtype: str = "i8") -> np.ndarray:
        """The integer array of a name, in a dtype of the reader's choice."""
        spec = self.header["arrays"][name]
        if spec["dtype"] not in INTEGERS or spec["encoding"] not in ("raw", "delta"):
            raise ValueError(f"array {name} has an unknown encoding")
        stored = self.raw(spec["offset"], np.dtype("<" + spec["dtype"]), spec["count"])
        if spec["encoding"] == "delta":
            stored = np.cumsum(stored, dtype=np.int64)
        info = np.iinfo(dtype)
        if len(stored) and not (info.min <= stored.min() and stored.max() <= info.max):
            raise ValueError(f"array {name} does not fit into {dtype}")
        return frozen(stored.astype(dtype))


def decompress(data: bytes, path: str) -> bytes:
    """Unpacks a gzip file; other bytes are returned as they are."""
    if data[:2] != GZIP:
        return data
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            plain = stream.read(MAX_BYTES + 1)
    except EOFError:
        raise errors.TraceCutShort(
            path=path, size=len(data), expected="more compressed"
        ) from None
    except (OSError, zlib.error) as error:
        raise errors.BadTraceFile(path=path, reason=f"damaged gzip ({error})") from None
    if len(plain) > MAX_BYTES:
        raise errors.BadTraceFile(path=path, reason="it unpacks to more than 8 GiB")
    return plain


def count_of(shape: Any) -> int:
    """Number of elements of a shape read from a file; bounded, never negative."""
    if not all(isinstance(size, int) and 0 <= size < 1 << 48 for size in shape):
        raise ValueError(f"impossible shape {shape!r}"[:200])
    count = math.prod(shape)
    if count >= 1 << 48:
        raise ValueError(f"impossible shape {shape!r}"[:200])
    return count

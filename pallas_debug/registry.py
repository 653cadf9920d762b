"""The one mechanism by which pallas_debug is extended: a table that names its faults.

A duplicate key raises and names both registrants; an unknown key raises with the
nearest names. A notebook cell that runs again replaces what it registered before.
Registration is explicit: no folder is searched, no entry point read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, Generic, TypeVar

from pallas_debug import errors

T = TypeVar("T")


def _function(value: object) -> Any:
    """The function that an entry consists of, or that it carries beside its data."""
    return getattr(value, "function", value)


def _described(value: object) -> str:
    """Names a registrant by where it is defined."""
    function = _function(value)
    name = getattr(function, "__qualname__", None)
    return f"{function.__module__}.{name}" if name else repr(value)


def _is_rerun(first: object, second: object) -> bool:
    """Whether both come from one definition in a notebook, whose cell ran again.

    An edited cell is a new file to Python; two definitions of one file are two.
    """
    functions = [_function(value) for value in (first, second)]
    if not all(isinstance(one, FunctionType) for one in functions):
        return False
    names = {(one.__module__, one.__qualname__) for one in functions}
    codes = [one.__code__ for one in functions]
    files = {code.co_filename for code in codes}
    places = {(code.co_filename, code.co_firstlineno) for code in codes}
    in_notebook = all(module == "__main__" for module, _ in names)
    return in_notebook and len(names) == 1 and len(places) == len(files)


class Registry(Generic[T]):
    """A table of extensions of one kind, from key to value.

    Attributes:
      noun: What an entry is called in messages ("rule", "check", "view").
      edits: How often it has changed: what was derived from it may be out of date.
    """

    def __init__(self, noun: str) -> None:
        self.noun = noun
        self.edits = 0
        self._entries: dict[str, T] = {}

    def add(self, key: str, value: T) -> T:
        """Registers `value` under `key` and returns it unchanged."""
        if key in self._entries and not _is_rerun(self._entries[key], value):
            raise errors.DuplicateEntry(
                noun=self.noun,
                key=key,
                first=_described(self._entries[key]),
                second=_described(value),
            )
        self._entries[key] = value
        self.edits += 1
        return value

    def remove(self, key: str) -> T:
        """Takes an entry away again; gives it."""
        value = self.get(key)
        del self._entries[key]
        self.edits += 1
        return value

    def register(self, key: str) -> Callable[[T], T]:
        """Decorator form of `add`."""
        return lambda value: self.add(key, value)

    def get(self, key: str) -> T:
        """The entry of `key`; an unknown key raises with the nearest names."""
        try:
            return self._entries[key]
        except KeyError:
            raise errors.UnknownEntry(
                noun=self.noun, key=key, known=tuple(self)
            ) from None

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._entries))

    def __len__(self) -> int:
        return len(self._entries)

    def items(self) -> Iterator[tuple[str, T]]:
        """Keys and entries, sorted by key."""
        return ((key, self._entries[key]) for key in self)

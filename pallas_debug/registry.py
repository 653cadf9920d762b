"""The one mechanism by which pallas_debug is extended: a table that names its faults.

A duplicate key raises and names both registrants; an unknown key raises with the
nearest names. Registration is explicit: no folder is searched, no entry point read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from pallas_debug import errors

T = TypeVar("T")


def _described(value: object) -> str:
    """Names a registrant by where it is defined."""
    name = getattr(value, "__qualname__", None)
    return f"{getattr(value, '__module__', '?')}.{name}" if name else repr(value)


class Registry(Generic[T]):
    """A table of extensions of one kind, from key to value.

    Attributes:
      noun: What an entry is called in messages ("rule", "check", "view").
    """

    def __init__(self, noun: str) -> None:
        self.noun = noun
        self._entries: dict[str, T] = {}

    def add(self, key: str, value: T) -> T:
        """Registers `value` under `key` and returns it unchanged."""
        if key in self._entries:
            raise errors.DuplicateEntry(
                noun=self.noun,
                key=key,
                first=_described(self._entries[key]),
                second=_described(value),
            )
        self._entries[key] = value
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

"""What a gallery kernel is: a fault, its story, and a fixed twin that differs in little."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Case = tuple[Callable[..., Any], tuple[Any, ...]]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One kernel of the gallery.

    Attributes:
      name: Its module's name, and what `pallas-debug demo NAME` takes.
      title: One line that says what goes wrong.
      level: 1 (first steps) to 3 (pipelines and several threads).
      backend: `mosaic_gpu`, `tpu` or `generic`.
      codes: The findings that the faulty kernel gets; the fixed one gets no error.
      build: `build(fixed)` gives a function and its arguments.
      reference: What the arguments should give, by NumPy.
    """

    name: str
    title: str
    level: int
    backend: str
    codes: tuple[str, ...]
    build: Callable[[bool], Case]
    reference: Callable[..., Any]

    def faulty(self) -> Case:
        """The kernel with its fault, as `(fn, args)`."""
        return self.build(False)

    def fixed(self) -> Case:
        """The twin without the fault, as `(fn, args)`."""
        return self.build(True)

    @property
    def story(self) -> str:
        """What somebody saw, and what was behind it."""
        return inspect.getdoc(inspect.getmodule(self.build)) or ""

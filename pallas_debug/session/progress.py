"""Progress of long work: a bar that goes when the work is done, early or not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def progress(total: int, what: str, *, hidden: bool | None = None) -> Iterator[Any]:
    """A bar with `update`; hidden: None, if no terminal or notebook shows it."""
    from tqdm.auto import tqdm

    with tqdm(total=total, desc=what, delay=1, leave=False, disable=hidden) as bar:
        try:
            yield bar
        finally:
            bar.total = bar.n  # a notebook leaves a bar that is not full, as failed

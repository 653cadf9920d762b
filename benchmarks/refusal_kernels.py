"""The kernels that refusals are measured on: all that this repository has.

`pairs` are those of `tests/refused`, a kernel that something refuses beside one that is
taken; `gallery` and `cases` are faulty kernels with their fixed twins; `tests` are those
that the tests of refusals hand to JAX, `shipped` those that come with JAX.
"""

import contextlib
import importlib
import io
import pathlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import jax
import pytest

import pallas_debug as pldb
from pallas_debug import gallery

TESTS = pathlib.Path(__file__).resolve().parent.parent / "tests"
SOURCES = ("pairs", "gallery", "cases", "tests", "shipped")


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """A kernel to be asked about.

    Attributes:
      name: Source and name.
      build: Gives the function and its arguments for an `interpret=`.
      mode: `any` if `build` takes every mode; else the one that is fixed in it.
      chip, cores: What it asks of the device is answered with.
    """

    name: str
    build: Callable[..., tuple[Callable[..., Any], tuple[Any, ...]]]
    mode: str = "any"
    chip: str | None = None
    cores: int | None = None

    @property
    def options(self) -> pldb.Options:
        return pldb.Options(unsupported="stub", chip=self.chip, cores=self.cores)


def kernels(sources: tuple[str, ...] = SOURCES) -> list[Kernel]:
    """All kernels of the sources, in an order that does not change."""
    jax.config.update("jax_numpy_dtype_promotion", "standard")
    if str(TESTS) not in sys.path:
        sys.path.insert(0, str(TESTS))
    return [one for source in sources for one in globals()[f"_{source}"]()]


def _pairs() -> list[Kernel]:
    pairs = importlib.import_module("refused").PAIRS
    return [
        Kernel(name=f"pairs {name} {which}", build=build)
        for name, both in pairs.items()
        for which, build in zip(("refused", "taken"), both, strict=True)
    ]


def _gallery() -> list[Kernel]:
    found = []
    for name, entry in gallery.ENTRIES.items():
        for which in ("faulty", "fixed"):
            build = getattr(entry, which)
            found.append(
                Kernel(
                    name=f"gallery {name} {which}",
                    build=lambda interpret, build=build: build(),
                    mode="none",
                )
            )
    return found


def _cases() -> list[Kernel]:
    names = sorted(path.stem for path in (TESTS / "cases").glob("h*.py"))
    return [
        Kernel(
            name=f"cases {name} {which}",
            build=getattr(importlib.import_module(f"cases.{name}"), which),
        )
        for name in names
        for which in ("build", "fixed")
    ]


def _tests() -> list[Kernel]:
    """What the tests of refusals hand to `law`, `refused` and `accepted`."""
    found: list[Kernel] = []
    refusals = importlib.import_module("jaxlink.refusals")

    def note(fn: Any, *args: Any) -> Any:
        found.append(
            Kernel(
                name=f"tests {_current()} {len(found)}",
                build=lambda interpret: (fn, args),
                mode="gpu",
            )
        )
        return SimpleNamespace(loc=SimpleNamespace(text="refused"), severity="")

    taken = {
        "law": lambda code, is_refused, fn, *args: note(fn, *args),
        "refused": lambda code, fn, *args: note(fn, *args),
        "accepted": note,
    }
    with _replaced(refusals, taken):
        _collect(sorted((TESTS / "jaxlink").glob("test_refusals*.py")))
    return found


def _shipped() -> list[Kernel]:
    """What the tests of shipped kernels record first."""
    found: list[Kernel] = []

    def note(fn: Any, *args: Any, options: Any = None, **kwargs: Any) -> None:
        options = options or pldb.Options()
        found.append(
            Kernel(
                name=f"shipped {_current()}",
                build=lambda interpret: ((lambda *values: fn(*values, **kwargs)), args),
                mode="none",
                chip=options.chip,
                cores=options.cores,
            )
        )
        pytest.skip("noted")

    with _replaced(pldb, {"trace": note}):
        _collect(sorted((TESTS / "jaxlink").glob("test_*_shipped.py")))
    return found


@contextlib.contextmanager
def _replaced(module: Any, functions: dict[str, Any]) -> Any:
    before = {name: getattr(module, name) for name in functions}
    vars(module).update(functions)
    try:
        yield
    finally:
        vars(module).update(before)


class _Names:
    """Which test is running."""

    now = ""

    def pytest_runtest_call(self, item: Any) -> None:
        _Names.now = f"{item.path.stem.removeprefix('test_')}::{item.name}"


def _current() -> str:
    return _Names.now


def _collect(files: list[pathlib.Path]) -> None:
    """Runs tests whose doors are replaced; how they end does not matter."""
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore"]
    root = ["--rootdir", str(TESTS.parent), "-c", str(TESTS.parent / "pyproject.toml")]
    with contextlib.redirect_stdout(io.StringIO()):
        pytest.main([*options, *root, *map(str, files)], plugins=[_Names()])

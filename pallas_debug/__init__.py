"""Records, checks and shows what a JAX Pallas kernel does, on a CPU.

This is the public surface and nothing else: verbs, then nouns. It loads its parts when
they are asked for, so that importing it costs little and does not import JAX.
"""

import importlib
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pallas_debug.checks import Finding as Finding
    from pallas_debug.checks import Report as Report
    from pallas_debug.session import Options as Options
    from pallas_debug.session import Session as Session
    from pallas_debug.session import check as check
    from pallas_debug.session import compare as compare
    from pallas_debug.session import debug as debug
    from pallas_debug.session import load as load
    from pallas_debug.session import portability as portability
    from pallas_debug.session import recording as recording
    from pallas_debug.session import trace as trace
    from pallas_debug.trace import Trace as Trace

__version__ = "0.1.0"

_HOMES = {
    "trace": "pallas_debug.session",
    "check": "pallas_debug.session",
    "recording": "pallas_debug.session",
    "portability": "pallas_debug.session",
    "load": "pallas_debug.session",
    "compare": "pallas_debug.session",
    "debug": "pallas_debug.session",
    "Session": "pallas_debug.session",
    "Options": "pallas_debug.session",
    "Trace": "pallas_debug.trace",
    "Report": "pallas_debug.checks",
    "Finding": "pallas_debug.checks",
}

_MODULES = ("extend", "plot")  # public, too, each a module of its own

__all__ = [  # at most twelve; tests/test_public_api.py holds the list
    "trace",
    "check",
    "debug",
    "recording",
    "load",
    "compare",
    "portability",
    "Options",
    "Trace",
    "Session",
    "Report",
    "Finding",
]


def __getattr__(name: str) -> Any:
    """Loads a public name from its home on first use."""
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


class _Package(types.ModuleType):
    """This package; `trace` is the verb, whatever has been imported.

    Importing the subpackage `pallas_debug.trace` would replace the verb of the same
    name, because the import system stores a subpackage on its parent.
    """

    @property
    def trace(self) -> Any:
        return vars(self).get("trace") or __getattr__("trace")

    @trace.setter
    def trace(self, value: Any) -> None:
        if not isinstance(value, types.ModuleType):
            vars(self)["trace"] = value


sys.modules[__name__].__class__ = _Package


def load_ipython_extension(shell: Any) -> None:
    """Registers `%pallas_debug` and `%%pallas_debug`: `%load_ext pallas_debug`."""
    from pallas_debug import magic

    magic.register(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Takes the magics away again: `%unload_ext pallas_debug`."""
    from pallas_debug import magic

    magic.unregister(shell)

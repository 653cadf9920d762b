"""The notebook door: `%load_ext pallas_debug`, `%pallas_debug`, `%%pallas_debug`.

A door is thin: it reads options, opens a recording, and shows what the views make of
the trace. This module imports IPython inside functions only.
"""

from __future__ import annotations

from typing import Any

from pallas_debug import errors


def register(shell: Any) -> None:
    """Gives `shell` the magics; a second call changes nothing."""
    try:
        from pallas_debug.magic import magics
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] != "IPython":
            raise
        raise errors.NotInstalled(
            package="ipython", purpose="the notebook magics", extra="notebook"
        ) from None
    magics.register(shell)


def unregister(shell: Any) -> None:
    """Takes the magics from `shell` again."""
    from pallas_debug.magic import magics

    magics.unregister(shell)

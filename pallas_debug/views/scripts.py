"""The viewer's built scripts: read here, so that a missing one is said in one place."""

from __future__ import annotations

from pathlib import Path

from pallas_debug import errors

FOLDER = Path(__file__).parent / "static"
WIDGET = "widget.js"  # an ES module, for anywidget
EMBED = "embed.js"  # a plain script, for pages


def script(name: str) -> str:
    """The text of a built script.

    Raises:
      ViewerNotBuilt: It is not there.
    """
    path = FOLDER / name
    if not path.is_file():
        raise errors.ViewerNotBuilt(file=name)
    return path.read_text(encoding="utf-8")


def is_built() -> bool:
    """Whether this installation has the viewer."""
    return all((FOLDER / name).is_file() for name in (WIDGET, EMBED))

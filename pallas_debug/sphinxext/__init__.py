"""The Sphinx directive `pallas-debug`: a kernel's run, explorable inside a page.

Add `"pallas_debug.sphinxext"` to `extensions`. Works with reStructuredText and MyST,
needs no network when the page is read, and says the same as text where no script runs.

    .. pallas-debug::
       :caption: A tile is read before its copy has arrived
       :cursor: 12

       from pallas_debug import gallery
       fn, args = gallery.ENTRIES["unwaited_copy"].faulty()
       fn(*args)
"""

from __future__ import annotations

from typing import Any

import pallas_debug


def setup(app: Any) -> dict[str, Any]:
    """Registers the directive; Sphinx calls it."""
    from pallas_debug.sphinxext.directive import PallasDebug

    app.add_directive("pallas-debug", PallasDebug)
    return {
        "version": pallas_debug.__version__,
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }

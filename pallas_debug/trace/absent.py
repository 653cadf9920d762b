"""Places that no launch of a trace has, which `events.where` refuses.

A breakpoint may wait for such a place, and says so itself.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from pallas_debug.accepted import is_whole, scalar
from pallas_debug.errors import BadOption, or_list

if TYPE_CHECKING:
    from pallas_debug.trace.trace import Trace


def refusal(trace: Trace, conditions: Mapping[str, Any]) -> BadOption | None:
    """What is wrong with a block outside every grid, or a line of a file without kernels."""
    return (
        _of_block(trace, scalar(conditions.get("block")))
        or _of_file(trace, "line", conditions.get("line"))
        or _of_file(trace, "within", conditions.get("within"))
    )


def _of_block(trace: Trace, block: Any) -> BadOption | None:
    if not is_whole(block):  # coordinates are looked up in each grid
        return None
    most = max((launch.blocks for launch in trace.launches), default=0)
    if -1 <= operator.index(block) < most:
        return None
    numbers = f"0 … {most - 1}, or -1" if most else "-1"
    accepted = f"{numbers} for what belongs to no block"
    return BadOption(option="block", value=block, accepted=accepted)


def _of_file(trace: Trace, name: str, value: Any) -> BadOption | None:
    file, _, line = value.rpartition(":") if isinstance(value, str) else ("", "", "")
    if not file or not line.isdigit():
        return None
    known = {loc.file for launch in trace.launches for loc in launch.kernel.locs}
    shown = sorted({PurePath(one).name for one in known})
    if file in known or file in shown:
        return None
    accepted = f"a number, or a line of {or_list(shown) if shown else 'no file'}"
    return BadOption(option=name, value=value, accepted=accepted)

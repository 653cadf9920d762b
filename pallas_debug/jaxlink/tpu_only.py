"""What only a TPU can answer, and a chip of another kind was chosen: said by us.

JAX takes the chip for a device that it does not know, and advises an abstract mesh.
"""

from __future__ import annotations

import types

from pallas_debug.errors import BadOption, or_list
from pallas_debug.ir import chips
from pallas_debug.jaxlink import locations


def refuse(chip: chips.Chip | None, question: str, frame: types.FrameType) -> None:
    """Raises where `get_tpu_info` asks a GPU; whether it is a TPU anybody may ask."""
    if chip is None or chip.backend == "tpu" or question != "device_kind":
        return
    asker, its_caller = frame.f_globals.get("__name__") or "", frame.f_back
    if not (asker.endswith("tpu_info") and its_caller):
        return
    if its_caller.f_code.co_name != "get_tpu_info":
        return
    known = or_list(one.name for one in chips.CHIPS.values() if one.backend == "tpu")
    raise BadOption(
        option="chip",
        value=chip.name,
        accepted=f"a TPU, since `pltpu.get_tpu_info()` asks for one: {known}",
        loc=locations.current_loc(),
    )

"""Compiled kernels, kept between recordings: a cache, never a part of any result.

JAX hands out the same parameters object for a launch that it has traced before, so a
kernel that is recorded again is neither lowered nor compiled again.
"""

from __future__ import annotations

from typing import Any

from pallas_debug import machine
from pallas_debug.machine.options import Options
from pallas_debug.machine.rules import RULES

MOST = 32

# Key → the parameters, kept so that their id stays their own, and the program.
_programs: dict[tuple[Any, ...], tuple[Any, machine.Program]] = {}


def program_of(call: Any, options: Options, target: str | None) -> machine.Program:
    """The program of a captured launch (`jaxlink.capture.LaunchCall`)."""
    from pallas_debug.jaxlink.lower import lower

    coarse = options.policy == "round-robin"
    key = (
        id(call.params),
        call.loc,
        call.interpret,
        tuple(call.axis_env.items()),
        options.exact,
        target,
        coarse,
        RULES.edits,  # a rule that was added may serve an op that had none
    )
    held = _programs.pop(key, None)
    if held is None or held[0] is not call.params:
        kernel = lower(call, exact=options.exact, target=target)
        held = (call.params, machine.compile_kernel(kernel, coarse=coarse))
    _programs[key] = held
    while len(_programs) > MOST:
        del _programs[next(iter(_programs))]
    return held[1]

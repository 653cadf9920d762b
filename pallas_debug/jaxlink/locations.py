"""Where in the user's source an equation comes from.

Turns JAX's tracebacks into `ir.Loc`. Finds, never guesses: where an equation carries no
frame of the user's, the caller says which enclosing equation it belongs to.
"""

from __future__ import annotations

import dis
import functools
import os
import sys
import types
from dataclasses import replace
from typing import Any, NamedTuple

from pallas_debug.ir.loc import Loc, source_text
from pallas_debug.jaxlink import privates

# Kernels that JAX ships count as library code for JAX and as kernels for us.
SHIPPED = os.path.join("jax", "experimental", "pallas", "ops") + os.sep
HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
OURS = os.path.dirname(os.path.dirname(HERE)) + os.sep
GALLERY = os.path.join(OURS, "gallery") + os.sep  # the user's side of the fence

KERNEL_CODE = ("user", "shipped")

# A statement that spans more lines is shown by its first ones.
MAX_LINES = 12


class Frame(NamedTuple):
    """A function of kernel code on the way to an equation.

    Attributes:
      loc: The line that it executes.
      code, offset: The function, and the instruction of it that is executed.
    """

    loc: Loc
    code: types.CodeType
    offset: int


def user_loc(source_info: Any, fallback: Loc | None = None) -> Loc | None:
    """The innermost line of kernel code behind an equation, else `fallback`.

    Kernel code is the user's, or that of a kernel shipped with JAX.
    """
    return _innermost(source_info.traceback, True) or fallback


def user_frames(source_info: Any) -> tuple[Frame, ...]:
    """The lines of kernel code behind an equation, innermost first.

    They end at the function whose jaxpr the equation stands in: JAX keeps no more, and
    the equation that holds that jaxpr has the rest.
    """
    return _frames(source_info.traceback, True)


def call_loc(source_info: Any, fallback: Loc | None = None) -> Loc | None:
    """The user's line that made a call, also when a shipped kernel lies between."""
    traceback = source_info.traceback
    return _innermost(traceback, False) or fallback or _innermost(traceback, True)


def current_loc() -> Loc | None:
    """The user's line that is running: for what JAX does at once, without a traceback."""
    frame: types.FrameType | None = sys._getframe()
    while frame is not None:
        file = frame.f_code.co_filename
        origin = _origin(file)
        if origin == "user":
            return _loc(file, frame.f_code, frame.f_lasti)
        if origin == "ours" and not file.startswith(HERE):
            return None  # a door of ours made the call
        frame = frame.f_back
    return None


def outermost_function(jaxpr: Any) -> str | None:
    """The name of the kernel code that was traced to a jaxpr, by its equations.

    An object that is called has the name of its class.
    """
    code = _outermost(jaxpr)
    if code is None:
        return None
    owner, _, name = code.co_qualname.rpartition(".")
    return owner.rpartition(".")[2] if owner and name == "__call__" else name


def _outermost(jaxpr: Any) -> types.CodeType | None:
    """The function of kernel code behind the first equation that has one."""
    for eqn in jaxpr.eqns:
        traceback = eqn.source_info.traceback
        codes = traceback.raw_frames()[0] if traceback else ()
        for code in reversed(codes):
            if _origin(code.co_filename) in KERNEL_CODE:
                return code
        for inner in privates.core.jaxprs_in_params(eqn.params):
            if code := _outermost(inner):
                return code
    return None


def _innermost(traceback: Any, shipped_too: bool) -> Loc | None:
    frames = _frames(traceback, shipped_too)
    return frames[0].loc if frames else None


@functools.lru_cache(maxsize=16384)
def _frames(traceback: Any, shipped_too: bool) -> tuple[Frame, ...]:
    if traceback is None:
        return ()
    found = list[Frame]()
    codes, offsets = traceback.raw_frames()
    for code, offset in zip(codes, offsets, strict=True):
        origin = _origin(code.co_filename)
        if origin == "ours":
            break  # what lies outside called the debugger, not the kernel
        if origin == "user" or (origin == "shipped" and shipped_too):
            # Python calls two code objects equal that differ in their file alone.
            loc = _loc(code.co_filename, code, offset)
            found.append(Frame(loc=loc, code=code, offset=offset))
    return tuple(found)


def is_earlier(frame: Frame, other: Frame) -> bool:
    """Whether a frame stands before another of its function, where no loop goes back.

    Then it is one of another call.
    """
    if frame.code is not other.code or frame.offset >= other.offset:
        return False
    return not any(
        target <= frame.offset and other.offset <= jump
        for target, jump in _loops(frame.code)
    )


@functools.lru_cache(maxsize=4096)
def _loops(code: types.CodeType) -> tuple[tuple[int, int], ...]:
    """The jumps back in a function: where to, and where from."""
    jumps = (i for i in dis.get_instructions(code) if "JUMP" in i.opname)
    pairs = ((i.argval, i.offset) for i in jumps if isinstance(i.argval, int))
    return tuple((target, jump) for target, jump in pairs if target < jump)


@functools.lru_cache(maxsize=4096)
def _origin(file: str) -> str:
    if file.startswith(OURS) and not file.startswith(GALLERY):
        return "ours"
    if SHIPPED in file:
        return "shipped"
    return "user" if privates.is_user_filename(file) else "library"


@functools.lru_cache(maxsize=16384)
def _loc(file: str, code: types.CodeType, offset: int) -> Loc:
    frame = privates.raw_frame_to_frame(code, offset)
    line, end_line = frame.start_line, frame.end_line
    shown = min(end_line, line + MAX_LINES - 1)
    return Loc(
        file=file,
        line=line,
        function=code.co_name,
        column=frame.start_column,
        end_line=end_line,
        text=source_text(file, line, shown),
    )


def defined_at(jaxpr: Any) -> Loc | None:
    """Where the function behind a jaxpr is written: the first line of its definition."""
    info = getattr(jaxpr, "debug_info", None)
    # JAX spells it "name at file:line".
    name, _, place = (getattr(info, "func_src_info", "") or "").rpartition(" at ")
    file, _, line = place.rpartition(":")
    if line.isdigit() and _origin(file) in KERNEL_CODE:
        return _definition(file, int(line), name)
    # `plgpu.kernel` traces a function of its own, which calls the user's.
    code = _outermost(jaxpr)
    if code is None:
        return None
    return _definition(code.co_filename, code.co_firstlineno, code.co_name)


def _definition(file: str, line: int, function: str) -> Loc:
    return Loc(file=file, line=line, function=function, text=source_text(file, line))


def as_shown(loc: Loc) -> Loc:
    """A place as a person knows it: a notebook's cell has a number, `In[3]`."""
    interactive = sys.modules.get("IPython")
    shell = interactive.get_ipython() if interactive else None
    cells = getattr(getattr(shell, "compile", None), "_filename_map", {})
    number = cells.get(loc.file)
    return loc if number is None else replace(loc, file=f"In[{number}]")

"""Names that the user's source gives a block's coordinates: `i = pl.program_id(0)`.

Where the grid's loop is part of the tape a coordinate is no instruction's result, so no
register has its name. Only names that a function binds once are taken.
"""

from __future__ import annotations

import ast
import textwrap
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from pallas_debug.ir.assignments import source_lines
from pallas_debug.ir.kernel import Kernel
from pallas_debug.ir.loc import Loc

CALLS = ("program_id", "num_programs")
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, kw_only=True)
class Coordinate:
    """A variable that a function sets to a block's coordinate or to a grid's size.

    Attributes:
      name: As the user wrote it.
      axis: Of the grid.
      is_size: Whether it is the grid's size.
      line: Where it is set.
      last: The function's last line.
    """

    name: str
    axis: int
    is_size: bool
    line: int
    last: int


@lru_cache(maxsize=32)
def coordinates(kernel: Kernel) -> dict[Loc, tuple[Coordinate, ...]]:
    """For each place of a kernel the coordinates that have a name there."""
    if not any(instr.op == "grid.next" for instr in kernel.tape):
        return {}
    hidden = kernel.facts.get("vmapped", ())
    axes = [d for d in range(len(kernel.grid.shape)) if d not in hidden]
    found: dict[Loc, tuple[Coordinate, ...]] = {}
    for loc in kernel.locs:
        lines = source_lines(loc.file)
        now = lines[loc.line - 1 : loc.line - 1 + len(loc.text.splitlines())]
        if textwrap.dedent("".join(now)).rstrip() != loc.text:
            continue  # the file says something else by now
        found[loc] = tuple(
            replace(one, axis=axes[one.axis])
            for one in _of_file(lines)
            if one.line < loc.line <= one.last and one.axis < len(axes)
        )
    return found


@lru_cache(maxsize=64)
def _of_file(lines: tuple[str, ...]) -> tuple[Coordinate, ...]:
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        return ()
    functions = [node for node in ast.walk(tree) if isinstance(node, Function)]
    return tuple(one for node in functions for one in _of_function(node))


def _of_function(function: Function) -> Iterator[Coordinate]:
    """What a function sets in its own block, once, and nothing inside it hides."""
    stored = (
        node.id if isinstance(node, ast.Name) else node.arg
        for node in ast.walk(function)
        if isinstance(node, ast.arg)
        or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    )
    times = Counter(stored)
    for node in function.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            for name, call in _pairs(target, node.value):
                axis = _axis(call)
                if axis is not None and times[name] == 1:
                    yield Coordinate(
                        name=name,
                        axis=axis,
                        is_size=_called(call) == "num_programs",
                        line=node.lineno,
                        last=function.end_lineno or node.lineno,
                    )


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, part in zip(target.elts, value.elts, strict=False):
            yield from _pairs(one, part)


def _called(call: ast.expr) -> str:
    function = call.func if isinstance(call, ast.Call) else None
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _axis(call: ast.expr) -> int | None:
    """The axis that a call asks about, None if it is no such call."""
    if not isinstance(call, ast.Call) or _called(call) not in CALLS:
        return None
    given = [*call.args, *(k.value for k in call.keywords if k.arg == "axis")]
    if len(given) != 1 or not isinstance(given[0], ast.Constant):
        return None
    axis = given[0].value
    return axis if type(axis) is int and axis >= 0 else None

"""What the user's source assigns at which place: the names behind expressions.

Reads Python with `ast`; knows nothing of kernels. A place is `(line, column)`, as Python
reports it for a running expression: where the expression begins.
"""

from __future__ import annotations

import ast
import bisect
import linecache
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

Place = tuple[int, int]
Names = tuple[str, ...]
LOOPS = {"fori_loop": 2, "while_loop": 1, "scan": 0, "loop": 0}  # place of the body
BODIES = ("body_fun", "f", "body")


@dataclass(frozen=True, kw_only=True)
class Loop:
    """A traced loop whose body is a function of the same file.

    Attributes:
      index: The counter's name, where the body is given one.
      carry: The parameter that takes what the loop carries; empty without one.
      parts: The names that the body unpacks it to.
      function: The body's name.
    """

    index: str
    carry: str
    parts: Names
    function: str


@dataclass(frozen=True, kw_only=True)
class Assignments:
    """One file.

    Attributes:
      lines: Its text.
      targets: Where an assigned expression begins: the names that its results get.
      loops: Where a call of a loop begins.
      starts, ends: The simple statements, sorted.
    """

    lines: tuple[str, ...]
    targets: dict[Place, Names] = field(default_factory=dict)
    loops: dict[Place, Loop] = field(default_factory=dict)
    starts: list[Place] = field(default_factory=list)
    ends: list[Place] = field(default_factory=list)

    def statement(self, place: Place) -> int:
        """Number of the simple statement at a place, -1 if there is none."""
        number = bisect.bisect_right(self.starts, place) - 1
        return number if number >= 0 and place < self.ends[number] else -1


def assignments(file: str) -> Assignments:
    """What a file assigns; empty where its source is not known or is no Python."""
    return _parsed(source_lines(file))


def source_lines(file: str) -> tuple[str, ...]:
    """The lines of a file, or of a notebook's cell such as `In[3]`."""
    found = linecache.getlines(file)
    if not found and (number := file.removeprefix("In[").rstrip("]")).isdigit():
        interactive = sys.modules.get("IPython")
        shell = interactive.get_ipython() if interactive else None
        cells = getattr(getattr(shell, "compile", None), "_filename_map", {})
        names = [name for name, cell in cells.items() if cell == int(number)]
        found = linecache.getlines(names[-1]) if names else []
    return tuple(found)


@lru_cache(maxsize=64)
def _parsed(lines: tuple[str, ...]) -> Assignments:
    found = Assignments(lines=lines)
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        return found
    _Reader(found).read(tree)
    order = sorted(zip(found.starts, found.ends, strict=True))
    found.starts[:] = [start for start, _ in order]
    found.ends[:] = [end for _, end in order]
    return found


def _place(node: Any) -> Place:
    return node.lineno, node.col_offset


def _end(node: Any) -> Place:
    return node.end_lineno, node.end_col_offset


def _is_simple(node: ast.AST) -> bool:
    """Whether a node is a statement that has no statements inside."""
    blocks = hasattr(node, "body") or hasattr(node, "cases")
    return isinstance(node, ast.stmt) and not blocks


class _Reader:
    """Walks a file with the functions around each node."""

    def __init__(self, found: Assignments) -> None:
        self.found = found

    def read(self, tree: ast.AST, around: tuple[ast.AST, ...] = ()) -> None:
        """Notes every statement, assignment and loop below a node."""
        around = (*around, tree) if _opens(tree) else around
        for node in ast.iter_child_nodes(tree):
            if _is_simple(node):
                self.found.starts.append(_place(node))
                self.found.ends.append(_end(node))
            for place, names in _assigned(node):
                self.found.targets.setdefault(place, names)
            self._loops(node, around)
            self.read(node, around)

    def _loops(self, node: ast.AST, around: tuple[ast.AST, ...]) -> None:
        if isinstance(node, ast.FunctionDef):
            for call in node.decorator_list:
                if isinstance(call, ast.Call) and _called(call) == "loop":
                    self.found.loops[_place(call)] = _loop("loop", node, node.name)
        if not isinstance(node, ast.Call):
            return
        if isinstance(node.func, ast.Call) and _called(node.func) == "loop":
            name, body = "loop", node.args[0] if node.args else None
        else:
            name = _called(node)
            if name not in LOOPS or name == "loop":
                return
            named = [k.value for k in node.keywords if k.arg in BODIES]
            body = [*node.args[LOOPS[name] :], *named][:1]
            body = body[0] if body else None
        if isinstance(body, ast.Call) and _called(body) == "partial" and body.args:
            return  # how many parameters are bound is not known here
        if isinstance(body, ast.Name):
            body = _function(body.id, around)
        if isinstance(body, ast.FunctionDef | ast.Lambda):
            function = getattr(body, "name", "<lambda>")
            self.found.loops[_place(node)] = _loop(name, body, function)


def _opens(node: ast.AST) -> bool:
    return isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)


def _called(call: ast.Call) -> str:
    """The last part of what is called."""
    function = call.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _function(name: str, around: tuple[ast.AST, ...]) -> ast.FunctionDef | None:
    """The function that a name means: of the innermost block that defines it."""
    for block in reversed(around):
        found = [
            node
            for node in _own(block)
            if isinstance(node, ast.FunctionDef) and node.name == name
        ]
        if found:
            return found[-1]
    return None


def _own(block: ast.AST) -> Iterator[ast.AST]:
    """Nodes of a block that belong to no function inside it."""
    for node in ast.iter_child_nodes(block):
        yield node
        if not _opens(node) and isinstance(node, ast.stmt):
            yield from _own(node)


def _loop(kind: str, body: ast.FunctionDef | ast.Lambda, function: str) -> Loop:
    parameters = [a.arg for a in (*body.args.posonlyargs, *body.args.args)]
    counted = kind in ("fori_loop", "loop")
    index = parameters.pop(0) if counted and parameters else ""
    carry = parameters[0] if parameters else ""
    parts: Names = ()
    for node in body.body if isinstance(body, ast.FunctionDef) else ():
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Name):
            continue
        if node.value.id == carry and isinstance(node.targets[0], ast.Tuple):
            parts = tuple(_leaves(node.targets[0]))
            break
    return Loop(index=index, carry=carry, parts=parts, function=function)


def _leaves(target: ast.expr) -> Iterator[str]:
    """The names of a nested target, empty for what is no name."""
    if isinstance(target, ast.Tuple | ast.List):
        for part in target.elts:
            yield from _leaves(part)
    else:
        yield target.id if isinstance(target, ast.Name) else ""


def _assigned(node: ast.AST) -> Iterator[tuple[Place, Names]]:
    """The expressions whose value a node gives a name, and the names."""
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        yield _place(node), (node.target.id,)  # Python reports the whole statement
    elif isinstance(node, ast.Assign):
        yield from _pairs(node.targets, node.value)
    elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
        yield from _pairs([node.target], node.value)


def _pairs(
    targets: Sequence[ast.expr], value: ast.expr
) -> Iterator[tuple[Place, Names]]:
    for target in targets:
        if isinstance(value, ast.IfExp):
            yield from _pairs([target], value.body)
            yield from _pairs([target], value.orelse)
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            if len(target.elts) == len(value.elts):
                for one, part in zip(target.elts, value.elts, strict=True):
                    yield from _pairs([one], part)
        elif any(names := tuple(_leaves(target))):
            yield _place(value), names

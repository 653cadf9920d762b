"""Names as JAX writes them, `refs[0]` and `ins['a']`, and the subscripts behind them."""

from __future__ import annotations

import ast
import re

from pallas_debug.session.variables import known_names
from pallas_debug.trace import Trace

SUBSCRIPT = re.compile(r"\s*([^\[\]]+?)\s*(\[.*\])?\s*")


def names_of(trace: Trace) -> frozenset[str]:
    """Every name that a variable of a trace may have."""
    found = trace.caches.get("names of variables")
    if found is None:
        kernels = {id(launch.kernel): launch.kernel for launch in trace.launches}
        found = frozenset(n for one in kernels.values() for n in known_names(one))
        trace.caches["names of variables"] = found
    return found


def split(trace: Trace, text: str) -> tuple[str, str | None]:
    """A variable's or a buffer's name, and the part behind it: the longest known name."""
    known = {*names_of(trace), *(row.name for row in trace.buffer_rows)}
    text = text.strip()
    ends = [len(text), *(i for i, sign in enumerate(text) if sign == "[")]
    for end in sorted(ends, reverse=True):
        if (name := text[:end].strip()) in known:
            return name, text[end:] or None
    found = SUBSCRIPT.fullmatch(text)
    return (found[1], found[2]) if found else (text, None)


class Joined(ast.NodeTransformer):
    """Makes each part of a parameter that is a name of its own one in an expression."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names

    def visit_Subscript(self, node: ast.Subscript | ast.Attribute) -> ast.AST:
        """The name, where it is one, else what is inside."""
        said = ast.unparse(node)
        if said not in self._names:
            return self.generic_visit(node)
        return ast.copy_location(ast.Name(id=said, ctx=node.ctx), node)

    visit_Attribute = visit_Subscript

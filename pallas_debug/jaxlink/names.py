"""Names of a kernel's arguments where JAX loses them: in wrappers, its own and the user's.

`plgpu.kernel` wraps the user's function in one scoped allocation; a user's `def f(*refs)`
hands its references on to the function that names them. Any traceback from within has
the code of both, and that its parameters.
"""

from __future__ import annotations

import dis
import inspect
import re
import types
from collections.abc import Iterator, Set
from typing import Any

from pallas_debug import ir
from pallas_debug.jaxlink import locations, privates

_CALL_WITH_STAR = dis.opmap["CALL_FUNCTION_EX"]
_STARRED = re.compile(r"\w+\[\d+\]")
_PLACE = re.compile(r"\w+\[(\d+)\](.*)")
_KEYWORD = re.compile(r"(\w+)\['(\w+)'\](.*)")


def of_wrapped(body: Any, count: int) -> tuple[list[str], list[str]]:
    """Names of the user's first `count` parameters, and of the scratch after them.

    Either is empty where JAX's own names are as good.
    """
    if len(body.eqns) != 1 or "jaxpr" not in body.eqns[0].params:
        return [], []
    inner = body.eqns[0].params["jaxpr"]
    code = _code(inner)
    if code is None:
        return [], []
    scratch = [str(name) for name in inner.debug_info.arg_names or ()]
    own = _parameters(code)
    star = _star(code)
    keywords = _keywords(scratch, code)
    starred = [name for name in scratch if _STARRED.fullmatch(name)]
    if star and len(starred) + len(keywords) == len(scratch):
        names = _handed_on(inner, code, count + len(starred), _roots(keywords))
        names = names or _with_star(own, star, _places(body, count), len(starred))
        return names[:count], names[count:] + keywords
    return _before({name.split("[")[0] for name in scratch}, own, count), []


def of_starred(body: Any, names: list[str]) -> list[str]:
    """Names of all references of a kernel; better ones for those of `*refs`."""
    if not any(map(_STARRED.fullmatch, names)):
        return names
    code = _code(body)
    if code is None or not _star(code):
        return names
    return _handed_on(body, code, len(names)) or names


def _keywords(scratch: list[str], code: types.CodeType) -> list[str]:
    """What a function takes as `**kwargs`, by the names it was given under."""
    if not code.co_flags & inspect.CO_VARKEYWORDS:
        return []
    starred = bool(code.co_flags & inspect.CO_VARARGS)
    own = code.co_varnames[code.co_argcount + code.co_kwonlyargcount + starred]
    found = [match for name in scratch if (match := _KEYWORD.fullmatch(name))]
    return [match[2] + match[3] for match in found if match[1] == own]


def _roots(keywords: list[str]) -> set[str]:
    return {re.split(r"[\[.]", name)[0] for name in keywords}


def _handed_on(
    jaxpr: Any, code: types.CodeType, count: int, keywords: Set[str] = frozenset()
) -> list[str]:
    """Parameters of the one function that gets all references, none if there is none."""
    called = {
        inner
        for inner in _called(jaxpr, code)
        if len([n for n in _taken(inner) if n not in keywords]) == count
        and keywords <= set(_taken(inner))
    }
    if len(called) != 1:
        return []
    return [n for n in _taken(called.pop()) if n not in keywords][:count]


def _places(body: Any, count: int) -> list[tuple[int, str]]:
    """The argument that each of the first references is of, and where in it."""
    names = list(body.debug_info.arg_names or ())[:count]
    found = [_PLACE.fullmatch(str(name)) for name in names]
    if len(found) < count or not all(found):
        return [(place, "") for place in range(count)]
    return [(int(match[1]), match[2]) for match in found if match]


def _with_star(
    own: list[str], star: str, places: list[tuple[int, str]], scratch: int
) -> list[str]:
    """Names of all references of `def f(a, *refs)`: arguments, and the scratch after them."""
    end = max((place for place, _ in places), default=-1) + 1
    known = [*own, *(f"{star}[{i}]" for i in range(end + scratch - len(own)))]
    return [known[place] + rest for place, rest in places] + known[end : end + scratch]


def _called(jaxpr: Any, code: types.CodeType) -> Iterator[types.CodeType]:
    """What a function calls as `f(*refs)`, as far as equations came of it."""
    for codes, offsets in _stacks(jaxpr):
        for inner, outer, at in zip(codes, codes[1:], offsets[1:], strict=False):
            if outer is code and code.co_code[at] == _CALL_WITH_STAR:
                yield inner


def _code(jaxpr: Any) -> types.CodeType | None:
    """The code of the user's function that a jaxpr was traced from."""
    place: ir.Loc | None = locations.defined_at(jaxpr)
    if place is None:
        return None
    for codes, _ in _stacks(jaxpr):
        for code in codes:
            if (code.co_filename, code.co_firstlineno) == (place.file, place.line):
                return code
    return None


def _taken(code: types.CodeType) -> tuple[str, ...]:
    """What may be given by name or place."""
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def _parameters(code: types.CodeType) -> list[str]:
    names = list(code.co_varnames[: code.co_argcount])
    return names[1:] if names[:1] == ["self"] else names


def _star(code: types.CodeType) -> str:
    """The name of `*refs`, empty without."""
    if not code.co_flags & inspect.CO_VARARGS:
        return ""
    return code.co_varnames[code.co_argcount + code.co_kwonlyargcount]


def _before(scratch: set[str], own: list[str], count: int) -> list[str]:
    """The `count` parameters that stand before the scratch; those bound are first.

    Fewer are there where arguments are packed in a tree.
    """
    places = [n for n, name in enumerate(own) if name in scratch]
    end = min(places, default=count)
    return own[end - count : end] if count <= end <= len(own) else []


def _stacks(jaxpr: Any) -> Iterator[tuple[Any, Any]]:
    """For each equation the codes that it came from, innermost first, and where in them."""
    for eqn in jaxpr.eqns:
        traceback = eqn.source_info.traceback
        if traceback is not None:
            yield traceback.raw_frames()
        for inner in privates.core.jaxprs_in_params(eqn.params):
            yield from _stacks(inner)

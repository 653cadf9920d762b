"""Expressions over the user's variables: the `when` of a breakpoint.

Compiled once, evaluated at candidate events only. A name that a thread does not hold at
an event makes the condition false there; a name that no kernel has is refused at once.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any

import numpy as np

from pallas_debug import errors
from pallas_debug.accepted import text
from pallas_debug.session.parts import Joined, names_of
from pallas_debug.session.replay import Moment, Replay
from pallas_debug.session.variables import contents, known_names, placed, visible
from pallas_debug.trace import Trace

ACCEPTED = "a Python expression over variables, such as `acc.max() > 3`"
NOTHING_HERE = "`block`, `event`, `thread` or `value`; no variable has a value here"


@dataclass(frozen=True, kw_only=True)
class Expression:
    """A compiled expression.

    Attributes:
      text: As it was written.
      code: Compiled.
      names: Those that it asks for.
    """

    text: str
    code: CodeType
    names: frozenset[str]


def expression(trace: Trace, written: Any, option: str = "when") -> Expression:
    """Compiles an expression over variables of a trace; refused if it is none."""
    parts = (name for name in names_of(trace) if not name.isidentifier())
    return _compiled(text(option, written, ACCEPTED), option, frozenset(parts))


@lru_cache(maxsize=64)
def _compiled(text: str, option: str, parts: frozenset[str]) -> Expression:
    try:
        tree = ast.parse(text.strip(), mode="eval")
        tree = Joined(parts).visit(tree) if parts else tree
        code = compile(tree, "<when>", "eval")
    except (SyntaxError, ValueError, RecursionError) as error:
        said = getattr(error, "msg", str(error))
        raise errors.BadOption(
            option=option, value=text, accepted=f"{ACCEPTED} ({said})"
        ) from None
    loaded = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    bound = {node.id for node in loaded if isinstance(node.ctx, ast.Store)}
    bound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    names = {node.id for node in loaded} - bound - set(vars(builtins)) - {"np"}
    return Expression(text=text, code=code, names=frozenset(names))


def refuse_unknown(
    trace: Trace,
    one: Expression,
    option: str = "when",
    here: Callable[[], Iterable[str]] | None = None,
) -> None:
    """Raises for a name that no kernel of the trace has.

    With `here`, which names what has a value at one place, only that is offered.
    """
    known = names_of(trace)
    for name in sorted(one.names - known - set(facts(trace, 0) if len(trace) else ())):
        offered = tuple(sorted(known if here is None else here())) or NOTHING_HERE
        raise errors.BadOption(option=option, value=name, accepted=offered)


def facts(trace: Trace, event: int) -> dict[str, Any]:
    """What is known at an event beside the variables, by name."""
    row = trace[event]
    return {
        "block": row.block,
        "thread": row.thread.number,
        "event": event,
        "value": row.value,
    }


def evaluate(
    trace: Trace, one: Expression, values: Mapping[str, Any], event: int
) -> Any:
    """The value of an expression at an event."""
    known = {"np": np, **facts(trace, event), **values}
    try:
        with np.errstate(all="ignore"):
            # One namespace: a comprehension inside does not see local names.
            return eval(one.code, known)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        if isinstance(error, NameError) and error.name in one.names:
            said = f"NameError: `{error.name}` has no value here"
        raise errors.ExpressionFailed(
            expression=one.text, error=said, event=event, loc=trace[event].loc
        ) from None


def is_true(value: Any) -> bool:
    """An array is true if any of its elements is."""
    return bool(np.any(value))


def holding(
    trace: Trace, replay: Replay, text: str, events: Sequence[int]
) -> Iterator[bool]:
    """For rising events whether an expression is true for each one's thread."""
    one = expression(trace, text)
    wanted = one.names & names_of(trace)
    if not wanted:
        for event in events:
            yield is_true(evaluate(trace, one, {}, event))
        return
    launches = trace.columns.launch[list(events)]
    for launch in dict.fromkeys(launches.tolist()):
        mine = [
            e for e, la in zip(events, launches.tolist(), strict=True) if la == launch
        ]
        for event, moment in zip(mine, replay.moments(mine), strict=True):
            values = _values(trace, replay, event, moment, wanted)
            yield values is not None and is_true(evaluate(trace, one, values, event))


def _values(
    trace: Trace, replay: Replay, event: int, moment: Moment, wanted: frozenset[str]
) -> dict[str, Any] | None:
    """The wanted variables; None if the thread does not hold them all."""
    kernel, thread = trace[event].launch.kernel, int(trace.columns.thread[event])
    places = placed(trace, moment.pc, thread, event + 1)
    if not wanted <= {*visible(kernel, moment), *places}:
        if not wanted <= known_names(kernel) | set(facts(trace, event)):
            return None
        moment = replay.moment(event, thread)
    found: dict[str, Any] = {n: v for n, v in places.items() if n in wanted}
    for name, binding in visible(kernel, moment).items():
        if name in wanted:
            value = moment.registers[binding.register]
            if binding.is_ref:
                value = contents(trace, value, event + 1, replay)
            found[name] = value
    given = facts(trace, event)
    return found if wanted <= {*found, *given} else None

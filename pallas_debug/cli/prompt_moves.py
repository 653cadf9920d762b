"""Commands of the prompt that move, and those that stop a move."""

from __future__ import annotations

import ast
from typing import Any

from pallas_debug import errors
from pallas_debug.cli.prompt_table import command
from pallas_debug.cli.prompt_words import (
    integer,
    literals,
    nothing,
    part,
    split_if,
    where_of,
)


def _move(name: str, letters: str) -> None:
    """A command that takes nothing and answers with a stop."""

    def run(prompt: Any, rest: str) -> str:
        nothing(name, rest)
        return str(getattr(prompt.session, name)())

    run.__doc__ = _help_of(name)
    command(name.rstrip("_"), letters)(run)


def _help_of(name: str) -> str:
    from pallas_debug import Session

    return getattr(Session, name).__doc__ or ""


def _several(name: str, letters: str) -> None:
    """A move by a number of events."""

    def run(prompt: Any, rest: str) -> str:
        count = integer(name, rest) if rest else 1
        return str(getattr(prompt.session, name)(count))

    run.__doc__ = _help_of(name)
    command(name, letters, "[COUNT]")(run)


_several("step", "n s")
_several("back", "N p")
for _name, _letters in (
    ("next_line", "l"),
    ("prev_line", "L"),
    ("next_thread", "t"),
    ("prev_thread", "T"),
    ("next_block", "b"),
    ("prev_block", "B"),
    ("next_buffer", "m"),
    ("prev_buffer", "M"),
    ("over", "o"),
    ("over_back", "O"),
    ("out", "u"),
    ("out_back", "U"),
    ("continue_", "c continue_"),
    ("reverse_continue", "C rc"),
    ("next_finding", "f"),
    ("prev_finding", "F"),
    ("first", ""),
    ("last", ""),
):
    _move(_name, _letters)


@command("record_more", "", "[EVENTS]")
def record_more(prompt: Any, rest: str) -> str:
    """Records on where the recording was cut by a limit or by Ctrl-C."""
    count = integer("record_more", rest) if rest else None
    return str(prompt.session.record_more(count))


@command("jump", "j run_to", "EVENT")
def jump(prompt: Any, rest: str) -> str:
    """To an event, by its number."""
    return str(prompt.session.jump(integer("jump", rest)))


@command("last_write", "w", "BUFFER[INDICES]")
def last_write(prompt: Any, rest: str) -> str:
    """To the event that last set an element: `last_write acc[0, 1]`."""
    name, place = part(prompt, rest)
    try:
        element = ast.literal_eval(place or "[]")
    except (SyntaxError, ValueError):
        raise errors.BadOption(
            option="element", value=place, accepted="indices such as [0, 1]"
        ) from None
    return str(prompt.session.last_write(name, element))


@command("focus", "", "[thread=… block=… device=… buffer=…]")
def focus(prompt: Any, rest: str) -> str:
    """Looks at a thread, a block, a device or a buffer; the cursor stays."""
    given = literals(rest)
    known = ("thread", "block", "device", "buffer")
    for name in given:
        if name not in known:
            raise errors.BadOption(option="focus", value=name, accepted=known)
    prompt.session.focus(**given)
    return str(prompt.session)


@command("break", "break_at", "CONDITIONS [if EXPRESSION]")
def break_at(prompt: Any, rest: str) -> str:
    """Stops at events: `break line=41, block=(0, 0) if acc.max() > 3`, `break 41`."""
    where, when = where_of(rest)
    return f"breakpoint {prompt.session.break_at(when=when, **where)}"


@command("watch", "", "BUFFER[REGION] [on write|read|change] [if EXPRESSION]")
def watch(prompt: Any, rest: str) -> str:
    """Stops where a part of a buffer is touched: `watch acc[0:4, 2] on change`."""
    text, when = split_if(rest)
    place, _, on = text.partition(" on ")
    name, box = part(prompt, place)
    made = prompt.session.watch(name, box, on=on.strip() or "write", when=when)
    return f"watchpoint {made}"


def _listed(name: str) -> None:
    def run(prompt: Any, rest: str) -> str:
        number = None if rest in ("", "all") else integer(name, rest)
        getattr(prompt.session, name)(number)
        return breakpoints(prompt, "")

    run.__doc__ = _help_of(name)
    command(name, "", "[NUMBER]")(run)


@command("breakpoints", "bl")
def breakpoints(prompt: Any, rest: str) -> str:
    """Lists the breakpoints and watchpoints."""
    return "\n".join(map(str, prompt.session.breakpoints)) or "no breakpoints"


for _name in ("delete", "enable", "disable"):
    _listed(_name)

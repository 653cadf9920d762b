"""The commands of the prompt that look, and that make other runs; all are in COMMANDS."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pallas_debug import errors, views
from pallas_debug.cli import prompt_moves as prompt_moves  # adds its commands first
from pallas_debug.cli.prompt_table import ALIASES, COMMANDS, Quit, command
from pallas_debug.cli.prompt_words import integer, nothing, part, value_of, where_of
from pallas_debug.session.breakpoints import CONDITIONS

MOST_EVENTS = 20


@command("locals", "v")
def variables(prompt: Any, rest: str) -> str:
    """The variables of the focused thread; `*` marks what has changed."""
    nothing("locals", rest)
    return repr(prompt.session.locals)


@command("print", "e", "EXPRESSION")
def evaluate(prompt: Any, rest: str) -> str:
    """The value of a Python expression over the variables here."""
    return str(prompt.session.evaluate(rest))


@command("where", "bt", "[all]")
def where(prompt: Any, rest: str) -> str:
    """The scopes around the focused thread with their source lines, or all threads'."""
    if rest not in ("", "all"):
        accepted = "nothing, or all: every thread"
        raise errors.BadOption(option="where", value=rest, accepted=accepted)
    return repr(prompt.session.where(all=rest == "all"))


@command("list", "", "[LINES]")
def listing(prompt: Any, rest: str) -> str:
    """The source around the current line."""
    around = integer("list", rest) if rest else 6
    return prompt.session.source(around) or "no source is known here"


@command("threads")
def threads(prompt: Any, rest: str) -> str:
    """Position, source, and what the threads do."""
    return str(prompt.session)


@command("memory", "x", "BUFFER[REGION]")
def memory(prompt: Any, rest: str) -> str:
    """What a buffer holds here, and how much of it is set."""
    name, box = part(prompt, rest)
    return prompt.session.contents(name, box)


@command("origin", "", "[EVENT or NAME]")
def origin(prompt: Any, rest: str) -> str:
    """Where a value came from: of the current event, another one, or a variable."""
    what = integer("origin", rest) if rest.lstrip("#").isdigit() else rest or None
    return str(prompt.session.origin(what))


@command("find", "", "CONDITIONS")
def find(prompt: Any, rest: str) -> str:
    """The events that meet conditions: `find kind="write", buffer="acc"`."""
    session = prompt.session
    found = session.find(**where_of(rest)[0]).tolist()
    lines = [repr(session.trace[event]) for event in found[:MOST_EVENTS]]
    if len(found) > MOST_EVENTS:
        lines.append(f"… {len(found) - MOST_EVENTS:,} more")
    return "\n".join(lines) or "no such event"


@command("findings")
def findings(prompt: Any, rest: str) -> str:
    """What the checks say."""
    return views.findings(prompt.session.judged(), trace=prompt.session.trace)


@command("divert", "", "NAME[REGION] = VALUE")
def divert(prompt: Any, rest: str) -> str:
    """Another run, in which something has another value: `divert acc[0] = 1`."""
    name, sign, value = rest.partition("=")
    if not sign:
        raise errors.BadOption(
            option="divert", value=rest, accepted="a name, `=` and a value"
        )
    made = prompt.session.divert(name.strip(), value_of(value.strip()))
    return f"{made!r}\n`open {made.number}` goes there"


@command("interleave", "", "SEED")
def interleave(prompt: Any, rest: str) -> str:
    """Another run, in which threads take turns at random."""
    made = prompt.session.interleave(integer("interleave", rest))
    return f"{made!r}\n`open {made.number}` goes there"


@command("replay", "", "FINDING")
def replay(prompt: Any, rest: str) -> str:
    """Another run, under the schedule that a finding carries; findings count from 0."""
    made = prompt.session.replay(integer("replay", rest))
    return f"{made!r}\n`open {made.number}` goes there"


@command("runs")
def runs(prompt: Any, rest: str) -> str:
    """Lists the other runs."""
    return "\n".join(map(repr, prompt.opened[0].runs)) or "no other run"


@command("open", "", "RUN")
def opened(prompt: Any, rest: str) -> str:
    """Goes to another run; `open 0` comes back to the recording."""
    number, main = integer("open", rest), prompt.opened[0]
    prompt.session = main if number == 0 else main.open(number)
    return str(prompt.session)


@command("save", "", "PATH")
def save(prompt: Any, rest: str) -> str:
    """Writes the trace to a file."""
    if not rest:
        raise errors.BadOption(option="save", value=rest, accepted="a path")
    prompt.session.trace.save(rest)
    return f"saved to {rest}"


@command("help", "h ?", "[COMMAND]")
def shown(prompt: Any, rest: str) -> str:
    """Lists the commands, or says what one does."""
    if rest:
        name = ALIASES.get(rest, rest)
        prompt.command(name)
        chosen = {name: COMMANDS[name]}
    else:
        chosen = COMMANDS
    lines: list[tuple[str, str, str]] = []
    for name, one in chosen.items():
        lines.append((f"{name} {one.usage}".strip(), one.letter, one.help))
    widths = [max(len(row[i]) for row in lines) for i in range(2)]
    return "\n".join(
        f"{row[0]:<{min(widths[0], 30)}}  {row[1]:<{widths[1]}}  {row[2]}"
        for row in lines
    )


@command("quit", "q exit")
def leave(prompt: Any, rest: str) -> str:
    """Leaves."""
    raise Quit


def completions(prompt: Any, name: str) -> Iterable[str]:
    """Words that may follow a command."""
    session = prompt.session
    if name in ("break", "find"):
        yield from (f"{word}=" for word in CONDITIONS)
    if name in ("break", "find", "watch", "last_write", "memory", "divert", "focus"):
        yield from dict.fromkeys(row.name for row in session.trace.buffer_rows)
    if name == "focus":
        yield from ("thread=", "block=", "device=", "buffer=")
    if name in ("print", "origin", "divert"):
        yield from session.locals
    if name == "help":
        yield from COMMANDS

"""Explain a code such as PD101, or list all codes."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Iterator

from pallas_debug import checks, errors
from pallas_debug.cli import codes, output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    output.add_json(parser)
    parser.add_argument(
        "code", nargs="?", help="a code (PD101) or a check's name (deadlock)"
    )


def pages() -> dict[str, tuple[str, str]]:
    """For each code its name and its page: the docstring of the check or error."""
    found = {kind.code: (kind.__name__, _page(kind)) for kind in _errors()}
    found |= {code: (one.name, one.doc) for code, one in checks.CHECKS.items()}
    return dict(sorted(found.items()))


def _errors(
    kind: type[errors.PallasDebugError] = errors.PallasDebugError,
) -> Iterator[type[errors.PallasDebugError]]:
    for child in kind.__subclasses__():
        yield child
        yield from _errors(child)


def _page(kind: type[errors.PallasDebugError]) -> str:
    # What comes after is for those who raise it.
    said = (inspect.getdoc(kind) or "").partition("Data:")[0].strip()
    lines = [f"{kind.code} {kind.__name__}: {said}", ""]
    lines += [f"    {kind.what}"] + [f"    try: {kind.hint}"] * bool(kind.hint)
    return "\n".join(lines)


def run(arguments: argparse.Namespace) -> int:
    """Prints the documentation of a code, or the list of codes."""
    known = pages()
    if arguments.code is None:
        listed = [_titled(code, *known[code]) for code in known]
        lines = [f"{one['code']}  {one['title']}" for one in listed]
        output.say("\n".join(lines), {"codes": listed}, arguments)
        return codes.CLEAN
    wanted = arguments.code
    by_name = {name: code for code, (name, _) in known.items()}
    code = by_name.get(wanted, wanted.upper())
    if code not in known:
        raise _unknown(wanted, [*known, *by_name])
    name, page = known[code]
    output.say(page, _titled(code, name, page) | {"page": page}, arguments)
    return codes.CLEAN


def _unknown(wanted: str, known: list[str]) -> errors.PallasDebugError:
    """What is wrong with a code; letters alone are near to no number."""
    of_numbers = any(letter.isdigit() for letter in wanted)
    near = errors.nearest(wanted, [w for w in known if of_numbers or w[-1].isalpha()])
    if near:
        return errors.UnknownEntry(noun="check", key=wanted, known=near)
    accepted = "a code (PD101) or a check's name; `pallas-debug explain` lists them"
    return errors.BadOption(option="code", value=wanted, accepted=accepted)


def _titled(code: str, name: str, page: str) -> dict[str, str]:
    head = page.partition("\n")[0].removeprefix(code).strip()
    return {"code": code, "name": name, "title": head or name}

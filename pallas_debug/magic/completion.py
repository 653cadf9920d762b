"""Tab behind `%pallas_debug` and `%%pallas_debug`: options, and the words they take."""

from __future__ import annotations

import argparse
from typing import Any

from IPython.core.error import TryNext

from pallas_debug.session.known import words_of


class Completer:
    """What may follow on the magic's line; the rest is left to the shell.

    Args:
      parser: That of the magic.
    """

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self.actions = {
            flag: action for action in parser._actions for flag in action.option_strings
        }

    def __call__(self, shell: Any, event: Any) -> list[str]:
        """The words for IPython's `complete_command`."""
        symbol = event.symbol
        before = event.text_until_cursor.split()
        if symbol and before[-1:] == [symbol]:
            before.pop()
        action = self.actions.get(before[-1]) if before else None
        if action is not None and action.nargs != 0:
            words = tuple(action.choices or words_of(action.dest))
        elif symbol.startswith("-"):
            words = tuple(self.actions)
        elif symbol and not event.line.startswith("%%"):
            return _names(shell.Completer, symbol)
        else:
            words = ()
        if not words:
            raise TryNext
        return [word for word in words if word.startswith(symbol)]


def _names(completer: Any, symbol: str) -> list[str]:
    """Names of the user's that an expression may go on with; Jedi reads no magic's line."""
    find = completer.attr_matches if "." in symbol else completer.global_matches
    return list(find(symbol))

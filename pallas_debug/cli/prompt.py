"""A pdb-like prompt over a session: the viewer's commands, by name and by letter."""

from __future__ import annotations

import cmd
import contextlib
from collections.abc import Iterable

from pallas_debug import Session, errors
from pallas_debug.cli import codes, style
from pallas_debug.cli.prompt_commands import completions
from pallas_debug.cli.prompt_history import remembered
from pallas_debug.cli.prompt_table import ALIASES, COMMANDS, PDB, Quit

INTRO = "`help` lists the commands; an empty line repeats the last one"


class Prompt(cmd.Cmd):
    """Reads commands, runs them on a session, prints what they say.

    Attributes:
      session: The one that commands are about; `open RUN` puts another one here.
      interactive: Whether a person sits in front of it.
      failed: Whether some command was refused.
    """

    prompt = "(pallas-debug) "

    def __init__(self, session: Session, *, interactive: bool = True) -> None:
        super().__init__()
        self.session = session
        self.opened = [session]
        self.interactive = interactive
        self.failed = False
        self.intro = INTRO if interactive else None
        if not interactive:
            self.prompt = ""
        self.identchars += "-"

    def run(self) -> None:
        """Reads commands until the input or the user ends it; Ctrl-C does not."""
        with remembered() if self.interactive else contextlib.nullcontext():
            self._loop()

    def _loop(self) -> None:
        while True:
            try:
                self.cmdloop()
                return
            except KeyboardInterrupt:
                self.intro = None
                self.say("interrupted; `quit` leaves")

    def say(self, text: str) -> None:
        """Prints what a command says."""
        print(style.painted(text, self.stdout), file=self.stdout, flush=True)

    def onecmd(self, line: str) -> bool:
        """Runs one line; whether that was the last one."""
        if line == "EOF":  # what `cmd` says at the end of the input
            if self.interactive:
                self.say("")
            return True
        line = line.strip()
        if not line:
            return self.emptyline()
        if line[0] == "?":
            line = f"help {line[1:]}"
        name, rest = self.split(line)
        name = _meant(name, rest)
        if name != "quit":
            self.lastcmd = line
        try:
            said = self.command(name)(self, rest)
        except Quit:
            return True
        except KeyboardInterrupt:
            self.say("interrupted; the session is where it was")
        except errors.PallasDebugError as error:
            self.failed = True
            self.say(f"* {error.message}")
            if error.next_step:
                self.say(f"  try: {error.next_step}")
        except Exception as error:  # a fault of ours must not end the session
            self.failed = True
            codes.show(error)
        else:
            if said:
                self.say(said)
        return False

    def command(self, name: str):  # type: ignore[no-untyped-def]
        """The command of a name or an alias; refused with the nearest names."""
        found = COMMANDS.get(ALIASES.get(name, name.replace("-", "_")))
        if found is None:
            raise errors.UnknownEntry(noun="command", key=name, known=tuple(COMMANDS))
        return found.run

    @staticmethod
    def split(line: str) -> tuple[str, str]:
        """A line as a command and the rest."""
        name, _, rest = line.strip().partition(" ")
        return name.removesuffix("()"), rest.strip()

    def completenames(self, text: str, *ignored: object) -> list[str]:
        """Names of commands that begin so."""
        begun = text.replace("-", "_")
        return sorted(name for name in COMMANDS if name.startswith(begun))

    def completedefault(self, *ignored: object) -> list[str]:
        """What may follow a command: conditions, buffers, variables."""
        text, line = str(ignored[0]), str(ignored[1])
        name = self.split(line)[0]
        known: Iterable[str] = completions(
            self, PDB.get(name) or ALIASES.get(name, name)
        )
        return sorted(one for one in known if one.startswith(text))

    def do_help(self, arg: str) -> None:
        """Kept for `cmd`; the command `help` is in the table."""
        self.onecmd(f"help {arg}")


def _meant(name: str, rest: str) -> str:
    """A letter's meaning in pdb where words follow that the viewer's does not take."""
    takes_count = name == "p" and rest.replace(",", "").isdigit()
    return PDB[name] if name in PDB and rest and not takes_count else name

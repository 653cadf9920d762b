"""The magics themselves. Imported by `load_ipython_extension` only."""

from __future__ import annotations

import ast
import functools
import keyword
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import (
    Magics,
    line_cell_magic,
    line_magic,
    magics_class,
    needs_local_scope,
    no_var_expand,
)
from IPython.core.magic_arguments import (
    argument,
    magic_arguments,
    parse_argstring,
)
from IPython.display import display

import pallas_debug
from pallas_debug import arguments, errors, tracebacks, views
from pallas_debug.magic import cells
from pallas_debug.magic.completion import Completer
from pallas_debug.magic.display import opened, showing_itself, shown

LINE_SIGNS = ("%", "%%")
_HELP = f"(%{cells.NAME}? lists the options)"

# Errors that are shown in our way: our own, a user's stop, and what JAX makes of it.
SHOWN = (errors.PallasDebugError, RuntimeError, KeyboardInterrupt)


def _all_options(function: Any) -> Any:
    """Decorates a magic with the options of a recording and with its own."""
    own = [
        argument("-o", "--output", metavar="NAME", help="bind the trace to this name"),
        argument(
            "-s",
            "--session",
            metavar="NAME",
            help="bind a debugger's session over the trace to this name",
        ),
        argument("-q", "--quiet", action="store_true", help="show nothing"),
        argument(
            "--jax",
            action="store_true",
            help="show only what JAX itself would refuse",
        ),
        argument(
            "--static",
            action="store_true",
            help="show the viewer as a page of its own, which stays when the kernel ends",
        ),
        argument("--text", action="store_true", help="show the summary as plain text"),
    ]
    shared: list[Any] = []
    arguments.add_to(lambda *flags, **kw: shared.append(argument(*flags, **kw)))
    for decorate in reversed([*own, *shared]):
        function = decorate(function)
    return function


@magics_class
class PallasDebugMagics(Magics):
    """`%pallas_debug` and `%%pallas_debug` of one shell."""

    shell: Any

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self.recorder = cells.CellRecorder(self._finish)
        self.transformer = cells.CellTransformer(
            self.accepts, lambda cell: shell.transform_cell(cell)
        )

    @no_var_expand
    @needs_local_scope
    @line_cell_magic
    @magic_arguments()
    @_all_options
    def pallas_debug(
        self, line: str, cell: str | None = None, local_ns: Any = None
    ) -> Any:
        """Records every Pallas kernel that the code launches, and shows what it did.

        `%%pallas_debug [options]` on top of a cell runs the cell as it is.
        `%pallas_debug [options] expression` runs one expression, returns the trace.
        """
        __tracebackhide__ = True
        if cell is not None:
            self._parsed(line)
            # Comes here only when called by name: a typed cell is transformed before.
            self.shell.run_cell(
                f"%%{cells.NAME} {line}\n{cell}", store_history=False
            ).raise_error()
            return None
        decorated: Any = self.pallas_debug  # `magic_arguments` gave it a parser
        options, code = cells.split(line, decorated.parser)
        parsed = self._parsed(options)
        if not code:
            raise UsageError(
                f"nothing to run: %pallas_debug [options] expression {_HELP}"
            )
        if behind := cells.options_behind(code, decorated.parser):
            words = " ".join(filter(None, [options.strip(), behind[1], behind[0]]))
            raise UsageError(
                f"options stand before the expression: %{cells.NAME} {words}"
            )
        return self._expression(self._compiled(code), parsed, local_ns)

    @no_var_expand
    @line_magic
    def pallas_debug_begin(self, line: str) -> None:
        """Opens the recording of a cell; `%%pallas_debug` puts it in the first line."""
        __tracebackhide__ = True
        parsed = self._parsed(line)
        recording = pallas_debug.recording(options=self._options(parsed))
        try:
            self.recorder.begin(recording, parsed)
        except errors.BadOption as error:
            raise UsageError(error.render()) from None

    def accepts(self, options: str) -> bool:
        """Whether an options line is right."""
        try:
            self._options(self._parsed(options))
        except (UsageError, errors.PallasDebugError):
            return False
        return True

    def _parsed(self, line: str) -> Any:
        __tracebackhide__ = True
        try:
            parsed = parse_argstring(self.pallas_debug, line)
        except UsageError as error:
            raise UsageError(f"{error} {_HELP}") from None
        for flag, name in (("-o", parsed.output), ("-s", parsed.session)):
            if name and not name.isidentifier():
                raise UsageError(f"{flag} {name}: not a name")
            if name and keyword.iskeyword(name):
                raise UsageError(f"{flag} {name}: a word of Python, not a name")
        if parsed.output and parsed.output == parsed.session:
            raise UsageError(f"-o and -s {parsed.session}: two names, please")
        self._options(parsed)
        return parsed

    def _options(self, parsed: Any) -> Any:
        __tracebackhide__ = True
        try:
            return arguments.options(parsed)
        except errors.BadOption as error:
            raise UsageError(error.render()) from None

    def _compiled(self, code: str) -> Any:
        """An expression of the running cell, at its own line where that is known."""
        __tracebackhide__ = True
        file, line = cells.running_line(self.shell)
        try:
            tree = ast.parse(code, file, "eval")
        except SyntaxError:
            raise UsageError(
                f"`{code}` is not an expression: statements stand under "
                f"%%{cells.NAME} {_HELP}"
            ) from None
        return compile(ast.increment_lineno(tree, line - 1), file, "eval")

    def _expression(self, compiled: Any, parsed: Any, local_ns: Any) -> Any:
        __tracebackhide__ = True
        recording = pallas_debug.recording(options=self._options(parsed))
        made: Any = None
        try:
            with recording as made:
                made.outputs = eval(compiled, self.shell.user_ns, local_ns)
        except errors.BadOption as error:
            raise UsageError(error.render()) from None
        except BaseException as error:
            if made is not None and made.trace.launches:
                self._bind(made.trace, parsed)
                self._show(made.trace, parsed)
            raise tracebacks.trim(error) from error.__cause__
        trace = made.trace
        self._bind(trace, parsed)
        # A returned trace is displayed by the shell, where it is the cell's value.
        if parsed.jax or parsed.quiet or not trace.launches:
            self._show(trace, parsed)
            return None if cells.is_statement(self.shell) else trace
        return showing_itself(trace, self.shell, **self._looks(parsed))

    def _finish(self, recording: Any, parsed: Any, error: Any, stopped: Any) -> None:
        """Binds and shows what a cell recorded, once.

        Args:
          recording: The closed recording.
          parsed: The options of the magic.
          error: What ended the cell; the shell has shown it.
          stopped: What stopped the recording beside that.
        """
        trace = recording.trace
        self._bind(trace, parsed)
        if stopped is not None:
            self._show_error(stopped)
        if trace.launches or (error is None and stopped is None):
            self._show(trace, parsed)

    def _show_error(self, error: BaseException) -> None:
        """Shows why the recording stopped."""
        if isinstance(error, errors.PallasDebugError):
            print(error.render())
        else:
            tracebacks.trim(error)
            self.shell.showtraceback((type(error), error, error.__traceback__))

    def _show(self, trace: Any, parsed: Any) -> None:
        if parsed.quiet:
            return
        if not trace.launches:
            print(errors.NoLaunch(function=f"%{cells.NAME}").render())
        elif parsed.jax:
            report = pallas_debug.check(trace)
            print(views.findings(report, views.REFUSALS, trace))
        else:
            display(shown(trace, self.shell, **self._looks(parsed)))

    def _looks(self, parsed: Any) -> dict[str, Any]:
        """How the options want a trace to be shown."""
        session = self.shell.user_ns.get(parsed.session)
        return {"session": session, "static": parsed.static, "text": parsed.text}

    def _bind(self, trace: Any, parsed: Any) -> None:
        if parsed.output:
            self.shell.user_ns[parsed.output] = trace
        if parsed.session:
            self.shell.user_ns[parsed.session] = opened(trace)


def _show_trimmed(
    recorder: cells.CellRecorder,
    shell: Any,
    kind: Any,
    error: Any,
    traceback: Any,
    tb_offset: Any = None,
) -> None:
    """Shows an error without our frames; not what JAX says of a stopped recording."""
    if recorder.stopped(error):
        return  # why it stopped is shown when the cell has ended
    if isinstance(error, errors.PallasDebugError | KeyboardInterrupt):
        tracebacks.trim(error)
    shell.showtraceback(
        (kind, error, error.__traceback__),
        tb_offset=tb_offset,
        running_compiled_code=True,
    )


def register(shell: Any) -> None:
    """Gives `shell` the magics, the display of our types, and short tracebacks."""
    if PallasDebugMagics.__name__ in shell.magics_manager.registry:
        return
    magics = PallasDebugMagics(shell)
    shell.register_magics(magics)
    # In front of the shell's own handling of `%%`.
    shell.input_transformer_manager.line_transforms.insert(0, magics.transformer)
    decorated: Any = magics.pallas_debug
    for sign in LINE_SIGNS:
        completer = Completer(decorated.parser)
        shell.set_hook("complete_command", completer, str_key=f"{sign}{cells.NAME}")
    shell.events.register("pre_run_cell", magics.recorder.cell_begins)
    shell.events.register("post_run_cell", magics.recorder.cell_ends)
    if not shell.custom_exceptions:  # the user's own handler stays
        shell.set_custom_exc(SHOWN, functools.partial(_show_trimmed, magics.recorder))


def unregister(shell: Any) -> None:
    """Undoes `register`."""
    magics = shell.magics_manager.registry.pop(PallasDebugMagics.__name__, None)
    if magics is None:
        return
    magics.recorder.close()
    shell.input_transformer_manager.line_transforms.remove(magics.transformer)
    shell.events.unregister("pre_run_cell", magics.recorder.cell_begins)
    shell.events.unregister("post_run_cell", magics.recorder.cell_ends)
    for sign in LINE_SIGNS:
        shell.strdispatchers["complete_command"].strs.pop(f"{sign}{cells.NAME}", None)
    for name in (cells.NAME, cells.OPENER):
        for kind in ("line", "cell"):
            shell.magics_manager.magics[kind].pop(name, None)
    if shell.custom_exceptions == SHOWN:
        shell.set_custom_exc((), None)

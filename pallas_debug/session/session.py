"""The session: a cursor over a recording, breakpoints, values, and other runs of it.

The one thing in the package that changes. It moves and remembers; what it answers comes
from pure functions of the trace, and from executing the launch again.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from pallas_debug import errors
from pallas_debug.accepted import whole
from pallas_debug.checks import Finding
from pallas_debug.machine.options import Options
from pallas_debug.session import attaching, display, diversion, parts, witness
from pallas_debug.session.diversion import Diversion, Edit
from pallas_debug.session.looking import Looking
from pallas_debug.session.variables import visible
from pallas_debug.trace import Trace, boxes, fold

Class = TypeVar("Class", bound=type[Any])  # the decorated class keeps its type
NO_FINDINGS = (
    "none: the checks found nothing; "
    "interleave(seed) runs another schedule all the same"
)


def _one_class(cls: Class) -> Class:
    """Has a wrong call of a method say `Session.break_at`, whichever file it is in."""
    for base in cls.__mro__[1:-1]:
        for name, member in vars(base).items():
            if inspect.isfunction(member):
                member.__qualname__ = f"{cls.__name__}.{name}"
    return cls


@_one_class
class Session(Looking):
    """A debugger's session over a recorded run.

    Every command answers with where it stopped and why. Moving never executes anything;
    variables do: the launch is executed again up to the cursor, which leaves checkpoints
    that make the next ones quick.

    Attributes:
      trace: What is looked at; no command changes it.
      report: What the checks say, None until somebody asks.
      cursor: How many events have happened; the current one is `cursor - 1`.
      looking_at: The focus; the method `focus` sets it.
      breakpoints: In the order in which they were set.
      runs: Other runs: diversions, schedules, replays.
    """

    def __init__(
        self, trace: Trace, report: Any = None, *, options: Options | None = None
    ) -> None:
        super().__init__(trace, report, options=options)
        self.runs: list[Diversion] = []
        self._shown: Any = None

    def divert(
        self,
        name: Any,
        value: Any,
        at: int | None = None,
        *,
        part: Any = None,
        thread: int | None = None,
    ) -> Diversion:
        """Another run, in which a variable or memory has another value from here on.

        Args:
          name: A variable, a buffer, or a part of one: `"acc[0:4, 2]"`.
          value: What it is to be.
          at: The cursor at which it changes; here by default.
          part: The part, if the name does not say it.
          thread: Whose variable; the focused thread's by default.
        """
        words, count = f"1 … {len(self.trace)}: after an event", len(self.trace)
        at = whole("at", self.cursor if at is None else at, words, low=1, high=count)
        launch = int(self.trace.columns.launch[at - 1])
        if thread is None:
            mine = self.looking_at.launch == launch
            own = int(self.trace.columns.thread[at - 1])
            thread = self.looking_at.thread if mine else own
        thread = self._thread(thread)
        edit, what = self._edit(name, part, value, at, thread)
        step = self.replaying.steps(at - 1)[1]
        shown = np.array2string(np.asarray(value), threshold=4, edgeitems=1)
        label = f"what if {what}={' '.join(shown.split())} at #{at - 1}"
        made = diversion.diverted(self.trace, self.replaying, launch, step, edit)
        return self._run(label, launch, made)

    def interleave(self, seed: int) -> Diversion:
        """Another run, in which threads take turns at random, the same for a seed."""
        launch = max(self.looking_at.launch, 0)
        seed = whole("seed", seed)
        chosen = replace(self.replaying.options(launch), policy="random", seed=seed)
        made = diversion.scheduled(self.trace, self.replaying, launch, options=chosen)
        return self._run(f"seed {seed}", launch, made)

    def replay(self, finding: Any) -> Diversion:
        """Another run, under a schedule that makes a finding visible.

        It is the one that the finding carries, else the shortest that was found: many
        interleavings are tried, and the first whose result differs is shrunk.
        """
        if not isinstance(finding, Finding):
            known = self.judged().findings
            last = len(known) - 1
            words = f"a finding, or its number: 0 … {last}" if known else NO_FINDINGS
            finding = known[whole("finding", finding, words, low=0, high=last)]
        launch = max(finding.launch, 0)
        schedule = finding.details.get("schedule")
        if schedule is None:
            chosen = witness.witness(self.trace, self.replaying, launch)
        else:
            chosen = diversion.threads_of(schedule, launch)
        if chosen is None:
            said, tried = f"{finding.code} {finding.name}", witness.SEEDS
            accepted = f"one that changes a result: none of {tried} interleavings did"
            raise errors.BadOption(option="finding", value=said, accepted=accepted)
        made = diversion.scheduled(self.trace, self.replaying, launch, choices=chosen)
        return self._run(f"schedule of {finding.code}", launch, made)

    def open(self, run: int | Diversion) -> Session:
        """A session over another run, at the place where it begins to differ."""
        if not isinstance(run, Diversion):
            count = len(self.runs)
            words = f"1 … {count}" if count else "none: no other run"
            run = self.runs[whole("run", run, words, low=1, high=count) - 1]
        made = Session(run.trace, options=run.timeline.options)
        made.replaying.use(0, run.timeline)
        made._go(run.cursor)
        return made

    def attach(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        """Gives a session over a loaded trace the function that was recorded.

        It is run and recorded again; its kernels must do what the recorded ones did.
        """
        options = self.replaying.options(0)
        sources = attaching.sources(self.trace, fn, args, kwargs, options)
        self.replaying.attach(sources)

    def _run(self, label: str, launch: int, made: tuple[Trace, int, Any]) -> Diversion:
        trace, cursor, timeline = made
        one = Diversion(
            number=len(self.runs) + 1,
            label=label,
            trace=trace,
            launch=launch,
            cursor=cursor,
            timeline=timeline,
        )
        self.runs.append(one)
        return one

    def _edit(
        self, name: Any, part: Any, value: Any, at: int, thread: int
    ) -> tuple[Edit, str]:
        """What to set where, and its name: a variable's register, else memory."""
        word = name
        if isinstance(name, str):
            word, written = parts.split(self.trace, name)
            part = written if part is None else part
        box = () if part is None else boxes.box_of(part)
        if not isinstance(word, str):
            edit = self._memory_edit(word, box, value, thread)
            word = self.trace.buffer_rows[edit.buffer].name
            return edit, f"{word}{boxes.text_of(box) if box else ''}"
        what = f"{word}{boxes.text_of(box) if box else ''}"
        moment = self.replaying.moment(at - 1, thread)
        binding = visible(self.trace[at - 1].launch.kernel, moment).get(word)
        if binding is None:
            return self._memory_edit(word, box, value, thread), what
        held = moment.registers[binding.register]
        if binding.is_ref:
            buffer, box = diversion.through(held, box, word)
            return self._memory_edit(buffer, box, value, thread), what
        if binding.register not in self.replaying.needed(at - 1, thread):
            accepted = "a variable that the thread still reads, which this one is not"
            raise errors.BadOption(option="name", value=word, accepted=accepted)
        made = diversion.edited(held, box, value, word)
        return Edit(register=binding.register, thread=thread, value=made), what

    def _memory_edit(
        self, buffer: Any, box: boxes.Box, value: Any, thread: int
    ) -> Edit:
        number = self._buffer(buffer)
        row = self.trace.buffer_rows[number]
        unset = np.zeros(row.shape, fold.memory(self.trace, number).values.dtype)
        part = diversion.part_of(unset, box, row.name)
        fitting = diversion.value_like(value, part, row.name)
        return Edit(buffer=number, box=box, value=fitting, thread=thread, name=row.name)

    # -- showing -------------------------------------------------------------

    def __str__(self) -> str:
        runs = [repr(one) for one in self.runs]
        return display.whole(self.trace, self.cursor, self.looking_at, runs)

    def __repr__(self) -> str:
        return f"<Session: {display.position(self.trace, self.cursor)}>"

    def widget(self, **options: Any) -> Any:
        """The viewer as a notebook widget; it and this session follow each other.

        Args:
          options: As for `trace.viewer`: `title`, `values_bytes`.
        """
        from pallas_debug.session.live import connected

        return connected(self, **options)

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """The widget where there can be one, else the position in words."""
        from pallas_debug import views

        if not views.has_widgets():
            return {"text/plain": str(self)}
        if self._shown is None:
            self._shown = self.widget()
        return self._shown._repr_mimebundle_(**options)

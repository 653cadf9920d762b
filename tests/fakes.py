"""A session without JAX: what the doors need of it, and a memory of how it was used."""

import contextlib
import types

from pallas_debug import errors

CODE_ERROR = types.SimpleNamespace(
    code="PD101",
    name="out-of-bounds-read",
    severity="error",
    message="reads rows 4 … 7 of a buffer of 4",
    hint="mask the load",
    loc=types.SimpleNamespace(
        file="kernels.py", line=7, function="body", text="x = a[i]", excerpt="x = a[i]"
    ),
    launch=0,
    threads=(),
    events=(3,),
    count=2,
    buffer="a",
    block=(0,),
)


class FakeTrace:
    """Stands for a trace; the formatters of the real one are not involved."""

    def __init__(self, values=()):
        finished = types.SimpleNamespace(kind="finished", message="")
        self.values = values
        self.launches = tuple(
            types.SimpleNamespace(name=str(value), outcome=finished) for value in values
        )

    def __repr__(self):
        return f"<FakeTrace of {len(self.launches)} launches>"


class _Made:
    """A recording; its trace is there while it is open, too."""

    def __init__(self, session):
        self._session = session
        self._launches = session.launches
        self.outputs = None

    @property
    def trace(self):
        return FakeTrace(tuple(self._launches))

    def stopped(self, error):
        return error is self._session.echo


class FakeSession:
    """`recording`, `check` and `Options` as the public API has them."""

    def __init__(self):
        self.launches = []
        self.findings = ()
        self.options = []
        self.opened = self.closed = 0
        self.made = None  # the last recording
        self.refused = None  # raised when a recording opens
        self.echo = None  # what JAX raised because the recording had stopped
        self.stop = None  # why it had

    @property
    def is_open(self):
        """Whether a launch would be recorded."""
        return self.opened > self.closed

    def Options(self, **given):
        if given.get("chip") == "h10":
            raise errors.BadOption(option="chip", value="h10", accepted=("h100",))
        return types.SimpleNamespace(**given)

    @contextlib.contextmanager
    def recording(self, options=None):
        if self.refused is not None:
            raise self.refused
        self.opened += 1
        self.options.append(options)
        self.launches = []
        try:
            self.made = _Made(self)
            yield self.made
        except RuntimeError as error:
            if error is self.echo and self.stop is not None:
                raise self.stop from None
            raise
        finally:
            self.closed += 1

    def launch(self, value=0):
        """What a user's cell calls in place of a kernel."""
        assert self.is_open, "not under a recording"
        self.launches.append(value)
        return value

    def check(self, trace, *args, **kwargs):
        errors_only = tuple(f for f in self.findings if f.severity == "error")
        events = [one.events[0] for one in errors_only if getattr(one, "events", ())]
        return types.SimpleNamespace(
            findings=self.findings, errors=errors_only, opens_at=[*events, -1][0]
        )

    def debug(self, trace):
        made = types.SimpleNamespace(trace=trace, judged=lambda: self.check(trace))
        made.jump = lambda event: setattr(made, "cursor", event + 1)
        return made

    def install(self, monkeypatch, package):
        """Puts the fake in the place of the public names."""
        for name in ("Options", "recording", "check", "debug"):
            monkeypatch.setitem(vars(package), name, getattr(self, name))
        monkeypatch.setattr(
            "pallas_debug.views.opens_at", lambda trace, report: report.opens_at
        )

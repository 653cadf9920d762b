"""Where else a kernel runs: each of JAX's modes and backends is asked, one by one.

Our own run comes first: it says which modes would hang, what to compare their results
with, and, through its findings, at which line and with which way out they refuse.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pallas_debug import ir
from pallas_debug.accepted import one_of, real
from pallas_debug.machine.options import Options
from pallas_debug.session import foreseen, plain_words
from pallas_debug.session.agreement import disagreement, largest, rounding
from pallas_debug.session.known import options_of

if TYPE_CHECKING:
    from pallas_debug.checks import Finding

UNFINISHED = ("truncated", "interrupted", "unsupported")
# Targets that are meant for another kind of device than a backend's kernels.
FOREIGN = {
    "mosaic_gpu": ("TPU interpret mode", "TPU lowering"),
    "triton": ("TPU interpret mode", "TPU lowering"),
    "tpu": ("GPU interpret mode", "CUDA lowering"),
}
NO_WAIT = "it comes to its end: a wait there does not wait"
SECONDS_PER_EVENT = 2e-3  # a memory operation in JAX's GPU mode


@dataclass(frozen=True, kw_only=True)
class Row:
    """What one target makes of the function.

    Attributes:
      target: E.g. `GPU interpret mode`, `CUDA lowering`.
      status: `runs`, `lowers`, `differs` (it runs, and returns something else),
        `refused`, `foreign` (refused, and meant for another kind of device), `hangs`,
        `unfinished` (no result in time), `not tried`.
      why: Why it was refused, how the result differs, or why it was not tried.
      raised: What JAX raised, to the letter.
      hint: The way out, where a check knows one.
      code: That check, or empty.
      loc: The user's line, where it is known.
      seconds: How long it took.
    """

    target: str
    status: str
    why: str = ""
    raised: str = ""
    hint: str = ""
    code: str = ""
    loc: ir.Loc | None = None
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True, repr=False)
class Portability:
    """The table that `portability` returns; printing it draws it."""

    name: str
    jax: str
    chip: str
    rows: tuple[Row, ...]

    def __getitem__(self, target: str) -> Row:
        """The row of a target by name."""
        rows = {row.target: row for row in self.rows}
        return rows[one_of("target", target, rows)]

    def __str__(self) -> str:
        from pallas_debug.views import portability

        return portability.text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from pallas_debug.views import portability

        return portability.html(self)


def portability(
    fn: Callable[..., Any],
    *args: Any,
    options: Options | None = None,
    timeout: float = 60.0,
    **kwargs: Any,
) -> Portability:
    """Tries a function in every mode of the installed JAX and says what each does.

    The targets are this debugger, GPU and TPU interpret mode, `interpret=True`, and the
    lowerings for CUDA and TPU (which need no device and compile nothing: errors of the
    device's own compiler stay unseen).

    Args:
      fn: Any JAX function that launches kernels, with its arguments after it.
      *args: Its arguments.
      options: As for `trace`.
      timeout: Seconds that each target may take; what would surely take longer, by the
        number of events, is not tried.
      **kwargs: Its keyword arguments.

    Returns:
      The table: a row for each target with what happened, where, and the way out.

    Raises:
      NoLaunch: `fn` launched no kernel.
    """
    from pallas_debug.jaxlink import targets
    from pallas_debug.session.verbs import trace

    options = options_of(options)
    timeout = real("timeout", timeout, "seconds", low=0)
    recorded = trace(fn, *args, options=options, **kwargs)
    findings = foreseen.refusals(recorded)
    outputs = _flat(recorded.outputs)
    rows = [_ours(recorded)]
    launch = recorded.launches[0]
    subject = targets.Subject(fn, args, kwargs, options.chip, options.cores)
    for target in targets.interpreters():
        attempt = _interpreted(subject, target, recorded, findings, timeout)
        if isinstance(attempt, Row):
            rows.append(attempt)
        else:
            rows.append(_row(attempt, findings, launch, outputs))
    for target in targets.BACKENDS:
        rows.append(_row(subject.lower(target, timeout), findings, launch))
    jax = str(recorded.meta["jax"])
    return Portability(name=launch.name, jax=jax, chip=launch.chip, rows=tuple(rows))


def _interpreted(
    subject: Any,
    target: Any,
    recorded: Any,
    findings: tuple[Finding, ...],
    timeout: float,
) -> Any:
    """What an interpreter makes of the function: an attempt, or a row without one."""
    hopeless = _hopeless(recorded, timeout) or _hung(recorded, target, findings)
    if hopeless is None:
        return subject.run(target, timeout)
    before = subject.lower(target, timeout)
    refused = _refused_before(before, recorded, findings)
    if refused is not None:
        return refused
    if hopeless.status == "hangs" and not target.waits:
        attempt = subject.run(target, timeout)
        if attempt.status != "runs":
            return attempt
        hopeless = replace(hopeless, status="differs", why=NO_WAIT)
    return replace(hopeless, target=target.name)


def _refused_before(before: Any, recorded: Any, findings: tuple[Finding, ...]) -> Any:
    """How a target stops a function that must not be run there, if it does.

    Either it refuses while it lowers, which is asked of it; or at an operation that
    the recording came to, which the checks foresee.
    """
    if before.status == "refused":
        return before
    raised = [one for one in findings if foreseen.stops(one, before.target)]
    if not raised or foreseen.hangs_all_the_same(recorded, findings):
        return None
    first = min(raised, key=lambda one: one.loc.line if one.loc else 0)
    return replace(
        before,
        status="refused",
        exception=first.details["exception"],
        message=first.details["wording"],
        loc=first.loc,
    )


def _hung(recorded: Any, target: Any, findings: tuple[Finding, ...]) -> Row | None:
    """A hang that only JAX comes to: nobody wakes who waits for a refused thread."""
    known = foreseen.left_waiting(findings)
    if known is None or target.name != foreseen.GPU_MODE:
        return None
    if not foreseen.hangs_all_the_same(recorded, findings):
        return None
    why = f"not tried: {known.message.partition(';')[0]}"
    return Row(
        target="",
        status="hangs",
        why=why,
        hint=known.hint,
        code=known.code,
        loc=known.loc,
    )


def _ours(recorded: Any) -> Row:
    outcomes = [la.outcome for la in recorded.launches if la.outcome.kind != "finished"]
    if not outcomes:
        return Row(target="pallas_debug", status="runs")
    status = "hangs" if outcomes[0].kind == "deadlock" else "refused"
    return Row(target="pallas_debug", status=status, why=outcomes[0].message)


def _hopeless(recorded: Any, timeout: float) -> Row | None:
    """Why running the function in JAX's interpreters cannot be tried, if so."""
    kinds = {launch.outcome.kind for launch in recorded.launches}
    seconds = len(recorded) * SECONDS_PER_EVENT
    why, status = "", "not tried"
    if "deadlock" in kinds:
        status = "hangs"
        why = "not tried: the kernel waits for something that nobody will do"
    elif kinds & set(UNFINISHED):
        why = "our own run did not come to its end"
    elif seconds > timeout:
        why = f"about {seconds:,.0f} s for {len(recorded):,} events; raise `timeout`"
    return Row(target="", status=status, why=why) if why else None


def _row(
    attempt: Any,
    findings: tuple[Finding, ...],
    launch: Any,
    outputs: list[np.ndarray] | None = None,
) -> Row:
    status, why, known, loc = attempt.status, "", None, None
    raised, hint = "", ""
    if status == "refused":
        raised = plain_words.raised(attempt.exception, attempt.message)
        why = plain_words.in_words(attempt.target, attempt.exception, attempt.message)
        known = _explains(findings, attempt)
        loc = (known.loc if known else None) or attempt.loc or launch.loc
        hint = known.hint if known else ""
        if attempt.target in FOREIGN.get(launch.backend, ()):
            status, loc, known = "foreign", None, None
            hint = plain_words.AT_HOME[launch.backend]
        elif known and not attempt.message:
            why = known.message
    elif status == "hangs":
        status = "unfinished"
        why = f"no result after {attempt.seconds:,.0f} s; raise `timeout`"
    elif outputs is not None and attempt.outputs is not None:
        why = _difference(outputs, attempt.outputs)
        status = "differs" if why else status
    return Row(
        target=attempt.target,
        status=status,
        why=why,
        raised=raised,
        hint=hint,
        code=known.code if known else "",
        loc=loc,
        seconds=attempt.seconds,
    )


def _explains(findings: tuple[Finding, ...], attempt: Any) -> Finding | None:
    """The finding that foresaw what JAX raised."""
    for one in findings:
        wording = str(one.details.get("wording", ""))
        same = one.details.get("exception") == attempt.exception
        fits = wording in attempt.message and bool(wording) == bool(attempt.message)
        if same and fits and foreseen.stops(one, attempt.target):
            return one
    return None


def _flat(tree: Any) -> list[np.ndarray]:
    """The arrays of a result, in JAX's order."""
    from pallas_debug.jaxlink.results import leaves

    return [array for _, array in leaves(tree)]


def _difference(ours: list[np.ndarray], theirs: tuple[np.ndarray, ...]) -> str:
    """How two results differ in one line; empty if they agree."""
    for number, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        allowed = rounding(mine)
        absolute = allowed * largest(mine)
        wrong, _ = disagreement(other, mine, relative=allowed, absolute=absolute)
        if wrong.any():
            place = tuple(int(i) for i in np.argwhere(wrong)[0])
            which = f"output {number}" if len(ours) > 1 else "the output"
            return (
                f"{which} differs in {int(wrong.sum()):,} of {wrong.size:,} elements, "
                f"first at {place}: {other[place]} in place of {mine[place]}"
            )
    return ""

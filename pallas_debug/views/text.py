"""Summaries and findings as terminal text. Pure functions: they return, never print."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from textwrap import indent
from typing import Any

from pallas_debug.trace import Trace, dtypes
from pallas_debug.views import overview
from pallas_debug.views.view import view as exported

MOST_FINDINGS = 20  # in one list
MOST_LAUNCHES = 20  # that differ, in one summary
MOST_BUFFERS = 12  # lines of one memory space
MARKS = {"error": "✗", "warning": "!", "info": "·"}
REFUSED = "⊘"
LEGEND = f"{REFUSED} JAX itself would stop here"
RAN = "; pallas_debug ran the kernel anyway"
REFUSALS = "PD3"  # the family of predicted aborts of JAX


def size(count: int) -> str:
    """A number of bytes in a unit that a person would choose."""
    if count < 1024:
        return f"{count} B"
    for unit, scale in (("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)):
        if count < scale << 10 or unit == "GiB":
            return f"{count / scale:,.1f} {unit}".replace(".0 ", " ")
    raise AssertionError("unreachable: GiB takes every size")


def shaped(held: overview.Held) -> str:
    """`float16[64, 64] × 4`."""
    inside = f"[{', '.join(map(str, held.shape))}]"
    if dtypes.is_sync(held.dtype) and math.prod(held.shape) == 1:
        inside = ""  # versions of JAX differ about the shape of a single barrier
    times = f" × {held.instances:,}" if held.instances > 1 else ""
    return f"{held.dtype}{inside}{times}"


def spread(value: overview.Spread | None) -> str:
    """`16`, or `8 in (0, 1) … 24 in (3, 0)`."""
    if value is None:
        return ""
    if value.least == value.most:
        return f"{value.least:,} each"
    return f"{value.least:,} in {value.least_at} … {value.most:,} in {value.most_at}"


def asides(count: overview.Count) -> str:
    """The spread over threads, and what no thread did: `1 each + 4 async`."""
    parts = [spread(count.per_thread)]
    if count.asynchronous and parts[0]:
        parts.append(f"{count.asynchronous:,} async")
    return " + ".join(parts)


def count_rows(view: overview.Overview) -> list[tuple[str, ...]]:
    """The table of counts below its head, without columns that say nothing."""
    rows = [("", "total", "per block", "per thread")]
    rows += [
        (c.label, f"{c.total:,}", spread(c.per_block), asides(c)) for c in view.counts
    ]
    kept = [n for n in range(len(rows[0])) if any(row[n] for row in rows[1:])]
    return [tuple(row[n] for n in kept) for row in rows]


def layout(view: overview.Overview) -> str:
    """Grid, cluster and threads in words: `grid 4 × 2, 3 threads a block`."""
    launch = view.launch
    parts = [f"grid {' × '.join(map(str, launch.grid)) or '()'}"]
    if launch.mesh:
        axes = ", ".join(f"{name}={size}" for name, size in launch.axes.items())
        parts.append(f"{math.prod(launch.mesh)} devices ({axes}) together")
    if any(n > 1 for n in launch.cluster):
        parts.append(f"clusters of {' × '.join(map(str, launch.cluster))}")
    parts.append(f"{launch.blocks:,} block{'s' * (launch.blocks != 1)}")
    if launch.threads > 1:
        parts.append(f"{launch.threads} threads a block")
    if launch.outcome.kind != "skipped" and view.blocks_run < launch.blocks:
        parts.append(f"{view.blocks_run:,} of them recorded")
    return ", ".join(parts)


def outcome(launch: Any) -> str:
    """How a launch ended, with the reason where there is one."""
    kind = launch.outcome.kind
    message = launch.outcome.message.partition("\n")[0]
    return f"{kind}: {message}" if message else kind


def table(rows: Sequence[Sequence[str]], indent: str) -> Iterator[str]:
    """Rows with aligned columns; the second one to the right, as numbers are."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.rjust(width) if number == 1 else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield (indent + "  ".join(cells)).rstrip()


def place(loc: Any) -> str:
    """`kernels.py:41 in matmul`."""
    function = f" in {loc.function}" if loc.function else ""
    return f"{PurePath(loc.file).name}:{loc.line}{function}"


def _counts(view: overview.Overview) -> Iterator[str]:
    if not view.counts:
        return
    yield from table(count_rows(view), "    ")
    for line in printed_lines(view):
        yield f"      {line}"


def printed_lines(view: overview.Overview) -> Iterator[str]:
    """What the kernel printed, each text with its block in front."""
    for one in view.printed:
        yield " ".join(f"{one.block}  {one.text}".strip().splitlines())
    total = sum(count.total for count in view.counts if count.label == "prints")
    if total > len(view.printed):
        yield f"… and {total - len(view.printed):,} more; trace.events has them all"


def _memory(view: overview.Overview) -> Iterator[str]:
    for space in view.spaces:
        where = "a block" if space.per_block else "in all"
        yield f"    {space.name}: at most {size(space.peak_bytes)} {where}"
        shown = space.held[:MOST_BUFFERS]
        rows = [(h.name, size(h.size_bytes), shaped(h), h.role) for h in shown]
        yield from table(rows, "      ")
        if len(space.held) > len(shown):
            yield f"      … and {len(space.held) - len(shown)} more"


def named(view: overview.Overview) -> str:
    """Name of the kernel and what it ran on."""
    chip = f" as on {view.launch.chip}" if view.launch.chip else ""
    return f"{view.launch.name} ({view.launch.backend}{chip})"


def _launch(view: overview.Overview) -> Iterator[str]:
    """A launch below its first line."""
    launch = view.launch
    if launch.loc:
        yield f"    {place(launch.loc)}"
    yield f"    {layout(view)}; {outcome(launch)}"
    for name, value in launch.scalars.items():
        yield f"    scalar {name} = {value}"
    yield from _counts(view)
    yield from _memory(view)


def grouped(
    views: Sequence[overview.Overview], shown: Callable[[overview.Overview], str]
) -> Iterator[tuple[str, str]]:
    """Launches that look alike as one: their numbers in words, and how they look."""
    groups: dict[str, list[int]] = {}
    for view in views:
        groups.setdefault(shown(view), []).append(view.launch.number)
    for text, numbers in groups.items():
        more = len(numbers) - 1
        first = f"launch {numbers[0]}"
        yield f"{first} and {more:,} more like it" if more else first, text


def _numbered(loc: Any) -> Iterator[str]:
    for number, line in enumerate(loc.excerpt.splitlines()[:3], loc.line):
        yield f"    {number:>5} | {line}"


def _witness(one: Any, trace: Trace | None, names: Mapping[int, str]) -> str:
    """Who was seen to do it, and when: the first occurrence, and how many more."""
    said: list[str] = []
    if one.threads:
        first = one.threads[0]
        plain = trace.threads[first].name if trace else f"thread {first}"
        said.append(f"by {names.get(first, plain)}")
        if len(one.threads) > 1:
            said[0] += f" and {len(one.threads) - 1:,} more"
    if one.events:
        said.append(f"at event {one.events[0]:,}")
    if one.count > 1:
        said.append(f"{one.count:,} times")
    return ", ".join(said)


def finding(
    one: Any, trace: Trace | None = None, names: Mapping[int, str] | None = None
) -> str:
    """One finding: what, where with the source, who, and the way out."""
    lines = [f"{mark(one)} {one.severity} {one.code} {one.name}: {one.message}"]
    if one.loc:
        lines += [f"    {place(one.loc)}", *_numbered(one.loc)]
    if one.called:
        lines.append(f"    {one.called}")
    if witness := _witness(one, trace, names or {}):
        lines.append(f"    {witness}")
    if one.hint and one.cause is None:
        lines.append(f"    try: {one.hint}")
    return "\n".join(lines)


def mark(one: Any) -> str:
    """A sign that can be seen without color."""
    return REFUSED if is_refusal(one) else MARKS.get(str(one.severity), "·")


def is_refusal(one: Any) -> bool:
    """Whether a finding predicts that JAX itself would stop here."""
    return one.code.startswith(REFUSALS)


def legend(found: Sequence[Any], trace: Trace | None) -> str:
    """What the mark of a refusal means; a launch that JAX only lowered did not run."""
    refused = [one for one in found if is_refusal(one)]
    if trace is None or not all(_ran(trace, one.launch) for one in refused):
        return LEGEND
    return LEGEND + RAN


def _ran(trace: Trace, launch: int | None) -> bool:
    if launch is None:
        return False
    return trace.launches[launch].outcome.kind not in ("skipped", "unsupported")


def findings(report: Any, family: str = "", trace: Trace | None = None) -> str:
    """The findings of a report.

    Args:
      report: What the checks say.
      family: Codes that begin so only, e.g. `"PD3"`.
      trace: What it judges, where it is at hand: whether a refused launch ran.
    """
    found = [one for one in report.findings if one.code.startswith(family)]
    aside = len(getattr(report, "suppressed", ()))
    also = f", {aside:,} suppressed" if aside else ""
    if not found:
        return f"no findings{f' of {family}xx' if family else ''}{also}"
    shown = replace(report, findings=tuple(found))
    blocks = [f"findings: {shown.tally}{also}"]
    names = report.witnesses
    for root in shown.roots[:MOST_FINDINGS]:
        blocks.append(finding(root, trace, names))
        blocks += _following(shown, root, trace, names)
    if len(shown.roots) > MOST_FINDINGS:
        hidden = len(shown.roots) - MOST_FINDINGS
        blocks.append(f"… and {hidden} more; report.findings has them all")
    if any(map(is_refusal, found)):
        blocks.append(legend(found, trace))
    return "\n".join(blocks)


def _following(
    report: Any, root: Any, trace: Trace | None, names: Mapping[int, str]
) -> Iterator[str]:
    """What follows from a finding, below it and further in."""
    after = report.following(root)
    if after:
        yield "    from this follows:"
    for one in after[:MOST_FINDINGS]:
        yield indent(finding(one, trace, names), "      ")
    if len(after) > MOST_FINDINGS:
        yield f"      … and {len(after) - MOST_FINDINGS} more"


@exported("text", suffix=".txt")
def summary(trace: Trace, report: Any, family: str = "") -> str:
    """What each launch did, then the findings."""

    def shown(view: overview.Overview) -> str:
        return "\n".join([named(view), *_launch(view)])

    groups = list(grouped(overview.overviews(trace), shown))
    lines = [f"{numbers}: {text}" for numbers, text in groups[:MOST_LAUNCHES]]
    if len(groups) > MOST_LAUNCHES:
        hidden = len(groups) - MOST_LAUNCHES
        lines.append(f"… and {hidden:,} more that differ; trace.launches has them all")
    if not lines:
        lines = ["no kernel was launched"]
    lines.append(findings(report, family, trace))
    return "\n".join(lines)

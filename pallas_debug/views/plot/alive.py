"""Bytes that are alive in each memory space over the events, against the chip's limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pallas_debug.accepted import one_of
from pallas_debug.ir import chips
from pallas_debug.trace import RecordedBuffer, RecordedLaunch, Trace
from pallas_debug.views.plot import style

MOST_NAMED = 6
NEAR = 4  # a limit at most that many times the peak is drawn as a line


def memory(trace: Trace, *, launch: int = 0, space: str | None = None) -> Any:
    """What lived in each memory space, buffer by buffer.

    A space that each block has for itself is shown for its fullest block.

    Args:
      trace: What was recorded.
      launch: Number of the launch.
      space: One memory space, e.g. `smem`; all where it is None.
    """
    one = style.launch_of(trace, launch)
    spaces = _spaces(trace, one)
    space = None if space is None else one_of("space", space, spaces)
    shown = [space] if space else list(spaces)
    with style.figure(0.5 + 1.45 * max(len(shown), 1)) as made:
        axes = made.subplots(max(len(shown), 1), 1, squeeze=False)[:, 0]
        for panel, name in zip(axes, shown, strict=False):
            _draw(panel, one, name, spaces[name])
        axes[-1].set_xlabel("event")
        made.suptitle(style.heading(one, "memory"), x=0.01, ha="left", fontsize=9)
    return made


def _spaces(
    trace: Trace, launch: RecordedLaunch
) -> dict[str, tuple[str, list[RecordedBuffer]]]:
    """For each space which owner is shown, and its buffers."""
    groups: dict[str, dict[str, list[RecordedBuffer]]] = {}
    for one in trace.buffers:
        if one.launch is launch and one.row.alias < 0:
            place = f"block {one.block}" if one.block is not None else ""
            groups.setdefault(one.space, {}).setdefault(place, []).append(one)
    return {
        space: max(owners.items(), key=lambda item: _levels(item[1], launch)[1].max())
        for space, owners in groups.items()
    }


def _life(one: RecordedBuffer, launch: RecordedLaunch) -> tuple[int, int]:
    begin = one.alloc if one.alloc >= 0 else launch.first_event
    return begin, one.free if one.free >= 0 else launch.last_event


def _levels(
    buffers: Sequence[RecordedBuffer], launch: RecordedLaunch
) -> tuple[np.ndarray, np.ndarray]:
    """Events at which the bytes of some buffers change, and the bytes from then on."""
    change: dict[int, int] = {launch.first_event: 0, launch.last_event: 0}
    for one in buffers:
        begin, end = _life(one, launch)
        change[begin] = change.get(begin, 0) + one.nbytes
        if end < launch.last_event:
            change[end] = change.get(end, 0) - one.nbytes
    at = np.array(sorted(change), np.int64)
    return at, np.cumsum([change[int(event)] for event in at])


def _extent(
    buffers: Sequence[RecordedBuffer], launch: RecordedLaunch
) -> tuple[int, int]:
    """From the first birth to the last end."""
    lives = [_life(one, launch) for one in buffers]
    return min(begin for begin, _ in lives), max(end for _, end in lives)


def _draw(
    panel: Any,
    launch: RecordedLaunch,
    space: str,
    shown: tuple[str, list[RecordedBuffer]],
) -> None:
    owner, buffers = shown
    at, total = _levels(buffers, launch)
    limit = chips.limits(launch.chip).get(space, 0)
    peak = int(total.max())
    scale, unit = style.binary(max(peak, 1))
    stack = np.zeros(len(at))
    named = _named(buffers)
    for number, (name, some) in enumerate(named.items()):
        own_at, own = _levels(some, launch)
        level = own[np.searchsorted(own_at, at, side="right") - 1] / scale
        color = style.SERIES[number] if name != "others" else style.GRAY
        panel.fill_between(
            at,
            stack,
            stack + level,
            step="post",
            fc=color,
            lw=0,
            label=style.brief(name),
        )
        stack = stack + level
    panel.step(at, stack, where="post", color=style.INK, lw=0.7)
    panel.set_ylabel(f"{space} ({unit})")
    panel.set_ylim(0, peak / scale * 1.25 or 1)
    first, last = _extent(buffers, launch)
    panel.set_xlim(first, max(last, first + 1))
    style.integer_ticks(panel.xaxis)
    known = f", limit {_amount(limit)}" if limit else ""
    where = f" of {owner}" if owner else ""
    panel.set_title(f"{space}{where}: at most {_amount(peak)}{known}", fontsize=8)
    if limit and limit <= NEAR * peak:
        panel.axhline(limit / scale, color=style.VERMILION, ls="--", lw=1)
        panel.set_ylim(0, max(peak, limit) / scale * 1.15)
    panel.legend(loc="center left", bbox_to_anchor=(1, 0.5), borderaxespad=0.4)


def _named(buffers: Sequence[RecordedBuffer]) -> dict[str, list[RecordedBuffer]]:
    """The buffers by name, the largest first; the small ones together."""
    names: dict[str, list[RecordedBuffer]] = {}
    for one in buffers:
        names.setdefault(one.name, []).append(one)
    order = sorted(names, key=lambda name: -sum(one.nbytes for one in names[name]))
    found = {name: names[name] for name in order[:MOST_NAMED]}
    rest = [one for name in order[MOST_NAMED:] for one in names[name]]
    return {**found, "others": rest} if rest else found


def _amount(count: int) -> str:
    scale, unit = style.binary(count)
    return f"{count / scale:,.4g} {unit}"

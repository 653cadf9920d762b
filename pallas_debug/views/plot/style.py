"""How all figures look: colors that everybody can tell apart, small type, thin lines."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

from pallas_debug import errors
from pallas_debug.accepted import of_type, whole
from pallas_debug.checks import Report
from pallas_debug.trace import RecordedLaunch, Trace

# Okabe and Ito's colors, told apart with every kind of color vision.
ORANGE, SKY, GREEN, YELLOW = "#E69F00", "#56B4E9", "#009E73", "#F0E442"
BLUE, VERMILION, PURPLE, GRAY = "#0072B2", "#D55E00", "#CC79A7", "#9A9A9A"
SERIES = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION, YELLOW)
INK, PALE = "#222222", "#E8E8E8"
AMOUNTS = "cividis"  # a color map that differs in lightness alone
SIGNED = "PuOr"  # around zero

WIDTH = 6.4  # inches: a column and a half of a paper
RC: dict[Any, Any] = {
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.linewidth": 0.6,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "hatch.linewidth": 0.5,
    "figure.facecolor": "white",
    "savefig.dpi": 200,
}


NOTHING: Mapping[str, Any] = MappingProxyType({})


@contextmanager
def figure(height: float, width: float = WIDTH) -> Iterator[Any]:
    """A new figure in this style; matplotlib's own settings stay as they are."""
    with styled():
        make, _ = _matplotlib()
        made = make(figsize=(width, height), layout="constrained")
        # A figure that pyplot did not make is shown by nobody else.
        vars(made)["_repr_png_"] = _drawn(made)
        yield made


@contextmanager
def styled(also: Mapping[str, Any] = NOTHING) -> Iterator[None]:
    """What is drawn inside looks like this; matplotlib's own settings stay."""
    _, context = _matplotlib()
    with context({**RC, **also}):
        yield


def _matplotlib() -> tuple[Any, Any]:
    """What makes a figure, and what sets how it looks."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise errors.NotInstalled(
            package="matplotlib", purpose="a figure", extra="notebook"
        ) from None
    return Figure, rc_context


def _drawn(made: Any) -> Callable[[], bytes]:
    def png() -> bytes:
        target = io.BytesIO()
        made.savefig(target, format="png", dpi=120)
        return target.getvalue()

    return png


def launch_of(trace: Trace, number: int) -> RecordedLaunch:
    """A launch by its number; another number is refused."""
    count = len(trace_of(trace).launches)
    words = f"0 … {count - 1}" if count else "nothing: no kernel was launched"
    return trace.launches[whole("launch", number, words, low=0, high=count - 1)]


def trace_of(trace: Any) -> Trace:
    """A trace; anything else is refused."""
    return of_type("trace", trace, Trace, "a trace (from a file: load(path))")


def moment_of(trace: Any, at: Any) -> int:
    """The event before which is looked; the end where it is None."""
    count = len(trace_of(trace))
    if at is None:
        return count
    return whole("at", at, f"0 … {count}", low=0, high=count)


def report_of(report: Any) -> Any:
    """A report, or None; anything else is refused."""
    if report is None:
        return None
    return of_type("report", report, Report, "a report: pldb.check(trace)")


def brief(name: str, most: int = 26) -> str:
    """A name that fits: of a long one the end, which tells it from others."""
    return name if len(name) <= most else f"…{name[1 - most :]}"


def integer_ticks(axis: Any) -> None:
    """Ticks at whole numbers only."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def heading(launch: RecordedLaunch, what: str) -> str:
    """`matmul on h100: events per block`."""
    where = f" as on {launch.chip}" if launch.chip else ""
    return f"{launch.name}{where}: {what}"


def binary(largest: float) -> tuple[float, str]:
    """The unit in which bytes up to `largest` read well, and its name."""
    for name, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if largest >= scale:
            return scale, name
    return 1, "B"

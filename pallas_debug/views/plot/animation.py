"""A run over time as an animated GIF: the grid, a buffer and the threads, frame by frame.

The same trace gives the same bytes. Matplotlib lays the figure out once; each frame
draws anew what changes.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np

from pallas_debug import errors
from pallas_debug.accepted import whole
from pallas_debug.trace import Kind, RecordedLaunch, Trace
from pallas_debug.views.plot import cells, moment, style
from pallas_debug.views.plot.contents import Contents, Scale, scale_of

MOST_FRAMES = 40
ACCEPTED_FRAMES = 600
DPI = 110
COLORS = 100  # of the palette, beside those that must be exact
EXACT = ("#ffffff", style.INK, style.BLUE, style.SKY, style.VERMILION, style.GRAY)
FRAME_MS, LAST_MS = 250, 2500


def animation(
    trace: Trace,
    *,
    launch: int = 0,
    buffer: str | None = None,
    frames: int = MOST_FRAMES,
    report: Any = None,
) -> bytes:
    """The bytes of a GIF that shows a launch from its first event to its last.

    Args:
      trace: What was recorded.
      launch: Number of the launch.
      buffer: Name of the buffer whose contents are shown; the one that is written most
        often where it is None, an output before others.
      frames: At most so many; each says which event it stands at, and the first line
        how many events lie between two.
      report: What the checks say; blocks with a finding get a letter then.
    """
    words = f"1 … {ACCEPTED_FRAMES}"
    frames = whole("frames", frames, words, low=1, high=ACCEPTED_FRAMES)
    one, report = style.launch_of(trace, launch), style.report_of(report)
    stops = _stops(one, frames)
    name = written_most(trace, one) if buffer is None else buffer
    shown = moment.scene(trace, stops[0], name, report)
    kept = [moment.held(shown, stop) for stop in stops]
    return _gif(list(_pictures(shown, stops, kept)))


def _stops(launch: RecordedLaunch, frames: int) -> list[int]:
    """The events before which a frame stands, evenly from the first to the end."""
    first, last = launch.first_event + 1, launch.last_event
    if not launch.events:
        raise errors.BadOption(
            option="launch", value=launch.number, accepted="a launch with events"
        )
    count = min(frames, last - first + 1)
    return np.unique(np.linspace(last, first, count).round().astype(int)).tolist()


def written_most(trace: Trace, launch: RecordedLaunch) -> str:
    """Name of the buffer with the most writes, of the outputs if one has any."""
    events = np.arange(launch.first_event, launch.last_event)
    writes = np.isin(trace.columns.kind[events], (Kind.WRITE, Kind.UPDATE))
    counts: dict[tuple[bool, str], int] = {}
    for number in trace.columns.object[events[writes]].tolist():
        row = trace.buffer_rows[number]
        key = (row.role == "output", row.name)
        counts[key] = counts.get(key, 0) + 1
    best = max(counts, key=lambda key: (key[0], counts[key]), default=None)
    return best[1] if best else moment.touched(trace, launch, launch.last_event)


def _scale(kept: list[Contents | None]) -> Scale:
    """One scale for all frames, so that a color means the same in each."""
    parts = [held.values[held.odd == 0].ravel() for held in kept if held is not None]
    ends = [end for part in parts if part.size for end in (part.min(), part.max())]
    return scale_of(np.array(ends))


def _pictures(
    shown: moment.Scene, stops: list[int], kept: list[Contents | None]
) -> Iterator[np.ndarray]:
    """The frames; what stays from one to the next is drawn once."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    scale, named = _scale(kept), _counts(kept)
    drawn = moment.draw(shown, stops[-1], kept[-1], scale, named)
    drawn.figure.set_dpi(DPI)
    canvas = FigureCanvasAgg(drawn.figure)
    canvas.draw()
    drawn.figure.set_layout_engine("none")  # from now on nothing moves
    step = (stops[-1] - stops[0]) / max(len(stops) - 1, 1)
    note = f"   ({len(stops)} frames, {step:,.3g} events apart)"
    behind, page = None, -1
    with style.styled():
        for stop, held in zip(stops, kept, strict=True):
            if page != shown.first_block(stop):
                page = shown.first_block(stop)
                behind = _behind(canvas, drawn, shown, stop)
            canvas.restore_region(behind)
            first, _, second = moment.heading(shown, stop).partition("\n")
            drawn.title.set_text(f"{first}{note}\n{second}")
            moment.draw_grid(wiped(drawn.grid), shown, stop)
            if held is not None:
                moment.draw_held(wiped(drawn.memory), held, scale)
            if held is not None and drawn.odd_key is not None:
                cells.recount(drawn.odd_key, named, held.counts)
            drawn.line.set_xdata([stop, stop])
            for artist in drawn.moving:
                drawn.figure.draw_artist(artist)
            yield np.asarray(canvas.buffer_rgba())[..., :3].copy()


def _behind(canvas: Any, drawn: moment.Drawn, shown: moment.Scene, stop: int) -> Any:
    """The picture without what moves: the threads of a page, keys, color bar."""
    line = drawn.line
    moment.draw_lanes(wiped(drawn.threads, but=line), shown, stop)
    for artist in drawn.moving:
        artist.set_visible(False)
    canvas.draw()
    for artist in drawn.moving:
        artist.set_visible(True)
    return canvas.copy_from_bbox(drawn.figure.bbox)


def wiped(axes: Any, but: Any = None) -> Any:
    """Axes without what was drawn into them; ticks, labels and one artist stay."""
    for group in (axes.images, axes.lines, axes.patches, axes.collections, axes.texts):
        for artist in list(group):
            if artist is not but:
                artist.remove()
    axes.relim()  # the next picture may be smaller
    return axes


def _counts(kept: list[Contents | None]) -> tuple[int, ...]:
    """Which odd values the legend names: those of any frame."""
    counts = [held.counts for held in kept if held is not None]
    return tuple(max(column) for column in zip(*counts, strict=True))


def _gif(pictures: list[Any]) -> bytes:
    """The file: one palette for all frames, the last one shown longer."""
    from PIL import Image

    tall = np.concatenate([pictures[0], pictures[len(pictures) // 2], pictures[-1]])
    reduced = Image.fromarray(tall).quantize(COLORS, method=Image.Quantize.MEDIANCUT)
    exact = [part for color in EXACT for part in _rgb(color)]
    palette = Image.new("P", (1, 1))
    palette.putpalette([*exact, *(reduced.getpalette() or [])[: 3 * COLORS]])
    images = [_reduced(one, palette) for one in pictures]
    target = io.BytesIO()
    times = [FRAME_MS] * (len(images) - 1) + [LAST_MS]
    images[0].save(
        target, "GIF", save_all=True, append_images=images[1:], duration=times, loop=0
    )
    return target.getvalue()


def _reduced(picture: np.ndarray, palette: Any) -> Any:
    """A picture in the colors of a palette, whose first ones it keeps exactly."""
    from PIL import Image

    made = Image.fromarray(picture).quantize(palette=palette, dither=Image.Dither.NONE)
    numbers = np.array(made)
    for number, color in enumerate(EXACT):
        numbers[(picture == _rgb(color)).all(axis=-1)] = number
    exact = Image.fromarray(numbers)
    exact.putpalette(made.getpalette() or [])
    return exact


def _rgb(color: str) -> list[int]:
    return [int(color[at : at + 2], 16) for at in (1, 3, 5)]

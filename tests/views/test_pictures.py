"""A run as PNG, SVG, PDF and GIF: what is drawn is what the trace says."""

import io
import itertools

import numpy as np
import pytest
from helpers import TraceBuilder
from kernels import copy_compute_copy
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.legend import Legend

from pallas_debug import checks, errors, views
from pallas_debug.checks import Report
from pallas_debug.machine import Options, run
from pallas_debug.trace import Writer, close, fold
from pallas_debug.views import plot
from pallas_debug.views.plot import cells, moment, states

BEGINS = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF", ".gif": b"GIF89a"}


@pytest.fixture(scope="module")
def recorded():
    writer = Writer()
    run(copy_compute_copy(blocks=3), writer, Options())
    return close(writer)


def waiting():
    """Block 0 ends, block 1 waits for ever, block 2 does not begin, 3 is not there."""
    b = TraceBuilder(grid=(4,))
    x = b.buffer("x", (4,), initial=np.zeros(4, np.float32))
    bar = b.barrier("bar", block=1)
    one, two, three = (b.thread(block=n, index=0) for n in range(3))
    one.read(x, [(0, 4)])
    one.end()
    two.read(x, [(2, 4)])
    two.blocked(bar)
    three.write(x, [(0, 1)], value=np.ones(1, np.float32))
    return b.close(outcome="deadlock", message="1 thread waits")


@pytest.mark.parametrize("suffix", BEGINS)
def test_file_is_of_its_kind_and_the_same_each_time(suffix):
    view, trace = views.view_for(f"run{suffix}"), waiting()
    data = view.function(trace, Report())
    assert data.startswith(BEGINS[suffix])
    assert data == view.function(trace, Report())
    assert b"CreationDate" not in data


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (0, [0, 0, 0]),
        (1, [states.RUNS, 0, 0]),
        (2, [states.DONE, 0, 0]),
        (4, [states.DONE, states.WAITS, 0]),
        (5, [states.DONE, states.WAITS, states.DONE]),
    ],
)
def test_state_of_each_block_at_a_moment(at, expected):
    trace = waiting()
    found = states.course(trace, trace.launches[0]).at(at)
    assert found[:3].tolist() == expected
    assert np.isnan(found[3])


def test_overview_shows_blocks_contents_threads_and_the_moment(recorded):
    at = int(recorded.events.where(kind="write")[1])
    figure = plot.overview(recorded, at=at)
    grid, memory, threads = (part for part in figure.axes if part.get_title(loc="left"))
    title = figure.get_suptitle()
    assert f"event #{at - 1:,} of #{len(recorded) - 1:,}" in title
    assert repr(recorded[at - 1]) in title
    assert "blocks" in grid.get_title(loc="left")
    colors = [to_hex(color) for color in grid.collections[0].get_facecolor()]
    expected = states.course(recorded, recorded.launches[0]).at(at)
    assert colors == [states.COLORS[int(s)].lower() for s in expected]
    name = memory.get_title(loc="left").partition("[")[0]
    held = fold.memory(recorded, recorded.buffers[0], at)
    assert name in {buffer.name for buffer in recorded.buffers}
    assert held is not None
    assert threads.lines[-1].get_xdata() == [at, at]


def test_overview_opens_at_the_first_error_with_its_letter():
    trace = waiting()
    report = checks.run_checks(trace, select=["PD101"])
    figure = plot.overview(trace, report=report)
    assert figure.get_suptitle().startswith("kernel: event #2 of #4")
    grid = figure.axes[0]
    assert [(t.get_text(), t.get_position()) for t in grid.texts] == [("x", (1, 0))]
    figure.canvas.draw()
    legend = [t.get_text() for one in _legends(figure) for t in one.get_texts()]
    assert {"not started", "runs", "waits", "done", "error"} <= set(legend)


def _legends(figure):
    return figure.findobj(Legend)


def test_nothing_lies_over_anything_else(recorded):
    """Titles, axes with their labels and legends keep clear of each other."""
    figure = plot.overview(recorded)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    parts = [figure._suptitle, *figure.axes, *_legends(figure)]
    boxes = [part.get_tightbbox(renderer).padded(-1) for part in parts]
    for number, one in enumerate(boxes):
        assert figure.bbox.padded(2).contains(one.x0, one.y0), parts[number]
        assert figure.bbox.padded(2).contains(one.x1, one.y1), parts[number]
        for other, part in zip(boxes[number + 1 :], parts[number + 1 :], strict=True):
            assert not one.overlaps(other), (parts[number], part)


def frames(data):
    from PIL import Image

    image = Image.open(io.BytesIO(data))
    for number in range(image.n_frames):
        image.seek(number)
        yield np.asarray(image.convert("RGB"))


def test_gif_has_as_many_frames_as_asked_for_and_they_differ(recorded):
    found = list(frames(plot.animation(recorded, frames=3)))
    assert len(found) == 3
    for one, two in itertools.pairwise(found):
        assert one.shape == two.shape
        assert (one != two).any()
    assert (found[0][0, 0] == 255).all()


def test_frames_count_what_is_unset_at_their_moment(monkeypatch):
    b = TraceBuilder(grid=(1,))
    out = b.buffer("out", (8, 4))
    one = b.thread(block=0, index=0)
    for row in range(8):
        one.write(out, [(row, 1), (0, 4)], value=np.ones((1, 4), np.float32))
    kept, said, boxes = cells.recount, [], []

    def recount(legend, named, counts):
        kept(legend, named, counts)
        said.append([text.get_text() for text in legend.get_texts()])
        boxes.append([round(end) for end in legend.get_window_extent().extents])

    monkeypatch.setattr(cells, "recount", recount)
    data = plot.animation(b.close(), buffer="out")
    assert said == [[f"unset ({n})"] for n in range(28, -1, -4)]
    left, low, right, high = boxes[0]
    seen = [
        frame[len(frame) - high : len(frame) - low, left:right]
        for frame in frames(data)
    ]
    assert all((one != two).any() for one, two in itertools.pairwise(seen))


def test_smaller_contents_after_larger_ones_fill_their_axes(monkeypatch):
    b = TraceBuilder(grid=(1,))
    small, large = b.buffer("x", (2, 4)), b.buffer("x", (8, 4))
    one = b.thread(block=0, index=0)
    one.write(small, [(0, 1), (0, 4)], value=np.ones((1, 4), np.float32))
    one.write(large, [(0, 8), (0, 4)], value=np.ones((8, 4), np.float32))
    draw, heights = moment.draw_held, []

    def draw_held(axes, held, scale):
        image = draw(axes, held, scale)
        heights.append((held.values.shape[0], axes.get_ylim()))
        return image

    monkeypatch.setattr(moment, "draw_held", draw_held)
    plot.animation(b.close(), buffer="x")
    assert {rows for rows, _ in heights} == {2, 8}
    assert all(ends == (rows - 0.5, -0.5) for rows, ends in heights)


def test_gif_of_few_events_has_a_frame_for_each():
    assert len(list(frames(plot.animation(waiting(), buffer="x")))) == 5


def test_many_blocks_are_shown_page_by_page():
    b = TraceBuilder(grid=(40,))
    x = b.buffer("x", (40,), initial=np.zeros(40, np.float32))
    for block in range(40):
        b.thread(block=block, index=0).read(x, [(block, 1)])
    trace = b.close()
    shown = moment.scene(trace, 1, None, None)
    for at in (1, 17, 40):
        found = {lane.block for lane in shown.lanes_at(at)}
        assert shown.block(at) in found
        assert len(found) <= moment.MOST_LANES
    assert "more are not shown" in plot.overview(trace).axes[-1].get_title(loc="left")


@pytest.mark.parametrize(
    ("draw", "option"),
    [
        (lambda t: plot.overview(t, at=99), "at"),
        (lambda t: plot.overview(t, buffer="nix"), "buffer"),
        (lambda t: plot.overview(t[:0]), "trace"),
        (lambda t: plot.animation(t, frames=0), "frames"),
        (lambda t: plot.animation(t, launch=3), "launch"),
    ],
)
def test_wrong_arguments_are_refused_with_the_right_ones(draw, option):
    with pytest.raises(errors.BadOption, match=f"`{option}` got .*; accepted: "):
        draw(waiting())

"""Figures: what is drawn is what the trace says."""

import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from helpers import TraceBuilder
from kernels import copy_compute_copy, elementwise, matmul
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from pallas_debug import checks, errors
from pallas_debug.machine import Options, run
from pallas_debug.trace import Writer, close, fold
from pallas_debug.views import plot
from pallas_debug.views.plot import lanes, style
from pallas_debug.views.plot.contents import ODD


def recorded(launch):
    writer = Writer()
    run(launch, writer, Options())
    return close(writer)


@pytest.fixture(scope="module")
def product():
    return recorded(matmul(blocks=3))


def image(figure, panel=0):
    return np.asarray(figure.axes[panel].images[0].get_array())


def words(figure):
    """Every text of a figure that is not a number at a tick."""
    figure.canvas.draw()
    found = figure.findobj(matplotlib.text.Text)
    return " | ".join(text.get_text() for text in found if text.get_text())


def test_grid_shows_every_block_where_it_is(product):
    figure = plot.grid(product)
    events = [
        [len(product.events.where(block=(i, j))) for j in range(3)] for i in range(3)
    ]
    np.testing.assert_array_equal(image(figure), events)
    assert "kernel: events per block" in words(figure)
    assert figure.axes[0].get_xlabel() == "grid axis 1"
    assert figure.axes[0].get_ylabel() == "grid axis 0"
    order = image(plot.grid(product, "order"))
    assert (np.diff(order.ravel()) > 0).all()


def test_grid_shows_bytes(product):
    written = image(plot.grid(product, "written"))
    assert (written == 4 * 4 * 4).all()
    assert "bytes written" in words(plot.grid(product, "written"))


def of_grid(shape, blocks):
    b = TraceBuilder(grid=shape)
    x = b.buffer("x", (4,), initial=np.zeros(4, np.float32))
    for block in blocks:
        b.thread(block=block).read(x, [(block, 1)])
    return b.close()


def test_block_that_was_not_recorded_is_hatched():
    figure = plot.grid(of_grid((2, 2), [0, 3]))
    patches = [p for p in figure.axes[0].patches if p.get_hatch()]
    assert sorted(p.get_xy() for p in patches) == [(-0.5, 0.5), (0.5, -0.5)]
    assert np.isnan(image(figure)).sum() == 2


def test_long_grid_of_one_axis_is_folded():
    figure = plot.grid(of_grid((70, 1), range(70)))
    assert image(figure).shape == (3, 32)
    assert not figure.axes[0].patches
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == ["+ 0", "+ 32", "+ 64"]


def test_grid_of_three_axes_is_shown_plane_by_plane():
    figure = plot.grid(of_grid((3, 2, 2), range(12)), "order")
    planes = [panel for panel in figure.axes if panel.images]
    titles = [panel.get_title(loc="left") for panel in planes]
    assert titles == [
        "(0, :, :)",
        "(1, :, :)",
        "(2, :, :)",
    ]
    assert image(figure, 1).tolist() == [[4, 5], [6, 7]]
    ranges = {tuple(panel.images[0].get_clim()) for panel in planes[:3]}
    assert len(ranges) == 1


def test_findings_are_told_by_color_and_letter():
    trace = of_grid((5,), range(5))
    report = checks.run_checks(trace, select=["PD101"])
    figure = plot.grid(trace, "findings", report=report)
    assert image(figure).tolist() == [[0, 0, 0, 0, 3]]
    marks = [(t.get_text(), t.get_position()) for t in figure.axes[0].texts]
    assert marks == [("x", (4, 0))]
    assert "x error" in words(figure)


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda t: plot.grid(t, "colour"), "color"),
        (lambda t: plot.grid(t, "findings"), "report"),
        (lambda t: plot.grid(t, launch=1), "launch"),
        (lambda t: plot.timeline(t, blocks=[(3, 0)]), "blocks"),
        (lambda t: plot.timeline(t, start=9, end=9), "end"),
        (lambda t: plot.memory(t, space="vmem"), "space"),
        (lambda t: plot.buffer(t, "d"), "buffer"),
        (lambda t: plot.buffer(t, "c", at=10**6), "at"),
        (lambda t: plot.buffer(t, "c", index=(0,)), "index"),
    ],
)
def test_wrong_arguments_are_refused_with_the_right_ones(product, draw, words):
    with pytest.raises(errors.BadOption, match=f"`{words}` got .*; accepted: "):
        draw(product)


def bars(figure, color):
    """`(row, start, length)` of the bars with a color."""
    found = []
    for collection in figure.axes[0].collections:
        if to_hex(collection.get_edgecolor()[0]) != color.lower():
            continue
        for path in collection.get_paths():
            box = path.get_extents()
            found.append((round(box.y0 + 0.36), box.x0, box.width))
    return sorted(found)


def test_timeline_has_a_lane_for_each_thread_with_its_waits():
    b = TraceBuilder(grid=(1,))
    bar = b.barrier("bar")
    one, two = b.thread(block=0, index=0), b.thread(block=0, index=1)
    copy = two.spawn()
    one.blocked(bar)
    copy.arrive(bar)
    copy.end()
    one.wait(bar)
    figure = plot.timeline(b.close())
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == [
        "warpgroup 0 of block (0,)",
        "warpgroup 1 of block (0,)",
        "tma of block (0,)",
    ]
    assert bars(figure, style.VERMILION) == [(0, 1, 3)]
    runs = {bar for bar in bars(figure, style.BLUE) if bar[0] < 2}
    assert runs == {(0, 4, 1), (1, 0, 1)}
    assert (2, 0, 4) in bars(figure, style.BLUE)
    assert figure.axes[0].get_xlabel() == "event"
    assert {"runs", "waits", "in flight"} <= set(words(figure).split(" | "))


def test_thread_of_the_launch_runs_to_its_end_and_every_lane_has_a_label():
    trace = recorded(copy_compute_copy(blocks=2))
    root = next(t for t in trace.threads if t.kind == "launch")
    assert trace.columns.thread[-1] != root.number
    figure = plot.timeline(trace)
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert all(labels)
    row = labels.index(root.name)
    ends = [x + width for y, x, width in bars(figure, style.BLUE) if y == row]
    assert max(ends) == len(trace)


def test_two_agents_at_a_time_have_a_label_each():
    b = TraceBuilder(grid=(1,))
    one = b.thread(block=0, index=0)
    copies = [one.spawn(), one.spawn()]
    for copy in copies:
        copy.end()
    axes = plot.timeline(b.close()).axes[0]
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels[1:] == ["tma of block (0,)", "more tma of block (0,)"]


def test_timeline_of_some_blocks_and_events():
    trace = recorded(copy_compute_copy(blocks=4))
    figure = plot.timeline(trace, blocks=[1, (2,)], start=20, end=40)
    labels = {label.get_text() for label in figure.axes[0].get_yticklabels()}
    assert labels
    assert all("(1,)" in label or "(2,)" in label for label in labels)
    assert figure.axes[0].get_xlim() == (20, 40)


def test_timeline_says_how_many_lanes_it_leaves_out():
    trace = recorded(copy_compute_copy(blocks=30))
    figure = plot.timeline(trace)
    assert len(figure.axes[0].get_yticks()) == lanes.MOST_LANES
    assert "more lanes" in figure.axes[0].get_title(loc="left")
    assert figure.axes[0].get_xlim()[1] < len(trace)


def test_agents_share_rows_that_they_do_not_overlap_in():
    spans = [[(0, 9, 2), (3, 5, 1)], [(4, 6, 2)], [(9, 12, 2)], [(6, 7, 2)]]
    rows = lanes.packed(spans)
    assert rows == [[*spans[0], *spans[2]], [*spans[1], *spans[3]]]


def test_memory_adds_up_what_is_alive_in_the_fullest_block():
    b = TraceBuilder(grid=(2,))
    for block in range(2):
        t = b.thread(block=block)
        row = {"space": "smem", "scope": "block", "block": block}
        first, second = (b.buffer(n, (256 * (block + 1),), **row) for n in "ab")
        t.alloc(first)
        t.alloc(second)
        t.free(first)
        t.read(second)
    trace = b.close()
    figure = plot.memory(trace)
    (panel,) = figure.axes
    assert "smem of block (1,): at most 4 KiB" in panel.get_title(loc="left")
    assert panel.lines[0].get_xdata().tolist() == [0, 4, 5, 6, 8]
    assert panel.lines[0].get_ydata().tolist() == [0, 2, 4, 2, 2]
    assert panel.get_ylabel() == "smem (KiB)"
    assert [text.get_text() for text in panel.get_legend().get_texts()] == ["a", "b"]


def test_limit_of_the_chip_is_drawn_where_it_is_near():
    b = TraceBuilder(grid=(1,))
    t = b.thread(block=0)
    s = b.buffer("s", (160, 256), space="smem", scope="block", block=0)
    t.alloc(s)
    t.read(s)
    b.finish()
    trace = b.close()
    launch = trace.launches[0]
    object.__setattr__(launch, "chip", "h100")
    panel = plot.memory(trace, space="smem").axes[0]
    assert "limit 227 KiB" in panel.get_title(loc="left")
    assert panel.lines[-1].get_ydata() == [227, 227]


def test_buffer_shows_the_values_before_an_event(product):
    at = int(product.events.where(kind="write", buffer="c")[4])
    figure = plot.buffer(product, "c", at=at)
    memory = fold.memory(product, "c", at)
    shown = image(figure)
    np.testing.assert_array_equal(np.isnan(shown), ~memory.initialized)
    known = memory.initialized
    np.testing.assert_array_equal(shown[known], memory.values[known])
    assert f"unset ({np.count_nonzero(~known)})" in words(figure)
    assert not figure.axes[0].patches
    after = plot.buffer(product, "c", at=at + 1)
    (frame,) = [p for p in after.axes[0].patches if isinstance(p, Rectangle)]
    assert (frame.get_xy(), frame.get_width(), frame.get_height()) == (
        (3.5, 3.5),
        4,
        4,
    )
    assert "framed: its last write" in after.axes[0].get_title(loc="left")


def with_odd_values():
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    values[0] = [np.nan, np.inf, -np.inf, 1]
    b = TraceBuilder(grid=(1,))
    t = b.thread(block=0)
    x, line = b.buffer("x", (3, 4), initial=values), b.buffer("line", (6,))
    t.write(x, [(2, 1), (0, 4)])
    t.write(line, [(1, 3)], value=np.array([1, np.nan, 2], np.float32))
    return b.close()


def test_what_is_no_value_has_a_pattern_and_a_word():
    figure = plot.buffer(with_odd_values(), "x")
    said = words(figure)
    for name, count in (("NaN", 1), ("inf", 2), ("not recorded", 4)):
        assert f"{name} ({count})" in said
    assert "unset" not in said
    hatches = {h for c in figure.axes[0].collections for h in c.hatches}
    assert hatches == {ODD[name][1] for name in ("NaN", "inf", "not recorded")}
    written = [t.get_text() for t in figure.axes[0].texts]
    assert written == ["1", "4", "5", "6", "7"]


def test_buffer_of_one_dimension_is_a_line_with_gaps():
    figure = plot.buffer(with_odd_values(), "line")
    panel = figure.axes[0]
    np.testing.assert_array_equal(
        panel.lines[0].get_ydata(), [np.nan, 1, np.nan, 2, np.nan, np.nan]
    )
    spans = sorted((p.get_x(), p.get_width()) for p in panel.patches)
    assert spans == [(-0.5, 1), (1.5, 1), (3.5, 2)]
    assert "unset (3)" in words(figure)


def test_of_several_instances_the_last_touched_is_shown():
    trace = recorded(elementwise())
    windows = [b for b in trace.buffers if b.role == "window" and b.name == "w"]
    assert len(windows) > 2
    at = int(trace.events.where(buffer=windows[1].number, kind="write")[0]) + 1
    title = plot.buffer(trace, "w", at=at).axes[0].get_title(loc="left")
    assert windows[1].owner in title


def test_planes_of_a_deep_buffer_are_chosen():
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    b = TraceBuilder()
    b.thread().read(b.buffer("x", (2, 3, 4), initial=values))
    trace = b.close()
    np.testing.assert_array_equal(image(plot.buffer(trace, "x")), values[0])
    np.testing.assert_array_equal(image(plot.buffer(trace, "x", index=(1,))), values[1])


@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (0,), (2000, 3)])
def test_any_shape_can_be_drawn(shape):
    b = TraceBuilder()
    b.thread().read(b.buffer("x", shape, initial=np.zeros(shape, np.float32)))
    figure = plot.buffer(b.close(), "x")
    figure.canvas.draw()


def test_figure_shows_itself_and_leaves_matplotlib_as_it_was(product):
    before = dict(matplotlib.rcParams)
    figure = plot.grid(product)
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert dict(matplotlib.rcParams) == before


def test_figure_needs_no_pyplot_and_is_drawn_when_asked_for():
    script = (
        "import sys, pallas_debug as p\n"
        "assert callable(p.plot.grid)\n"
        "assert 'matplotlib' not in sys.modules\n"
        "from pallas_debug.views.plot import style\n"
        "with style.figure(1) as made: made.subplots()\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_missing_matplotlib_is_said(product, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(errors.NotInstalled, match="`matplotlib`"):
        plot.grid(product)

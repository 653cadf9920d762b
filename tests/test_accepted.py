"""Wrong arguments anywhere in the public API are one clear error of ours."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl

import pallas_debug as pldb
from pallas_debug import accepted
from pallas_debug.errors import BadOption, NoSuchEvent, PallasDebugError
from pallas_debug.session.portability import Portability

X = np.ones((8, 8), np.float32)
WRONG = [
    *(3, -7, 10**9, 10**30, "x", "", 2.5, float("nan"), True, None, b"x"),
    *(["a"], {}, (0, 0), slice(0, 1), object()),
    *(np.int64(1), np.float32(1), np.zeros(3), np.zeros((2, 2))),
    *(jnp.int32(1), jnp.zeros(2), np.array(1), np.array("x"), np.array(2.5)),
    *(np.array(True), np.array([True]), np.array(None), {1}, range(2)),
    *(np.s_[0:2, 1], np.s_[..., 0], slice("a", 2), slice(0.5, 1)),
]


def double(x):
    def double_kernel(x_ref, o_ref):
        doubled = x_ref[...] * 2.0
        o_ref[...] = doubled

    block = pl.BlockSpec((4, 8), lambda i: (i, 0))
    return pl.pallas_call(
        double_kernel,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=(2,),
        in_specs=[block],
        out_specs=block,
    )(x)


@functools.cache
def recorded():
    return pldb.trace(double, X)


def session():
    made = pldb.Session(recorded())
    made.jump(5)
    return made


def named(verb, *names, **fixed):
    """Calls with one keyword each."""
    return {
        f"{verb.__name__}({name})": lambda value, name=name: verb(
            **fixed, **{name: value}
        )
        for name in names
    }


def method(name):
    return lambda value: getattr(session(), name)(value)


WHERE = "kind buffer block thread line within launch space op region nan inf"
METHODS = (
    "step back jump run_to source interleave replay open delete enable disable memory "
    "contents where variables origin evaluate follow add last_write watch find break_at "
    "record_more attach"
)


def where(**given):
    return recorded().events.where(**given)


def find(**given):
    return session().find(**given)


def focus(**given):
    return session().focus(**given)


def divert(name="o_ref", value=1.0, **given):
    return session().divert(name, value, **given)


def watch(**given):
    return session().watch("o_ref", **given)


def stops(**given):
    made = session()
    made.break_at(kind="write", **given)
    return str(made.continue_())


def looks(**given):
    return session().variables(**given), session().evaluate("event + 1", **given)


def element(value):
    return session().last_write("o_ref", value), session().origin("o_ref", value)


def to_html(**given):
    return recorded().to_html(**given)


def widget(**given):
    return session().widget(**given)


def check(**given):
    return pldb.check(recorded(), **given)


def compare(**given):
    return pldb.compare(double, lambda x: 2 * x, X, **given)


CALLS = {
    "load": pldb.load,
    "save": lambda value: recorded().save(value),
    "trace": lambda value: pldb.trace(value, X),
    "check": lambda value: pldb.check(value, X),
    "debug": lambda value: pldb.debug(value, X),
    "compare": lambda value: pldb.compare(value, X, X),
    "recording": lambda value: pldb.recording(value).__enter__(),
    "Session": pldb.Session,
    "Session(report)": lambda value: pldb.Session(recorded(), value).next_finding(),
    "trace[]": lambda value: recorded()[value],
    "trace[:]": lambda value: recorded()[:value],
    "trace[a:]": lambda value: recorded()[value:3],
    "events[]": lambda value: recorded().events[value],
    "values": lambda value: recorded().values(value),
    "payload": lambda value: recorded().payload(value),
    "region": lambda value: recorded().region(value),
    "memory(at)": lambda value: session().memory("o_ref", at=value),
    "contents(part)": lambda value: session().contents("o_ref", value),
    "where(all)": lambda value: session().where(all=value),
    "element": element,
    "at": lambda value: pldb.check(recorded()).at(value),
    "before": lambda value: recorded().order.before(value, 3),
    "concurrent": lambda value: recorded().order.concurrent(3, value),
    "clock": lambda value: recorded().order.clock(value),
    "rows": lambda value: Portability(name="", jax="", chip="", rows=())[value],
    "divert(name)": lambda value: session().divert(value, 1.0),
    **{name: method(name) for name in METHODS.split()},
    **named(where, *WHERE.split()),
    **named(find, *WHERE.split(), "finding"),
    **named(focus, "device", "block", "thread", "buffer"),
    **named(divert, "value", "at", "part", "thread"),
    **named(watch, "region", "on", "when", "label"),
    **named(stops, "when", "label", "enabled"),
    **named(looks, "thread", "at"),
    **named(to_html, "path", "report", "state", "title", "values_bytes", "address"),
    **named(to_html, "no_such_option"),
    **named(widget, "title", "values_bytes", "no_such_option"),
    **named(check, "select", "ignore", "options"),
    **named(compare, "tolerance", "options"),
}
PLOTS = {
    "grid": ("color", "launch", "report"),
    "memory": ("launch", "space"),
    "buffer": ("name", "at", "index"),
    "timeline": ("launch", "blocks", "start", "end"),
    "overview": ("at", "buffer", "report"),
    "animation": ("launch", "buffer", "frames", "report"),
}


def is_told(call, value):
    """Calls; anything but an answer and an error of ours fails."""
    said = ""
    try:
        call(value)
    except PallasDebugError as error:
        said = str(error)
    except OSError as error:
        if error.filename is None:  # not about a path where no file is
            raise
    assert len(said) < 900


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_argument_is_told(name):
    for value in WRONG:
        is_told(CALLS[name], value)


@pytest.mark.parametrize("name", PLOTS)
def test_a_wrong_argument_of_a_plot_is_told(name):
    figure = getattr(pldb.plot, name)
    given = {"name": "o_ref"} if name == "buffer" else {}
    for value in WRONG:
        if accepted.is_whole(value) or isinstance(value, str) or value is None:
            continue  # mostly right, and slow
        is_told(lambda value: figure(value, **given), value)
        for option in PLOTS[name]:
            is_told(lambda v, o=option: figure(recorded(), **{**given, o: v}), value)
    for value in ("no", 10**9, -7):
        for option in {"report", "launch"} & {*PLOTS[name]}:
            with pytest.raises(BadOption, match=option):
                figure(recorded(), **{**given, option: value})


@pytest.mark.parametrize("name", pldb.Options.__dataclass_fields__)
def test_a_wrong_option_is_told_when_it_is_made_or_used(name):
    for value in WRONG:
        is_told(
            lambda v: pldb.trace(double, X, options=pldb.Options(**{name: v})), value
        )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: pldb.load(3), "`path` got 3; accepted: the path of a file"),
        (lambda: session().where("x"), "`thread` got 'x'; accepted: a thread's number"),
        (lambda: session().variables(99), "`thread` got 99; accepted"),
        (
            lambda: session().evaluate("doubled", at=10**9),
            "accepted: a number of events",
        ),
        (lambda: where(block="x"), "accepted: a linear number, or coordinates"),
        (lambda: to_html(titel="x"), "`to_html` got 'titel'; .*\n.*try: `title`"),
        (lambda: recorded()[99], "there is no event 99: the trace has "),
        (lambda: pldb.check(recorded(), select=3), "codes or names of checks"),
    ],
)
def test_the_error_names_the_argument_and_what_is_accepted(call, words):
    with pytest.raises((BadOption, NoSuchEvent), match=words):
        call()


@pytest.mark.parametrize("value", [True, False, np.True_, np.array(True)])
def test_yes_and_no_are_no_numbers(value):
    made = session()
    moves = ("step", "back", "jump", "interleave", "replay", "delete", "origin")
    for call in (*(getattr(made, name) for name in moves), made.memory):
        with pytest.raises(BadOption):
            call(value)
    for option in ("thread", "block", "line", "launch", "buffer", "kind"):
        with pytest.raises(BadOption, match=option):
            where(**{option: value})
    for option in ("thread", "block", "device"):
        with pytest.raises(BadOption, match=option):
            made.focus(**{option: value})
    with pytest.raises(BadOption, match=r"`thread` got .*: 0 … "):
        made.where(thread=value)
    with pytest.raises(BadOption, match="element"):
        made.last_write("o_ref", (0, value))


def test_numbers_of_numpy_and_jax_are_numbers():
    made, event = session(), recorded().events[np.int64(3)]
    for number in (np.int32(3), np.uint8(3), jnp.int32(3)):
        assert recorded()[number].seq == event.seq
        assert made.jump(number).cursor == 4
        assert len(recorded()[:number]) == 3
        assert (where(thread=number - 2) == where(thread=1)).all()
        same = made.variables(number - 2, number + 2), made.variables(1, 5)
        assert str(same[0]) == str(same[1])
    chosen = pldb.Options(cores=np.int64(2), max_events=np.int32(9), seed=np.uint8(1))
    assert (type(chosen.cores), type(chosen.max_events)) == (int, int)
    assert chosen == pldb.Options(cores=2, max_events=9, seed=1)
    made = pldb.trace(double, X, options=pldb.Options(blocks=[np.int64(1)]))
    assert set(made.columns.block.tolist()) <= {-1, 1}


def test_an_empty_trace_refuses_what_it_does_not_have():
    made = pldb.Session(recorded()[:0])
    assert not made.step().moved
    assert not made.locals
    with pytest.raises(BadOption, match="after an event"):
        made.divert("o_ref", 0.0)
    with pytest.raises(BadOption, match="thread"):
        made.where(7)

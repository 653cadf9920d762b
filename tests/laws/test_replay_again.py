"""Law 11 for a launch that is recorded again: known rows, new values, never a wrong one."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from laws.machine_laws import same, with_other_values
from laws.test_replay_wide import COUNT, X, doubled, launch, rows

import pallas_debug as pldb
from pallas_debug.machine import Options, compile_kernel, run
from pallas_debug.machine.replaying import encore
from pallas_debug.trace import Writer


def accumulated():
    """Windows that are kept, filled anew and written back."""
    x, y = (np.arange(4096, dtype=np.float32).reshape(64, 64) % n for n in (7, 5))

    def kernel(x, y, o):
        @pl.when(pl.program_id(2) == 0)
        def _():
            o[...] = jnp.zeros_like(o)

        o[...] += x[...] @ y[...]

    spec = pl.BlockSpec
    call = pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((64, 64), jnp.float32),
        grid=(4, 4, 4),
        in_specs=[
            spec((16, 16), lambda i, j, k: (i, k)),
            spec((16, 16), lambda i, j, k: (k, j)),
        ],
        out_specs=spec((16, 16), lambda i, j, k: (i, j)),
    )
    return call, (x, y)


def by_a_scalar():
    """Where each block reads follows from an operand."""

    def kernel(starts, x, o):
        i = pl.program_id(0)
        o[rows(i)] = x[rows(starts[i])] * 2.0

    starts = jnp.asarray(np.random.default_rng(0).permutation(COUNT), jnp.int32)
    return launch(kernel, starts, X, like=X)


def by_what_it_read():
    """The way of each block follows from its values."""

    def kernel(x, o):
        i = pl.program_id(0)
        value = x[rows(i)]

        @pl.when(value[0, 0] > 0)
        def _():
            o[rows(i)] = value

    return launch(kernel, X)


def masked():
    """Which elements are written follows from values."""

    def kernel(x, o):
        i = pl.program_id(0)
        value = x[rows(i)]
        pltpu.store(o.at[rows(i)], value, mask=value > 0)

    return launch(kernel, X)


SMALL = (X[:, :16] ** 2 + 1).astype(np.float32)  # such values stay where they are


def chosen_by_value():
    """Which of two recorded values a third one is follows from values."""

    def kernel(x, o, p, q):
        i = pl.program_id(0)
        value = x[rows(i)]
        one, two = value + 1.0, value * 2.0
        o[rows(i)] = jax.lax.select_n(jnp.sum(value) > 0, one, two)
        p[rows(i)] = one
        q[rows(i)] = two

    return launch(kernel, SMALL, like=SMALL, outputs=3)


def perhaps_the_same():
    """A value is stored twice, or another one beside it."""

    def kernel(x, o, p):
        i = pl.program_id(0)
        value = x[rows(i)]
        o[rows(i)] = jnp.where(jnp.max(value) > 0, value, 0.0)
        p[rows(i)] = value

    return launch(kernel, SMALL, like=SMALL, outputs=2)


def shared_from_before():
    """Constants of all blocks have numbers in an order that the first ones choose."""

    def kernel(x, o, p):
        i = pl.program_id(0)
        one, two = (jax.lax.broadcasted_iota(jnp.float32, (8, 16), d) for d in (0, 1))

        @pl.when(i < 2)
        def _():
            up = x[0, 0] > 0
            o[rows(i)] = jax.lax.cond(up, lambda: one, lambda: two)
            p[rows(i)] = jax.lax.cond(up, lambda: two, lambda: one)

        @pl.when(i >= 2)
        def _():
            o[rows(i)] = one
            p[rows(i)] = two

    return launch(kernel, SMALL, like=SMALL, outputs=2)


@pytest.fixture
def performed(monkeypatch):
    """How many batches were repeated."""
    counts, original = [], encore.Encore.perform

    def perform(self, *args):
        counts.append(sum(len(cues) for _, _, cues in self.parts))
        return original(self, *args)

    monkeypatch.setattr(encore.Encore, "perform", perform)
    return counts


def source(make):
    call, inputs = make()
    return pldb.trace(call, *inputs).launches[0].source


def alike(one, program, options=None):
    """What a run of a known program records is what one without replay does."""
    options = Options(**(options or {}))
    known = run(one, Writer(), options, program=program)
    plain = run(one, Writer(), options, program=program, replay=False)
    same(known.writer, plain.writer)
    for mine, theirs in zip(known.results(), plain.results(), strict=True):
        assert mine.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("make", [doubled, accumulated])
def test_rows_of_steady_blocks_are_not_found_again(make, performed):
    one = source(make)
    program = compile_kernel(one.kernel, coarse=True)
    for _ in range(2):
        alike(one, program)
    performed.clear()
    alike(with_other_values(one), program)
    assert sum(performed) > COUNT // 2


@pytest.mark.parametrize("make", [by_a_scalar, by_what_it_read, masked])
def test_what_follows_from_values_is_found_again(make, performed):
    one = source(make)
    program = compile_kernel(one.kernel, coarse=True)
    for given in (one, one, with_other_values(one), one):
        alike(given, program)
    assert not performed


@pytest.mark.parametrize(
    "make", [chosen_by_value, perhaps_the_same, shared_from_before]
)
def test_values_that_are_others_have_their_own_numbers(make, performed):
    one = source(make)
    (x,) = one.arguments
    half = np.where(np.arange(len(x))[:, None] < len(x) // 2, x, -x)
    program = compile_kernel(one.kernel, coarse=True)
    for given in (x, x, x, half, -x, x, -half):
        alike(replace(one, arguments=(given,)), program)
    assert performed
    assert program.ways


def test_arrays_are_not_kept_with_a_batch(performed):
    def kernel(o):
        o[...] = jnp.full(o.shape, pl.program_id(0), jnp.float32)

    one = source(lambda: launch(kernel, like=SMALL))
    program = compile_kernel(one.kernel, coarse=True)
    for _ in range(3):
        alike(one, program)
    assert not program.encores.batches


@pytest.mark.parametrize(
    "options",
    [
        {"max_events": 150},
        {"max_value_bytes": 7 * X[:8].nbytes},
        {"blocks": [0, 1, 2, *range(10, 30)]},
        {"values": "none"},
        {"uninitialized": "zero"},
    ],
)
def test_a_batch_is_of_one_set_of_options(options, performed):
    one = source(doubled)
    program = compile_kernel(one.kernel, coarse=True)
    for _ in range(3):
        alike(one, program)
        alike(one, program, options)
        alike(with_other_values(one), program, options)
    assert performed
    assert program.encores.batches
    assert program.ways


def test_only_the_same_place_is_one():
    """A writer that has something else before gives other numbers."""
    one = source(doubled)
    program = compile_kernel(one.kernel, coarse=True)
    for count in (1, 1, 3, 2, 3):
        known, plain = Writer(), Writer()
        for _ in range(count):
            run(one, known, Options(), program=program)
            run(one, plain, Options(), program=program, replay=False)
        same(known, plain)


def test_a_failure_is_recorded_without_replay(performed, monkeypatch):
    one = source(doubled)
    program = compile_kernel(one.kernel, coarse=True)
    for _ in range(2):
        alike(one, program)
    assert program.encores.batches

    def raising(*_):
        raise MemoryError

    for path in {part[0] for kept in program.encores.batches for part in kept.parts}:
        its = path.function
        object.__setattr__(
            path, "function", lambda *a, its=its: (*its(*a)[:2], raising, raising)
        )
    alike(one, program)
    assert performed
    assert not program.encores.batches


def test_what_is_kept_is_bounded(monkeypatch):
    monkeypatch.setattr(encore, "MOST_BYTES", 60_000)
    one = source(doubled)
    program = compile_kernel(one.kernel, coarse=True)
    for n in range(6):
        alike(one, program, {"max_events": 200 + n})
        assert sum(kept.size for kept in program.encores.batches) <= 60_000

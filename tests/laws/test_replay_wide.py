"""Law 11 for blocks that are replayed many at once, and for those that must not be."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from laws.machine_laws import replays_alike

import pallas_debug as pldb
from pallas_debug.machine.replaying import batch

ROWS, COLUMNS, COUNT = 8, 128, 40
ANY = pl.BlockSpec(memory_space=pl.ANY)


def numbers(*shape, dtype=np.float32, seed=0):
    values = np.random.default_rng(seed).normal(size=shape) * 8
    return jnp.asarray(values.astype(np.float32)).astype(dtype)


X = numbers(COUNT * ROWS, COLUMNS)


def rows(first, size=ROWS):
    return pl.ds(first * ROWS, size)


def launch(kernel, *inputs, grid=(COUNT,), like=X, outputs=1, **rest):
    out = [jax.ShapeDtypeStruct(like.shape, like.dtype)] * outputs
    call = pl.pallas_call(
        kernel,
        out_shape=out,
        grid=grid,
        in_specs=[ANY] * len(inputs),
        out_specs=[ANY] * outputs,
        **rest,
    )
    return call, inputs


def doubled():
    def kernel(x, o):
        i = pl.program_id(0)
        o[rows(i)] = x[rows(i)] * 2.0 - 1.0

    return launch(kernel, X)


def backwards():
    def kernel(x, o):
        i = pl.program_id(0)
        o[rows(COUNT - 1 - i)] = x[rows(i)] + x[rows(0)]

    return launch(kernel, X)


def on_a_grid():
    """A row of the grid ends within what is done at once."""
    x = numbers(6 * ROWS, 7 * COLUMNS)

    def kernel(x, o):
        i, j = pl.program_id(0), pl.program_id(1)
        part = rows(i), pl.ds(j * COLUMNS, COLUMNS)
        o[part] = jnp.maximum(x[part], -x[part])

    return launch(kernel, x, grid=(6, 7), like=x)


def every_other_row():
    def kernel(x, o):
        i = pl.program_id(0)
        part = pl.ds(i * ROWS, ROWS // 2, stride=2)
        o[part] = x[part] * 3.0

    return launch(kernel, X)


def one_row_each():
    def kernel(x, o):
        i = pl.program_id(0)
        o[i] = x[i] / x[i + 1]

    return launch(kernel, X)


def half_precision():
    x = numbers(COUNT * ROWS, COLUMNS, dtype=jnp.bfloat16)

    def kernel(x, y, o):
        i = pl.program_id(0)
        o[rows(i)] = x[rows(i)] * y[rows(i)] + x[rows(i)]

    return launch(kernel, x, x[::-1], like=x)


def integers():
    x = numbers(COUNT * ROWS, COLUMNS, dtype=jnp.int32)

    def kernel(x, o):
        i = pl.program_id(0)
        o[rows(i)] = (x[rows(i)] & 7) * x[rows(i)]

    return launch(kernel, x, like=x)


def through_scratch():
    def kernel(x, o, p, scratch):
        i = pl.program_id(0)
        scratch[...] = x[rows(i)] + 1.0
        o[rows(i)] = scratch[...] * scratch[...]
        p[rows(i)] = scratch[...]

    scratch = [pltpu.VMEM((ROWS, COLUMNS), jnp.float32)]
    return launch(kernel, X, outputs=2, scratch_shapes=scratch)


def copied_by_hand():
    def kernel(x, o, scratch, arrived):
        i = pl.program_id(0)
        copy = pltpu.make_async_copy(x.at[rows(i)], scratch, arrived)
        copy.start()
        copy.wait()
        scratch[...] = scratch[...] * 0.5
        back = pltpu.make_async_copy(scratch, o.at[rows(i)], arrived)
        back.start()
        back.wait()

    scratch = [pltpu.VMEM((ROWS, COLUMNS), jnp.float32), pltpu.SemaphoreType.DMA]
    return launch(kernel, X, scratch_shapes=scratch)


def used_again():
    """A value that another is made of is needed once more afterwards."""

    def kernel(x, o, p, q):
        i = pl.program_id(0)
        twice = x[rows(i)] * 2.0
        o[rows(i)] = twice + 1.0
        p[rows(i)] = twice * 3.0
        q[rows(i)] = twice - x[rows(i)]

    return launch(kernel, X, outputs=3)


WIDE = [
    used_again,
    doubled,
    backwards,
    on_a_grid,
    every_other_row,
    one_row_each,
    half_precision,
    integers,
    through_scratch,
    copied_by_hand,
]


def into_each_other():
    """The boxes of two blocks share rows: the later one's stay."""

    def kernel(x, o):
        i = pl.program_id(0)
        o[rows(i, 2 * ROWS)] = x[rows(i, 2 * ROWS)] * 2.0

    return launch(kernel, X, grid=(COUNT - 1,))


def all_into_one():
    def kernel(x, o):
        o[rows(0)] = x[rows(pl.program_id(0))] * 2.0

    return launch(kernel, X)


def from_the_block_before():
    def kernel(x, o):
        i = pl.program_id(0)
        o[rows(i + 1)] = o[rows(i)] + x[rows(i)]

    return launch(kernel, X, grid=(COUNT - 1,))


def summed_in_scratch():
    """What a block finds in scratch is what the one before left there."""

    def kernel(x, o, scratch):
        i = pl.program_id(0)
        o[rows(i)] = scratch[...] + x[rows(i)]
        scratch[...] = x[rows(i)]

    scratch = [pltpu.VMEM((ROWS, COLUMNS), jnp.float32)]
    return launch(kernel, X, scratch_shapes=scratch)


def in_its_own_place():
    def kernel(x, o):
        i = pl.program_id(0)
        o[rows(i)] = x[rows(i)] * 2.0

    return launch(kernel, X, input_output_aliases={0: 0})


def rows_with_a_rest():
    """Which of two NaNs a sum gives depends on where in an array they are."""
    x = X[:, :33].at[::3, ::2].set(jnp.nan)
    y = (-x)[:, ::-1].at[::2, ::3].set(-jnp.nan)

    def kernel(x, y, o):
        i = pl.program_id(0)
        o[rows(i)] = x[rows(i)] + y[rows(i)]

    return launch(kernel, x, y, like=x)


def written_twice():
    """Two recorded values, although they are one."""

    def kernel(x, o, p):
        i = pl.program_id(0)
        value = x[rows(i)] * 2.0
        o[rows(i)] = value
        p[rows(i)] = value

    return launch(kernel, X, outputs=2)


def handed_back():
    def kernel(x, o, p):
        i = pl.program_id(0)
        value = x[rows(i)] * 2.0
        o[rows(i)] = value
        p[rows(i)] = jnp.where(True, value, value).reshape(ROWS, COLUMNS)

    return launch(kernel, X, outputs=2)


def another_operation():
    def kernel(x, o):
        i = pl.program_id(0)
        o[rows(i)] = jnp.exp(x[rows(i)])

    return launch(kernel, X)


def by_its_number():
    def kernel(x, o):
        i = pl.program_id(0)
        o[rows(i)] = x[rows(i)] * i.astype(jnp.float32)

    return launch(kernel, X)


NARROW = [
    by_its_number,
    from_the_block_before,
    summed_in_scratch,
    in_its_own_place,
    another_operation,
    rows_with_a_rest,
    written_twice,
    handed_back,
]
ASKED = [into_each_other, all_into_one]  # where it runs


@pytest.fixture
def together(monkeypatch):
    """How many blocks were replayed many at once, run by run."""
    counts, original = [], batch.Batches._blocks

    def blocks(self, *args):
        counts.append(original(self, *args))
        return counts[-1]

    monkeypatch.setattr(batch.Batches, "_blocks", blocks)
    return counts


def replayed(make):
    call, inputs = make()
    trace = pldb.trace(call, *inputs, options=pldb.Options(values="none"))
    return replays_alike(trace.launches[0].source, {}).replay.ways


@pytest.mark.parametrize("make", WIDE)
def test_independent_blocks_are_replayed_together(make, together):
    assert replayed(make)
    assert sum(together) > COUNT // 2


@pytest.mark.parametrize("make", [*NARROW, *ASKED])
def test_blocks_that_need_each_other_are_not(make, together):
    assert replayed(make)
    assert together
    assert sum(together) == 0


@pytest.mark.parametrize("make", [doubled, on_a_grid, copied_by_hand])
@pytest.mark.parametrize(
    "options",
    [
        {"max_events": 100},
        *({"max_events": n} for n in range(8, 24)),
        {"max_value_bytes": 7 * ROWS * COLUMNS * 4},
        {"blocks": [0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 20, 21, 22, 23, 24, 30, 31]},
    ],
)
def test_limits_are_met_at_the_same_event(make, options):
    call, inputs = make()
    trace = pldb.trace(call, *inputs, options=pldb.Options(values="none"))
    replays_alike(trace.launches[0].source, options)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (doubled, lambda x: x * np.float32(2) - np.float32(1)),
        (half_precision, lambda x, y: x * y + x),
        (copied_by_hand, lambda x: x * np.float32(0.5)),
    ],
)
def test_values_are_right(make, expected):
    call, inputs = make()
    jitted = jax.jit(functools.partial(call))
    for _ in range(2):  # a way is known the second time
        (got,) = pldb.trace(jitted, *inputs).outputs
        wanted = expected(*map(np.asarray, inputs))
        assert np.asarray(got).tobytes() == wanted.tobytes()

"""The pretended chip is of the kernel's kind; a generic kernel runs on any."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jax.experimental.pallas import tpu as pltpu
from jax.experimental.pallas import triton as plt

import pallas_debug as pldb
from pallas_debug import errors

X = jnp.zeros((8, 128), "float32")


def body(x_ref, o_ref):
    o_ref[...] = x_ref[...]


def mosaic_gpu(x):
    return plgpu.kernel(body, out_type=x)(x)


def tpu(x):
    spec = pl.BlockSpec(memory_space=pltpu.VMEM)
    return pl.pallas_call(body, out_shape=x, in_specs=[spec])(x)


def triton(x):
    params = plt.CompilerParams(num_warps=4)
    return pl.pallas_call(body, out_shape=x, compiler_params=params)(x)


def generic(x):
    return pl.pallas_call(body, out_shape=x)(x)


@pytest.mark.parametrize(
    ("kernel", "chip"),
    [
        (mosaic_gpu, "b200"),
        (triton, "a100"),
        (tpu, "v6e"),
        (tpu, "TPU v5p"),
        (generic, "h100"),
        (generic, "v5e"),
    ],
)
def test_chip_of_the_kernels_kind_is_pretended(kernel, chip):
    trace = pldb.trace(kernel, X, options=pldb.Options(chip=chip))
    assert trace.launches[0].chip == chip


@pytest.mark.parametrize(
    ("kernel", "chip", "wanted", "others"),
    [
        (mosaic_gpu, "v5e", "a GPU, since `body` is a mosaic_gpu kernel", "`b200`"),
        (triton, "v5e", "a GPU, since `body` is a triton kernel", "`a100`"),
        (tpu, "h100", "a TPU, since `body` is a tpu kernel", "`v5e`"),
    ],
)
@pytest.mark.parametrize("jit", [False, True])
def test_chip_of_another_kind_is_refused_at_the_kernel(
    kernel, chip, wanted, others, jit
):
    options = pldb.Options(chip=chip)
    with pytest.raises(errors.BadOption) as caught:
        pldb.trace(jax.jit(kernel) if jit else kernel, X, options=options)
    said = caught.value.render()
    assert f"`chip` got '{chip}'" in said
    assert wanted in said
    assert others in said
    assert f"in {kernel.__name__}, " in said


def test_recording_of_a_script_says_it_too_and_keeps_what_came_before():
    def both():
        generic(X)
        mosaic_gpu(X)

    recording = pldb.recording(options=pldb.Options(chip="v5e"))
    with pytest.raises(errors.BadOption, match="mosaic_gpu"), recording as made:
        both()
    assert [launch.backend for launch in made.trace.launches] == ["tpu"]


def by_platform(x):
    double = pl.pallas_call(lambda x, o: o.__setitem__(..., x[...] * 2), out_shape=x)
    triple = pl.pallas_call(lambda x, o: o.__setitem__(..., x[...] * 3), out_shape=x)
    return jax.lax.platform_dependent(
        x, cuda=double, tpu=triple, default=lambda x: x + 1
    )


@pytest.mark.parametrize(
    ("chip", "factor"), [("h100", 2), ("b200", 2), ("v5e", 3), (None, 2)]
)
@pytest.mark.parametrize("wrapped", [lambda fn: fn, jax.jit, jax.vmap])
def test_what_depends_on_the_platform_is_of_the_chips(chip, factor, wrapped):
    x = jnp.ones((4, 8))
    trace = pldb.trace(wrapped(by_platform), x, options=pldb.Options(chip=chip))
    assert len(trace.launches) == 1
    np.testing.assert_array_equal(trace.outputs, x * factor)


def test_what_launches_on_a_cpu_is_launched():
    def kernel_on_cpu(x):
        double = pl.pallas_call(
            lambda x, o: o.__setitem__(..., x[...] * 2), out_shape=x
        )
        return jax.lax.platform_dependent(x, cpu=double, default=double)

    x = jnp.ones((4, 8))
    trace = pldb.trace(kernel_on_cpu, x)
    np.testing.assert_array_equal(trace.outputs, x * 2)

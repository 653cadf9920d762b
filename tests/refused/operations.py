"""Operations and their options that a mode does not know."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jax.experimental.pallas import triton as pltriton

from refused.build import BARRIER, CLUSTER, SMEM, N, call, copied, kernel


def out(**options):
    def body(x_ref, o_ref, smem):
        smem[...] = x_ref[...]
        plgpu.commit_smem()
        plgpu.copy_smem_to_gmem(smem, o_ref, **options)
        plgpu.wait_smem_to_gmem(0)

    return body


def copied_in(x_ref, o_ref, smem, barrier):
    plgpu.copy_gmem_to_smem(x_ref, smem, barrier)
    plgpu.barrier_wait(barrier)
    o_ref[...] = smem[...]


def multicast(x_ref, o_ref, smem, barrier):
    plgpu.copy_gmem_to_smem(x_ref, smem, barrier, collective_axes="c")
    plgpu.barrier_wait(barrier)
    o_ref[...] = smem[...]


def predicated(x_ref, o_ref, smem):
    smem[...] = x_ref[...]
    plgpu.commit_smem()

    @pl.when(x_ref[0] == 0)
    def _():
        plgpu.copy_smem_to_gmem(smem, o_ref)

    plgpu.wait_smem_to_gmem(0)


def reduced_load(x_ref, o_ref, tmem):
    plgpu.async_load_tmem(tmem, reduce="max", layout=plgpu.Layout.TCGEN05)
    plgpu.wait_load_tmem()
    o_ref[...] = x_ref[...]


def plain_load(x_ref, o_ref, tmem):
    plgpu.async_load_tmem(tmem, layout=plgpu.Layout.TCGEN05)
    plgpu.wait_load_tmem()
    o_ref[...] = x_ref[...]


def inline(x_ref, o_ref):
    @plgpu.inline_mgpu(arg_types=(plgpu.RefType(),))
    def nothing(ctx, ref):
        del ctx, ref

    nothing(x_ref)
    o_ref[...] = x_ref[...]


def tested(x_ref, o_ref, barrier):
    plgpu.barrier_arrive(barrier)
    passed = plgpu.barrier_test(barrier)
    plgpu.barrier_wait(barrier)
    o_ref[...] = x_ref[...] + passed.astype(jnp.int32) * 0


def met(x_ref, o_ref, barrier):
    plgpu.barrier_arrive(barrier)
    plgpu.barrier_wait(barrier)
    o_ref[...] = x_ref[...]


def layout_printed(x_ref, o_ref):
    value = x_ref[...]
    plgpu.print_layout("{}", value)
    o_ref[...] = value


def printed(x_ref, o_ref):
    pl.debug_print("x = {}", x_ref[0])
    o_ref[...] = x_ref[...]


def layout_cast(x_ref, o_ref):
    layout = plgpu.Layout.WG_STRIDED((N,), vec_size=1)
    o_ref[...] = plgpu.layout_cast(x_ref[...], layout)


def delayed(x_ref, o_ref):
    pl.delay(10)
    o_ref[...] = x_ref[...]


def prefetched(x_ref, o_ref):
    plgpu.async_prefetch(x_ref)
    o_ref[...] = x_ref[...]


def in_warps(x_ref, o_ref):
    @plgpu.warp_map
    def _(warp):
        @pl.when(warp == 0)
        def _():
            o_ref[0] = x_ref[0]


def in_warps_of_warps(x_ref, o_ref):
    @plgpu.warp_map
    def _(warp):
        @plgpu.warp_map
        def _(other):
            @pl.when(other == 0)
            def _():
                o_ref[0] = x_ref[0]


def masked_load(x_ref, o_ref):
    mask = jnp.arange(N) < 5
    o_ref[...] = pltriton.load(x_ref.at[:], mask=mask, other=-1)


def masked_store(x_ref, o_ref):
    pltriton.store(o_ref.at[:], x_ref[...], mask=jnp.arange(N) < 5)


def chosen(x_ref, o_ref):
    o_ref[...] = jnp.where(jnp.arange(N) < 5, x_ref[...], -1)


@jax.jit
def doubled(value):
    return value * 2


@jax.jit
def doubled_from(ref):
    return ref[...] * 2


def helped(x_ref, o_ref):
    o_ref[...] = doubled(x_ref[...])


def helped_with_reference(x_ref, o_ref):
    o_ref[...] = doubled_from(x_ref)


def loaded(a_ref, b_ref, a_smem, b_smem, barrier):
    plgpu.copy_gmem_to_smem(a_ref, a_smem, barrier)
    plgpu.copy_gmem_to_smem(b_ref, b_smem, barrier)
    plgpu.barrier_wait(barrier)


def product(how):
    def body(a_ref, b_ref, o_ref, a_smem, b_smem, barrier):
        loaded(a_ref, b_ref, a_smem, b_smem, barrier)

        def multiply(acc):
            plgpu.wgmma(acc, a_smem, b_smem)
            return acc[...] if how == "scoped" else None

        if how == "scoped":
            o_ref[...] = pl.run_scoped(multiply, ACC)
        else:
            start = plgpu.ACC.init(jnp.zeros((64, 64), jnp.float32))
            o_ref[...] = pl.run_state(multiply)(start)

    return body


def blackwell_product(a_ref, b_ref, o_ref, a_smem, b_smem, acc, barrier, done):
    loaded(a_ref, b_ref, a_smem, b_smem, barrier)
    plgpu.tcgen05_mma(acc, a_smem, b_smem, done, accumulate=False)
    plgpu.barrier_wait(done)
    o_ref[...] = plgpu.async_load_tmem(acc)


def image(view):
    """Copies the first 64 pixels of an image, as windows of one pixel or as they are."""

    def body(x_ref, o_ref, smem, barrier):
        plgpu.copy_gmem_to_smem(view(x_ref), smem, barrier)
        plgpu.barrier_wait(barrier)
        o_ref[...] = smem[...]

    return body


def windows(ref):
    found = plgpu.im2col_ref(ref, window_shape=(1, 1), padding=((0, 0), (0, 0)))
    return found.at[pl.ds(0, 64), 0, 0, :]


def pixels(ref):
    return ref.at[0, 0]


def tensor_memory_copy(axis):
    """A copy to tensor memory, of this block or of a pair of blocks."""

    def body(x_ref, o_ref, smem, barrier, done, tmem):
        plgpu.copy_gmem_to_smem(x_ref, smem, barrier)
        plgpu.barrier_wait(barrier)
        plgpu.async_copy_smem_to_tmem(smem, tmem, collective_axis=axis)
        plgpu.tcgen05_commit_arrive(done, collective_axis=axis)
        plgpu.barrier_wait(done)
        o_ref[...] = plgpu.async_load_tmem(tmem)

    return body


def summed(x_ref, o_ref):
    o_ref[...] = x_ref[...] + jnp.sum(x_ref[...])


ACC = plgpu.ACC((64, 64), jnp.float32)
LAYOUT = (plgpu.TilingTransform((8, 64)), plgpu.SwizzleTransform(128))
TILE = plgpu.SMEM((64, 64), jnp.float16, transforms=LAYOUT)
HALVES = (jnp.ones((64, 64), jnp.float16),) * 2
SQUARE = jax.ShapeDtypeStruct((64, 64), jnp.float32)
BOTH = plgpu.Barrier(num_arrivals=2)
TMEM = plgpu.TMEM((128, 128), jnp.float32)
BLACKWELL = (
    plgpu.SMEM((128, 64), jnp.float16, transforms=LAYOUT),
    plgpu.SMEM((64, 128), jnp.float16, transforms=LAYOUT),
    TMEM,
    BOTH,
    plgpu.Barrier(orders_tensor_core=True),
)
WIDE = {
    "out": jax.ShapeDtypeStruct((128, 128), jnp.float32),
    "args": (jnp.ones((128, 64), jnp.float16), jnp.ones((64, 128), jnp.float16)),
}
IMAGE = {
    "out": jax.ShapeDtypeStruct((64, 32), jnp.float32),
    "args": (jnp.ones((1, 8, 64, 32)),),
}
STRIP = (
    plgpu.SMEM(
        (128, 32),
        jnp.float32,
        transforms=(plgpu.TilingTransform((8, 32)), plgpu.SwizzleTransform(128)),
    ),
    BARRIER,
    plgpu.Barrier(orders_tensor_core=True),
)
STRIPS = {
    "out": jax.ShapeDtypeStruct((128, 32), jnp.float32),
    "args": (jnp.ones((128, 32)),),
    **CLUSTER,
}
PLAIN = kernel(copied)
WGMMA = {"out": SQUARE, "args": HALVES}
PAIRS = {
    "copy_predicate": (kernel(out(predicate=True), SMEM), kernel(predicated, SMEM)),
    "copy_reduction": (kernel(out(reduction_op="add"), SMEM), kernel(out(), SMEM)),
    "multicast": (
        kernel(multicast, SMEM, BARRIER, **CLUSTER),
        kernel(copied_in, SMEM, BARRIER, **CLUSTER),
    ),
    "load_reduce": (kernel(reduced_load, TMEM), kernel(plain_load, TMEM)),
    "inline_mgpu": (kernel(inline), PLAIN),
    "barrier_test": (kernel(tested, BARRIER), kernel(met, BARRIER)),
    "print_layout": (kernel(layout_printed), kernel(printed)),
    "layout_cast": (kernel(layout_cast), PLAIN),
    "delay": (kernel(delayed), PLAIN),
    "prefetch": (kernel(prefetched), PLAIN),
    "warp_map": (kernel(in_warps), PLAIN),
    "nested_warp_map": (kernel(in_warps_of_warps), kernel(in_warps)),
    "masked_load": (call(masked_load), call(chosen)),
    "masked_store": (call(masked_store), call(chosen)),
    "jit_of_reference": (kernel(helped_with_reference), kernel(helped)),
    "run_state": (
        kernel(product("state"), TILE, TILE, BOTH, **WGMMA),
        kernel(product("scoped"), TILE, TILE, BOTH, **WGMMA),
    ),
    "blackwell": (
        kernel(blackwell_product, *BLACKWELL, **WIDE),
        kernel(product("scoped"), TILE, TILE, BOTH, **WGMMA),
    ),
    "image": (
        kernel(image(windows), plgpu.SMEM((64, 32), jnp.float32), BARRIER, **IMAGE),
        kernel(image(pixels), plgpu.SMEM((64, 32), jnp.float32), BARRIER, **IMAGE),
    ),
    "copy_to_tensor_memory": (
        kernel(
            tensor_memory_copy("c"),
            *STRIP,
            plgpu.TMEM((128, 32), jnp.float32, collective=True),
            **STRIPS,
        ),
        kernel(
            tensor_memory_copy(None),
            *STRIP,
            plgpu.TMEM((128, 32), jnp.float32),
            **STRIPS,
        ),
    ),
    "reduction": (kernel(summed), PLAIN),
}

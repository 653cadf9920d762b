"""Asks JAX's GPU interpret mode for a kernel, and compares with what was foreseen."""

import jax
import jax.numpy as jnp
from jax.experimental.pallas import mosaic_gpu as plgpu

import pallas_debug as pldb
from pallas_debug.jaxlink import targets
from pallas_debug.jaxlink.privates import InterpretGPUParams
from pallas_debug.jaxlink.versions import JAX

GPU = InterpretGPUParams()
X = jnp.arange(8, dtype=jnp.int32)
X2 = jnp.arange(8, dtype=jnp.int32).reshape(2, 4)
SMEM = plgpu.SMEM((8,), jnp.int32)
BARRIER = plgpu.Barrier()
GRID = {"grid": (1,), "grid_names": ("g",)}
PAIR = {"num_threads": 2, "thread_name": "t"}
CLUSTER = {"cluster": (2,), "cluster_names": ("c",)}
# Pairs of `tests/refused` that hang there: in every version, and before 0.11.2, when
# a thread that waits for one that was refused does so for ever.
STUCK = {"nobody_arrives", "other_thread_never_arrives"}
WAITING = {"refused_while_another_waits", "copy_refused_while_another_waits"}
HANGING = STUCK | WAITING if JAX < (0, 11, 2) else STUCK


def kernel(body, *scratch, out=(8,), dtype=jnp.int32, interpret=GPU, **mesh):
    return plgpu.kernel(
        body,
        out_type=jax.ShapeDtypeStruct(out, dtype),
        scratch_types=list(scratch),
        interpret=interpret,
        **mesh,
    )


def copied(x_ref, o_ref, *scratch):
    o_ref[...] = x_ref[...]


def stuck(x_ref, o_ref, barrier):
    plgpu.barrier_wait(barrier)
    o_ref[...] = x_ref[...]


def foreseen(fn, *args):
    """The findings about JAX's refusals."""
    options = pldb.Options(unsupported="stub")
    return pldb.check(pldb.trace(fn, *args, options=options), select="PD3").findings


def asked(fn, *args, timeout=60):
    """What JAX's GPU interpret mode makes of a function, on the installed version."""
    subject = targets.Subject(fn, args, {}, None, None)
    return subject.run(targets.interpreters()[0], timeout)


def is_said(finding, attempt):
    """Whether a finding has JAX's class and wording, to the letter."""
    said, wording = finding.details, finding.details["wording"]
    is_cut = f'"{wording}…"' in finding.message
    fits = attempt.message.startswith if is_cut else attempt.message.__eq__
    return said["exception"] == attempt.exception and fits(wording)


def refused(code, fn, *args):
    """JAX refuses as we foresaw, and nothing else is said; gives the finding."""
    attempt, found = asked(fn, *args), foreseen(fn, *args)
    assert attempt.status == "refused"
    assert {one.code for one in found} == {code}, found
    first = found[0]
    assert is_said(first, attempt), (attempt.exception, attempt.message, first)
    assert first.severity == "error"
    assert first.details["where"] == "GPU interpret mode"
    assert first.hint
    assert first.loc is not None
    return first


def accepted(fn, *args):
    """JAX runs it, and nothing is said."""
    attempt = asked(fn, *args)
    assert attempt.status == "runs", (attempt.exception, attempt.message)
    assert not foreseen(fn, *args)


def law(code, is_refused, fn, *args):
    """One of the two, by the installed version; the line is marked."""
    if is_refused:
        assert "refused" in refused(code, fn, *args).loc.text
    else:
        accepted(fn, *args)

"""`pallas-debug` over real kernels, in processes of its own."""

import json
import os
import pathlib
import subprocess
import sys

import jax
import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# JAX 0.10.2 and 0.11.0 lower scratch operands over a mesh.
LOWERS_SCRATCH = jax.version.__version_info__[:3] < (0, 11, 1)

REFUSED = {
    "scalar_arguments.py": "PD301",
    "dynamic_grid.py": "PD302",
    "bool_slice_start.py": "PD303",
    "lowered_scratch.py": None if LOWERS_SCRATCH else "PD304",
    "int_slice_start.py": None,
}


def pallas_debug(*words):
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "pallas_debug", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=100,
        env=env,
    )


@pytest.mark.parametrize(("name", "code"), REFUSED.items(), ids=list(REFUSED))
def test_check_finds_the_refusal_of_a_script_that_leaves_by_os_exit(name, code):
    done = pallas_debug("check", "--json", HERE / "refused" / name)
    assert done.stdout, done.stderr
    facts = json.loads(done.stdout)
    found = [one["code"] for one in facts["findings"] if one["code"][:3] == "PD3"]
    assert found == ([code] if code else []), done.stderr
    assert facts["script"]["how"] == "os._exit"
    assert done.returncode == (1 if code else 0)
    # JAX refuses to lower; what JAX refuses to run, we run anyway.
    assert ("refused" in done.stderr) == (code == "PD304")


KERNEL = """
import jax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def doubled():
    def double_kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2

    x = jax.numpy.ones((8, 128), jax.numpy.float32)
    vmem = pl.BlockSpec(memory_space=pltpu.VMEM)
    like = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return pl.pallas_call(
        double_kernel, out_shape=like, in_specs=[vmem], out_specs=vmem
    )(x)
"""


def test_options_may_stand_after_a_function_and_after_a_trace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "doubling.py").write_text(KERNEL)
    done = pallas_debug("check", "doubling:doubled", "--chip=v5e", "--save", "a.pldb")
    assert (done.stdout, done.returncode) == ("no findings\n", 0), done.stderr
    done = pallas_debug("check", "a.pldb", "--json", "--select", "PD1")
    assert json.loads(done.stdout)["launches"][0]["chip"] == "v5e"


def test_chip_of_the_other_kind_is_told_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "doubling.py").write_text(KERNEL)
    done = pallas_debug("check", "doubling:doubled", "--chip", "h100")
    assert (done.stdout, done.returncode) == ("", 2)
    assert done.stderr.startswith(
        "BadOption [PD910]: `chip` got 'h100'; accepted: a TPU"
    )


@pytest.mark.parametrize("command", ["run", "check", "debug"])
def test_block_that_is_not_there_is_told_once(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "doubling.py").write_text(KERNEL + "\ndoubled()\n")
    done = pallas_debug(command, "--blocks=9", "doubling.py")
    assert (done.stdout, done.returncode) == ("", 2)
    (said,) = done.stderr.splitlines()
    assert said.startswith("BadOption [PD910]: `blocks` got 9; ")
    assert "it has 1 block, numbered from 0" in said


TRACED_GRID = """
import jax
from jax.experimental.pallas import mosaic_gpu as plgpu

def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2

@jax.jit
def launch(n, x):
    return plgpu.kernel(double, out_type=x, grid=(n,), grid_names=("i",))(x)

def case():
    return launch, (jax.numpy.int32(2), jax.numpy.ones(8))

if __name__ == "__main__":
    launch(*case()[1])
"""


@pytest.mark.parametrize(
    "words", ["run grid.py", "check grid.py", "debug grid.py:case"]
)
def test_traced_grid_is_told_once_with_its_line(tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grid.py").write_text(TRACED_GRID)
    done = pallas_debug(*words.split())
    assert (done.stdout, done.returncode) == ("", 4)
    said, where, hint = done.stderr.splitlines()
    assert said.startswith("RefusedGrid [PD302]: JAX refuses the grid (a traced value)")
    assert "grid.py:10:   return plgpu.kernel(double" in where
    assert "static_argnums" in hint
    if words.startswith("debug"):
        return
    told = json.loads(pallas_debug(words.split()[0], "--json", words.split()[1]).stdout)
    assert (told["error"]["code"], told["error"]["loc"]["line"]) == ("PD302", 10)


def test_demo_records_a_shipped_kernel_and_gets_the_right_product():
    done = pallas_debug("demo")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "finished" in done.stdout
    assert float(done.stdout.split()[-1]) < 0.1


def test_saved_trace_is_shown_as_the_run_was(tmp_path):
    path = tmp_path / "run.pldb"
    script = HERE / "refused" / "int_slice_start.py"
    run = pallas_debug("run", "--save", path, script)
    view = pallas_debug("view", path, "--text")
    assert view.returncode == 0, view.stderr
    assert view.stdout.splitlines()[:5] == run.stdout.splitlines()[1:6]
    check = pallas_debug("check", path)
    assert check.returncode == view.returncode
    assert check.stdout.strip() in view.stdout

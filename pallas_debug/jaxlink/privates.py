"""The only file that imports `jax._src`: one name a line, with reason and since-when.

Nothing is defined here but aliases; `tests/jaxlink/test_privates.py` holds each of them
to the signature that we rely on. "since" is the oldest JAX in which the name was seen.
"""

from __future__ import annotations

from pallas_debug.jaxlink import versions

# isort: off
# ruff: noqa: E501, F401

# --- jaxprs: jax.extend.core lacks what is named here; since 0.10.2 -------------------
from jax._src import core as core  # AbstractValue, axis environment, jaxprs_in_params
from jax._src.core import Jaxpr as Jaxpr  # an equation list; inner class on every version
from jax._src.core import Literal as Literal  # operands that carry their own value
from jax._src.core import Ref as Ref  # a mutable array, as passed to and closed over by kernels
from jax._src.interpreters import partial_eval as partial_eval  # dce_jaxpr, convert_constvars_jaxpr
from jax._src.state.types import AbstractRef as AbstractRef  # aval of a Ref
from jax._src.state.types import TransformedRef as TransformedRef  # a Ref with views on it
from jax._src.state import types as state_types  # Transform classes, effects
from jax._src.state import indexing as indexing  # NDIndexer and Slice
from jax._src.state.discharge import discharge_state as discharge_state  # Refs → values in, values out
from jax._src import dtypes as dtypes  # extended dtypes: keys, barriers, semaphores

# --- launches; since 0.10.2 -----------------------------------------------------------
from jax._src.pallas.pallas_call import pallas_call_p as pallas_call_p  # pl.pallas_call
from jax._src.pallas.mpmd import mpmd_map_p as mpmd_map_p  # plgpu.kernel and pl.kernel
from jax._src.pallas import core as pallas_core  # GridMapping, BlockMapping, MemorySpace, Mesh
from jax._src.pallas import primitives as pallas_primitives  # program_id, run_scoped, …
from jax._src.state import primitives as state_primitives  # get, swap, addupdate
from jax._src.pallas.triton import primitives as triton_primitives  # atomics, masked load and store
from jax._src.pallas.mosaic import core as tpu_core  # TPU memory spaces, TensorCoreMesh
from jax._src.pallas.mosaic import primitives as tpu_primitives  # dma_start, …
from jax._src.pallas.mosaic_gpu import core as gpu_core  # plgpu.Mesh, barriers, transforms; needs absl
from jax._src.pallas.mosaic_gpu import primitives as gpu_primitives  # copy_gmem_to_smem, …
from jax._src.pallas.mosaic.interpret.params import InterpretParams as InterpretParams  # which interpreter was asked for
from jax._src.pallas.mosaic_gpu.interpret.params import InterpretGPUParams as InterpretGPUParams  # public after 0.10.2 only
from jax._src.pallas.mosaic_gpu.interpret.params import force_gpu_interpret_mode as force_gpu_interpret_mode  # public after 0.10.2 only

if versions.HAS_CORE_MAP:
    from jax._src.pallas.core import core_map_p as core_map_p  # until 0.11.0
else:
    core_map_p = None

# --- recording: our own lowering rules; since 0.10.2 ----------------------------------
from jax._src.interpreters import mlir as mlir  # register_lowering, lower_fun, the rule tables
from jax._src.callback import emit_python_callback as emit_python_callback  # a host call without an effect in the jaxpr
from jax._src.callback import _callback_op_sharding as callback_sharding  # manual inside shard_map
from jax._src.custom_batching import custom_vmap_p as custom_vmap_p  # its lowering loses the place of a launch
from jax._src.config import State as ConfigState  # a value that is part of every cache key of jit

# --- locations; since 0.10.2 ----------------------------------------------------------
from jax._src.source_info_util import is_user_filename as is_user_filename  # what JAX counts as the user's
from jax._src.source_info_util import raw_frame_to_frame as raw_frame_to_frame  # code object + offset → line

# --- the device that tracing asks; since 0.10.2 ---------------------------------------
from jax._src import lib as lib  # lib.cuda_versions, None without CUDA
from jax._src import mesh as mesh  # the mesh in context, for shard_map
from jax._src.lib import xla_client as xla_client  # Device: the class whose answers pretend replaces
from jax._src.pallas.mosaic import tpu_info as tpu_info  # get_device_kind, get_num_device_cores

if versions.HAS_TRITON_GPU_INFO:
    from jax._src.pallas.triton import gpu_info as gpu_info  # since 0.11.0
else:
    gpu_info = None

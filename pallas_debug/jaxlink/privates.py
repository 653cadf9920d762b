"""The only file that imports `jax._src`: one name a line, with its reason and since-when.

Nothing is defined here but aliases; `tests/jaxlink/test_privates.py` holds each of them
to what we rely on. "Since" is the oldest JAX in which the name was seen; a name without
it is there in every supported version.
"""

from __future__ import annotations

# isort: off
# fmt: off
# ruff: noqa: F401

# --- jaxprs -----------------------------------------------------------------------------
# avals, the axis environment, `jaxprs_in_params`: jax.extend.core lacks them
from jax._src import core as core
# operands that carry their own value
from jax._src.core import Literal as Literal
# a mutable array, as passed to kernels and closed over by them
from jax._src.core import Ref as Ref
# `convert_constvars_jaxpr`: captured mutable arrays become operands
from jax._src.interpreters import partial_eval as partial_eval
# the type of a Ref
from jax._src.state.types import AbstractRef as AbstractRef
# NDIndexer and Slice
from jax._src.state import types as state_types  # ReadEffect, WriteEffect: which refs a kernel writes
from jax._src.state import indexing as indexing
# a function of Refs as a function of values, as JAX does it before lowering
from jax._src.state.discharge import discharge_state as discharge_state
# extended dtypes: random keys, barriers, semaphores
from jax._src import dtypes as dtypes

# --- launches and what happens in them --------------------------------------------------
# pl.pallas_call
from jax._src.pallas.pallas_call import pallas_call_p as pallas_call_p
# plgpu.kernel and pl.kernel
from jax._src.pallas.mpmd import mpmd_map_p as mpmd_map_p
# `tracing_grid_env`, which refuses a traced grid with a bare assertion
from jax._src.pallas import core as pallas_core
# program_id, run_scoped, …
from jax._src.pallas import primitives as pallas_primitives
# get, swap, addupdate
from jax._src.state import primitives as state_primitives
# atomics, masked load and store
from jax._src.pallas.triton import primitives as triton_primitives
# dma_start, …
from jax._src.pallas.mosaic import primitives as tpu_primitives
# a SparseCore's gather, scatter, barrier, …
from jax._src.pallas.mosaic import sc_primitives as sparse_core_primitives
# plgpu.Mesh, barriers, transforms; JAX 0.10.2 needs absl for it
from jax._src.pallas.mosaic_gpu import core as gpu_core
# copy_gmem_to_smem, …
from jax._src.pallas.mosaic_gpu import primitives as gpu_primitives
# which interpreter the user asked for
from jax._src.pallas.mosaic.interpret.params import InterpretParams as InterpretParams
# the same; public after 0.10.2 only
from jax._src.pallas.mosaic_gpu.interpret.params import InterpretGPUParams as InterpretGPUParams

# what a run of JAX's interpreters leaves behind when it raises
from jax._src.pallas.mosaic.interpret.interpret_pallas_call import reset_tpu_interpret_mode_state as reset_tpu_interpreter
from jax._src.pallas.mosaic_gpu.interpret.gpu_callbacks import reset_gpu_interpret_mode_state as reset_gpu_interpreter

# --- recording: our own lowering rules --------------------------------------------------
# `register_lowering`, `lower_fun`, the tables of rules
from jax._src.interpreters import mlir as mlir
# a call to the host that needs no effect in the jaxpr
from jax._src.callback import emit_python_callback as emit_python_callback
# one call per device inside `shard_map`
from jax._src.callback import _callback_op_sharding as callback_sharding
# `plgpu.kernel` launches inside one, and its lowering loses the place of the launch
from jax._src.custom_batching import custom_vmap_p as custom_vmap_p
# a cache by a function, which dies with it, and by the state of JAX that tracing sees
from jax._src.util import weakref_lru_cache as weakref_lru_cache
# what was dispatched and may still be running
from jax._src.dispatch import runtime_tokens as runtime_tokens
# a value that is part of every cache key of jit
from jax._src.config import State as ConfigState
# what `jax.device_put` of one array comes to, and where it would put it
from jax._src.interpreters.pxla import batched_device_put as batched_device_put
from jax._src.interpreters.pxla import get_default_device as get_default_device
# what `jax.jit` makes
from jaxlib._jax import PjitFunction as JittedFunction
# errors of JAX with all their frames: the equation it was busy with is in one of them
from jax._src.config import traceback_filtering as traceback_filtering

# --- locations --------------------------------------------------------------------------
# what JAX counts as the user's
from jax._src.source_info_util import is_user_filename as is_user_filename
# what an equation is traced with: its line and its scopes
from jax._src import source_info_util as source_info
# backward passes: `_name_stack_ctx` gives their equations the forward call's line
from jax._src.interpreters import ad as ad
# code object and offset → line and column
from jax._src.source_info_util import raw_frame_to_frame as raw_frame_to_frame

# --- the device that tracing asks -------------------------------------------------------
# the mesh in context, and `AbstractDevice`, which answers in its place
from jax._src import mesh as mesh
# `Device`, the class whose answers `pretend` replaces
from jax._src.lib import xla_client as xla_client

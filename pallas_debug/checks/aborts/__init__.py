"""Predicted refusals of JAX: static checks that look at the kernels of a trace only.

They say what JAX would raise if it ran the kernel as it was asked to; here the kernel
runs anyway. One file for each refusal.
"""

from pallas_debug.checks.aborts import access_outside as access_outside
from pallas_debug.checks.aborts import barrier_index as barrier_index
from pallas_debug.checks.aborts import barrier_phase as barrier_phase
from pallas_debug.checks.aborts import block_specs as block_specs
from pallas_debug.checks.aborts import collective_axes as collective_axes
from pallas_debug.checks.aborts import copy_filled as copy_filled
from pallas_debug.checks.aborts import copy_left_running as copy_left_running
from pallas_debug.checks.aborts import copy_options as copy_options
from pallas_debug.checks.aborts import dynamic_grid as dynamic_grid
from pallas_debug.checks.aborts import dynamic_slice as dynamic_slice
from pallas_debug.checks.aborts import hang as hang
from pallas_debug.checks.aborts import index_array as index_array
from pallas_debug.checks.aborts import jitted_helper as jitted_helper
from pallas_debug.checks.aborts import masked_access as masked_access
from pallas_debug.checks.aborts import memory_space as memory_space
from pallas_debug.checks.aborts import mixed_registers as mixed_registers
from pallas_debug.checks.aborts import mpmd_scratch as mpmd_scratch
from pallas_debug.checks.aborts import negative_index as negative_index
from pallas_debug.checks.aborts import program_id_is_zero as program_id_is_zero
from pallas_debug.checks.aborts import race_raises as race_raises
from pallas_debug.checks.aborts import reference_view as reference_view
from pallas_debug.checks.aborts import run_state as run_state
from pallas_debug.checks.aborts import scalar_arguments as scalar_arguments
from pallas_debug.checks.aborts import (
    synchronization_scratch as synchronization_scratch,
)
from pallas_debug.checks.aborts import tcgen05_options as tcgen05_options
from pallas_debug.checks.aborts import (
    unimplemented_primitive as unimplemented_primitive,
)
from pallas_debug.checks.aborts import wgmma_register_operand as wgmma_register_operand

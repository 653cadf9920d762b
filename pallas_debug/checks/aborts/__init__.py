"""Predicted refusals of JAX: static checks that look at the kernels of a trace only.

They say what JAX would raise if it ran the kernel as it was asked to; here the kernel
runs anyway. One file for each refusal.
"""

from pallas_debug.checks.aborts import dynamic_grid as dynamic_grid
from pallas_debug.checks.aborts import dynamic_slice as dynamic_slice
from pallas_debug.checks.aborts import mpmd_scratch as mpmd_scratch
from pallas_debug.checks.aborts import scalar_arguments as scalar_arguments

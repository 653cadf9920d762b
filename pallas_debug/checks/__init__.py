"""Checks: pure functions from a trace to findings. This is the explicit list.

A check is one module with one function under `@check`; its docstring is its
documentation. To add one, copy `values_dropped.py` and add a line here.
"""

from pallas_debug.checks import aborts as aborts
from pallas_debug.checks import aliased_read as aliased_read
from pallas_debug.checks import assertion_failed as assertion_failed
from pallas_debug.checks import bank_conflict as bank_conflict
from pallas_debug.checks import barrier_arrivals_pending as barrier_arrivals_pending
from pallas_debug.checks import barrier_never_observed as barrier_never_observed
from pallas_debug.checks import barrier_phase_missed as barrier_phase_missed
from pallas_debug.checks import block_revisited as block_revisited
from pallas_debug.checks import block_tiling as block_tiling
from pallas_debug.checks import blocks_left_out as blocks_left_out
from pallas_debug.checks import copy_not_awaited as copy_not_awaited
from pallas_debug.checks import deadlock as deadlock
from pallas_debug.checks import duplicate_index as duplicate_index
from pallas_debug.checks import float_overflow as float_overflow
from pallas_debug.checks import integer_overflow as integer_overflow
from pallas_debug.checks import interrupted as interrupted
from pallas_debug.checks import launch_limits as launch_limits
from pallas_debug.checks import low_precision_sum as low_precision_sum
from pallas_debug.checks import matrix_shape as matrix_shape
from pallas_debug.checks import memory_capacity as memory_capacity
from pallas_debug.checks import missing_commit_smem as missing_commit_smem
from pallas_debug.checks import nan_origin as nan_origin
from pallas_debug.checks import never_written as never_written
from pallas_debug.checks import out_of_bounds as out_of_bounds
from pallas_debug.checks import out_of_range_cast as out_of_range_cast
from pallas_debug.checks import padding_reduced as padding_reduced
from pallas_debug.checks import read_write_race as read_write_race
from pallas_debug.checks import scattered_access as scattered_access
from pallas_debug.checks import semaphore_not_zero as semaphore_not_zero
from pallas_debug.checks import tma_limits as tma_limits
from pallas_debug.checks import truncated as truncated
from pallas_debug.checks import unfenced_global_read as unfenced_global_read
from pallas_debug.checks import unfenced_reuse as unfenced_reuse
from pallas_debug.checks import uninitialized_read as uninitialized_read
from pallas_debug.checks import union_misread as union_misread
from pallas_debug.checks import unmet_device as unmet_device
from pallas_debug.checks import unsupported_op as unsupported_op
from pallas_debug.checks import use_after_free as use_after_free
from pallas_debug.checks import values_dropped as values_dropped
from pallas_debug.checks import write_write_race as write_write_race
from pallas_debug.checks.check import CHECKS as CHECKS
from pallas_debug.checks.check import Check as Check
from pallas_debug.checks.check import check as check
from pallas_debug.checks.finding import Finding as Finding
from pallas_debug.checks.finding import Report as Report
from pallas_debug.checks.finding import Severity as Severity
from pallas_debug.checks.run import run_checks as run_checks

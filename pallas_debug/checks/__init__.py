"""Checks: pure functions from a trace to findings. This is the explicit list.

A check is one module with one function under `@check`; its docstring is its
documentation. To add one, copy `values_dropped.py` and add a line here.
"""

from pallas_debug.checks import aborts as aborts
from pallas_debug.checks import deadlock as deadlock
from pallas_debug.checks import interrupted as interrupted
from pallas_debug.checks import out_of_bounds as out_of_bounds
from pallas_debug.checks import truncated as truncated
from pallas_debug.checks import uninitialized_read as uninitialized_read
from pallas_debug.checks import unsupported_op as unsupported_op
from pallas_debug.checks import values_dropped as values_dropped
from pallas_debug.checks.check import CHECKS as CHECKS
from pallas_debug.checks.check import Check as Check
from pallas_debug.checks.check import check as check
from pallas_debug.checks.finding import Finding as Finding
from pallas_debug.checks.finding import Report as Report
from pallas_debug.checks.finding import Severity as Severity
from pallas_debug.checks.run import run_checks as run_checks

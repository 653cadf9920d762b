"""The explicit list of rule families."""

from pallas_debug.machine.rules import gpu as gpu
from pallas_debug.machine.rules import gpu_barriers as gpu_barriers
from pallas_debug.machine.rules import gpu_clusters as gpu_clusters
from pallas_debug.machine.rules import gpu_copies as gpu_copies
from pallas_debug.machine.rules import gpu_matrix as gpu_matrix
from pallas_debug.machine.rules import grid as grid
from pallas_debug.machine.rules import grid_windows as grid_windows
from pallas_debug.machine.rules import pallas as pallas
from pallas_debug.machine.rules import pallas_semaphores as pallas_semaphores
from pallas_debug.machine.rules import scope as scope
from pallas_debug.machine.rules import state as state
from pallas_debug.machine.rules import tpu as tpu
from pallas_debug.machine.rules import triton as triton
from pallas_debug.machine.rules.registry import RULES as RULES
from pallas_debug.machine.rules.registry import Rule as Rule
from pallas_debug.machine.rules.registry import rule as rule

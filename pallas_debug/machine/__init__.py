"""The interpreter: deterministic, JAX-free; records facts, never verdicts."""

from pallas_debug.machine.checkpoint import Checkpoint as Checkpoint
from pallas_debug.machine.checkpoint import checkpoint as checkpoint
from pallas_debug.machine.checkpoint import resume as resume
from pallas_debug.machine.compile import Program as Program
from pallas_debug.machine.compile import compile_kernel as compile_kernel
from pallas_debug.machine.compile import with_steps as with_steps
from pallas_debug.machine.options import Options as Options
from pallas_debug.machine.run import Run as Run
from pallas_debug.machine.run import advance as advance
from pallas_debug.machine.run import begin as begin
from pallas_debug.machine.run import run as run
from pallas_debug.machine.schedules import Policy as Policy

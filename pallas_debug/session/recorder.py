"""From a captured launch to facts in a writer: lower, run, hand the results back."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np

from pallas_debug import ir, machine
from pallas_debug.errors import PallasDebugError
from pallas_debug.machine.options import Options
from pallas_debug.session.programs import program_of
from pallas_debug.trace import close
from pallas_debug.trace.schema import Outcome
from pallas_debug.trace.trace import Trace
from pallas_debug.trace.writer import LaunchRecord, Writer


class Recorder:
    """Runs launches as they come and collects their facts.

    One recorder is one trace.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self.writer = Writer()
        self.target = None
        if options.chip:
            from pallas_debug.ir import chips

            self.target = chips.chip(options.chip).backend

    def launch(self, call: Any, arguments: list[np.ndarray]) -> list[np.ndarray]:
        """Executes a launch; `on_launch` of the capture."""
        program = program_of(call, self.options, self.target)
        kernel = program.kernel
        grid, arguments = _grid(kernel, arguments)
        launch = ir.Launch(
            kernel=kernel,
            arguments=tuple(arguments),
            grid=grid,
            axes=call.axis_env,
            device=call.device,
            chip=self.options.chip or default_chip(kernel.backend),
        )
        with self._denormals():
            done = machine.run(launch, self.writer, self.options, program=program)
        if done.record.outcome.kind == "interrupted":
            raise KeyboardInterrupt
        results = done.results()
        for array in results:
            array.flags.writeable = False  # given away: JAX need not copy
        return results

    def _denormals(self) -> Any:
        """Subnormal numbers flushed to zero, as XLA does on a CPU."""
        from pallas_debug.jaxlink.evaluate import flushing_denormals

        return flushing_denormals()

    def prepare(self, call: Any) -> None:
        """Compiles a launch that may follow; what is wrong with it is said when it runs."""
        with suppress(PallasDebugError):
            program_of(call, self.options, self.target)

    def lowered(self, call: Any) -> None:
        """Notes a launch that JAX only lowers: static facts, no event."""
        program = program_of(call, self.options, self.target)
        launch = ir.Launch(kernel=program.kernel, arguments=(), grid=())
        record = LaunchRecord(launch, self.writer.events)
        record.outcome = Outcome(kind="skipped", message="lowered by JAX, not run")
        self.writer.launches.append(record)

    def close(self, outputs: Any = None) -> Trace:
        """The trace of what was recorded so far."""
        import pallas_debug

        meta = {
            "pallas_debug": pallas_debug.__version__,
            "jax": _jax_version(),
            "arithmetic": "exact" if self.options.exact else "fast",
            "options": _plain(self.options),
        }
        return close(self.writer, outputs=outputs, meta=meta)


@cache
def _jax_version() -> str:
    return version("jax")


def default_chip(backend: str) -> str:
    """The chip that is pretended when nobody chose one."""
    return "tpu-v5e" if backend == "tpu" else "h100"


def _grid(
    kernel: ir.Kernel, arguments: list[np.ndarray]
) -> tuple[tuple[int, ...], list[np.ndarray]]:
    """Concrete grid sizes; traced ones come first among the operands."""
    sizes, rest = [], list(arguments)
    for size in kernel.grid.shape:
        sizes.append(int(rest.pop(0)) if size is None else size)
    return tuple(sizes), rest


def _plain(options: Options) -> dict[str, Any]:
    return {
        name: value
        for name, value in vars(options).items()
        if isinstance(value, (str, int, float, bool, type(None)))
    }

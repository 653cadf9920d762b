"""From a captured launch to facts in a writer: lower, run, hand the results back."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np

from pallas_debug import ir, machine
from pallas_debug.errors import BadOption, PallasDebugError, or_list
from pallas_debug.ir import chips
from pallas_debug.machine.facts import start_chosen
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
            self.target = chips.chip(options.chip).backend

    def launch(self, call: Any, arguments: list[np.ndarray]) -> list[np.ndarray]:
        """Executes a launch; `on_launch` of the capture."""
        program = program_of(call, self.options, self.target)
        return self._run(self._launch(program.kernel, call, arguments), program)

    def launches(
        self,
        calls: Sequence[Any],
        arguments: Sequence[list[np.ndarray]],
        alone: Callable[[Any, list[np.ndarray]], list[np.ndarray]] | None = None,
    ) -> list[list[np.ndarray]]:
        """Executes a launch on the devices of a mesh; `on_mesh_launch` of the capture.

        Devices that do not reach for each other have a launch each, as `alone` makes
        it.
        """
        call = calls[0]
        if len(calls) < math.prod(call.axis_env.values()) or not self.together(call):
            return list(map(alone or self.launch, calls, arguments))
        program = program_of(call, self.options, self.target)
        kernel, given = program.kernel, list(arguments[0])
        for of_device in arguments[1:]:
            given += _grid(kernel, of_device)[1]
        launch = self._launch(kernel, replace(call, device={}), given)
        results = self._run(launch, program)
        count = len(results) // len(calls)
        return [results[i * count : (i + 1) * count] for i in range(len(calls))]

    def together(self, call: Any) -> bool:
        """Whether a launch reaches for other devices of its mesh."""
        kernel = program_of(call, self.options, self.target).kernel
        return bool(kernel.facts.get("together"))

    def _run(self, launch: ir.Launch, program: machine.Program) -> list[np.ndarray]:
        with self._denormals():
            done = machine.run(launch, self.writer, self.options, program=program)
        if done.record.outcome.kind == "interrupted":
            raise KeyboardInterrupt
        results = done.results()
        for array in results:
            array.flags.writeable = False  # given away: JAX need not copy
        return results

    def prepared(self, call: Any, arguments: list[np.ndarray]) -> ir.Launch:
        """The launch that `launch` would run."""
        kernel = program_of(call, self.options, self.target).kernel
        return self._launch(kernel, call, arguments)

    def _launch(
        self, kernel: ir.Kernel, call: Any, arguments: list[np.ndarray]
    ) -> ir.Launch:
        grid, arguments = _grid(kernel, arguments)
        launch = ir.Launch(
            kernel=kernel,
            arguments=tuple(arguments),
            grid=grid,
            axes=call.axis_env,
            device=call.device,
            chip=chip_for(kernel, self.options.chip),
        )
        start_chosen(launch, self.options)  # a block that is not there is refused here
        return launch

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


# The kind of chip that a kernel of a backend can run on; a generic one runs on any.
KINDS = {"mosaic_gpu": "gpu", "triton": "gpu", "tpu": "tpu"}


def chip_for(kernel: ir.Kernel, chosen: str | None) -> str:
    """The chip that a launch pretends: the chosen one, which must be of its kind."""
    kind = KINDS.get(kernel.backend)
    if not chosen:
        return "tpu-v5e" if kind == "tpu" else "h100"
    if kind and chips.chip(chosen).backend != kind:
        known = or_list(
            name for name, one in chips.CHIPS.items() if one.backend == kind
        )
        raise BadOption(
            option="chip",
            value=chosen,
            accepted=f"a {kind.upper()}, since `{kernel.name}` is a {kernel.backend} "
            f"kernel: {known}",
            loc=kernel.locs[kernel.loc] if kernel.loc >= 0 else None,
        )
    return chosen


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

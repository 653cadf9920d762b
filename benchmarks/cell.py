"""One cell of the table, in a process of its own: one kernel, grid size and engine.

`python cell.py KERNEL BLOCKS ENGINE REPEATS SECONDS` prints one JSON object a line; the
last line is the most complete. A result that differs from NumPy's is no measurement.
"""

import argparse
import gc
import json
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import engines


class Refused(Exception):
    """There is no number; `word` says why."""

    def __init__(self, word: str, message: str = "") -> None:
        super().__init__(message or word)
        self.word = word


def peak_mb() -> float:
    """The most memory that this process has held so far, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e3 / 1.024)


def ours(case: Any, options: dict[str, Any]) -> Callable[[], tuple[Any, int]]:
    """A call of our recording: the kernel's result and the number of events."""
    import pallas_debug as pldb

    chosen = pldb.Options(progress=False, **options)

    def call() -> tuple[Any, int]:
        trace = pldb.trace(case.run, *case.inputs, options=chosen)
        outcome = trace.launches[-1].outcome
        if outcome.kind != "finished":
            raise Refused(outcome.kind, outcome.message)
        return trace.outputs, len(trace)

    return call


def jax_mode(case: Any) -> Callable[[], tuple[Any, None]]:
    """A call of one of JAX's own modes."""
    import jax

    return lambda: (jax.block_until_ready(case.run(*case.inputs)), None)


def numpy_alone(case: Any) -> Callable[[], tuple[Any, None]]:
    """A call of what the kernel computes, in NumPy and with nothing recorded."""
    import jax

    if case.alone is None:
        raise Refused("–", "there is no such function for this kernel")
    return lambda: (
        jax.block_until_ready(jax.device_put(case.alone(*case.inputs))),
        None,
    )


def timed(call: Callable[[], Any], case: Any) -> tuple[float, float, int | None]:
    """Wall and CPU seconds of a call, checked against NumPy afterwards."""
    gc.collect()
    start, cpu = time.perf_counter(), time.process_time()
    result, events = call()
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    if not case.is_right(result):
        raise Refused("wrong", "the result differs from NumPy's")
    return seconds, cpu, events


def measure(case: Any, call: Callable[[], Any], arguments: argparse.Namespace) -> None:
    """Prints the first call, then all calls so far, until there are enough."""
    start, before = time.perf_counter(), peak_mb()
    first, first_cpu, events = timed(call, case)
    report(first=first, first_cpu=first_cpu, events=events)
    seconds: list[float] = []
    cpu_seconds: list[float] = []
    while len(seconds) < arguments.repeats:
        wall, cpu, _ = timed(call, case)
        seconds.append(wall)
        cpu_seconds.append(cpu)
        peak = peak_mb()
        report(
            seconds=seconds,
            cpu_seconds=cpu_seconds,
            peak_mb=peak,
            added_mb=peak - before,
        )
        if time.perf_counter() - start + wall > arguments.seconds:
            return


def report(**facts: Any) -> None:
    """One line for the parent."""
    print(json.dumps(facts), flush=True)


def main() -> None:
    """Measures one cell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernel")
    parser.add_argument("blocks", type=int)
    parser.add_argument("engine")
    parser.add_argument("repeats", type=int)
    parser.add_argument("seconds", type=float)
    arguments = parser.parse_args()

    import kernels

    engine = arguments.engine
    try:
        interpret = engines.interpret_argument(engine)
        case = kernels.build(arguments.kernel, arguments.blocks, interpret)
        if engine == "numpy":
            call = numpy_alone(case)
        elif engine in engines.OURS:
            call = ours(case, engines.OURS[engine])
        else:
            call = jax_mode(case)
        measure(case, call, arguments)
    except Refused as refusal:
        report(refused=refusal.word, message=engines.message(refusal))
    except Exception as error:  # whatever an engine raises is its answer
        report(refused=engines.word(error), message=engines.message(error))


if __name__ == "__main__":
    main()

"""Our recording against JAX's interpreters, side by side, in one table.

Each cell is a process of its own. Where there is no number, one word says why: a mode
refuses the kernel (`assertion`, `unsupported`, `unknown`, `refused`), gives a `wrong`
result or reports a `race`; it takes longer than the budget (`timeout`), or would, judged
by the grid before (`skipped`). A mode that refuses a kernel at one grid size is not
asked again at a larger one.

    python benchmarks/interpreters.py --quick
    python benchmarks/interpreters.py --kernels a,c --grids 4,64,1024 --json out.json
"""

import argparse
import contextlib
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
from importlib import metadata
from typing import Any

import engines
import tables
from tqdm import tqdm

HERE = pathlib.Path(__file__).resolve().parent


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--quick", action="store_true", help="grids 4 and 64, 20 seconds a cell")
    add("--kernels", default=",".join(engines.KERNELS), help="of a to f")
    add("--engines", default=",".join(engines.ENGINES), help="columns")
    add("--grids", help="numbers of blocks, multiples of 4; default 4,64,1024")
    add("--repeats", type=int, default=3, help="second calls; the median is shown")
    add("--budget", type=float, help="seconds for a cell; default 90")
    add("--cpu", action="store_true", help="show CPU time: for a busy machine")
    add("--json", type=pathlib.Path, help="write all numbers here")
    chosen = parser.parse_args()
    chosen.grids = chosen.grids or ("4,64" if chosen.quick else "4,64,1024")
    chosen.budget = chosen.budget or (20.0 if chosen.quick else 90.0)
    chosen.kernels = _known(parser, chosen.kernels, engines.KERNELS)
    chosen.engines = _known(parser, chosen.engines, engines.ENGINES)
    chosen.grids = sorted(int(blocks) for blocks in chosen.grids.split(","))
    if any(blocks < 4 or blocks % 4 for blocks in chosen.grids):
        parser.error("--grids takes multiples of 4")
    return chosen


def _known(parser: argparse.ArgumentParser, text: str, table: Any) -> list[str]:
    names = text.split(",")
    for name in names:
        if name not in table:
            parser.error(f"{name!r} is none of {', '.join(table)}")
    return names


def machine() -> dict[str, Any]:
    """What the numbers depend on; no names of hosts or folders.

    `load` is the mean number of running processes, over five minutes; above `cores`
    the machine was busy and `--cpu` is the better clock.
    """
    return {
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        "JAX": metadata.version("jax"),
        "NumPy": metadata.version("numpy"),
        "load": round(os.getloadavg()[1], 1) if hasattr(os, "getloadavg") else "?",
    }


def run_cell(kernel: str, blocks: int, engine: str, chosen: Any) -> dict[str, Any]:
    """Measures one cell in a process of its own."""
    command = [sys.executable, str(HERE / "cell.py"), kernel, str(blocks), engine]
    command += [str(chosen.repeats), str(chosen.budget / 3)]
    paths = [str(HERE.parent), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "JAX_PLATFORMS": "cpu",
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
    }
    late = False
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=chosen.budget, env=environment
        )
        output = done.stdout
    except subprocess.TimeoutExpired as expired:
        output, late = expired.stdout or b"", True
    return _read(output.decode(errors="replace"), late)


def _read(output: str, late: bool) -> dict[str, Any]:
    """The lines that a cell printed, newest facts last."""
    cell: dict[str, Any] = {}
    for line in output.splitlines():
        if line.startswith("{") and line.endswith("}"):
            cell |= json.loads(line)
    if cell.get("seconds"):
        cell["second"] = statistics.median(cell["seconds"])
        cell["second_cpu"] = statistics.median(cell["cpu_seconds"])
    elif not cell.get("refused"):
        cell["refused"] = "timeout" if late else "crash"
    return cell


def foreseen(
    before: tuple[int, dict[str, Any]] | None, blocks: int, budget: float
) -> dict[str, Any] | None:
    """The cell that needs no start, judged by the next smaller grid."""
    if before is None:
        return None
    smaller, cell = before
    if cell.get("refused"):
        late = cell["refused"] in ("timeout", "skipped")
        return {"refused": "skipped" if late else cell["refused"], "not_run": True}
    # Linear is the least that each grows; what grows faster meets the timeout.
    expected = cell["second"] * blocks / smaller
    if 2 * expected > budget:  # a first and a second call have to fit
        return {"refused": "skipped", "expected": expected, "not_run": True}
    return None


def run(chosen: argparse.Namespace) -> tables.Cells:
    """All cells; the engines of one kernel and grid follow each other."""
    cells: tables.Cells = {}
    before: dict[tuple[str, str], tuple[int, dict[str, Any]]] = {}
    plan = [
        (kernel, blocks, engine)
        for kernel in chosen.kernels
        for blocks in chosen.grids
        for engine in chosen.engines
    ]
    progress = tqdm(plan, unit="cell")
    with contextlib.suppress(KeyboardInterrupt):  # then the table has holes
        for kernel, blocks, engine in progress:
            progress.set_postfix_str(f"{kernel} {blocks} {engine}")
            known = foreseen(before.get((kernel, engine)), blocks, chosen.budget)
            cell = known or run_cell(kernel, blocks, engine, chosen)
            cells[kernel, blocks, engine] = cell
            before[kernel, engine] = (blocks, cell)
    return cells


def main() -> None:
    """Measures, prints and writes."""
    chosen = options()
    cells = run(chosen)
    print(tables.report(machine(), cells, chosen.engines, chosen.cpu))
    if chosen.json:
        rows = [
            {"kernel": kernel, "blocks": blocks, "engine": engine, **cell}
            for (kernel, blocks, engine), cell in cells.items()
        ]
        content = {
            "machine": machine(),
            "repeats": chosen.repeats,
            "budget": chosen.budget,
            "cells": rows,
        }
        chosen.json.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

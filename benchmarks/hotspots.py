"""Where a recording spends its time: cProfile of the second call.

    python benchmarks/hotspots.py c 1024 [--engine ours-none] [--top 15]

Prints the functions by their own time, then the same grouped by module, then how long
the same call takes without the profiler.
"""

import argparse
import collections
import cProfile
import pathlib
import pstats
import sys

import engines
import tables

ROOT = pathlib.Path(__file__).resolve().parent.parent


def where(file: str) -> str:
    """A file without the folders of this machine."""
    if file.startswith(str(ROOT)):
        return str(pathlib.Path(file).relative_to(ROOT))
    return file.rpartition("site-packages/")[2].rpartition("lib/")[2]


def profile(call: object) -> list[tuple[str, str, int, float, float]]:
    """`(module, function, calls, own, cumulative)` by own time."""
    profiler = cProfile.Profile()
    profiler.runcall(call)
    rows = []
    for (file, line, name), (_, calls, own, total, _) in pstats.Stats(
        profiler
    ).stats.items():
        module = "built-in" if file == "~" else f"{where(file)}:{line}"
        rows.append((module, name, calls, own, total))
    return sorted(rows, key=lambda row: -row[3])


def main() -> None:
    """Profiles one kernel at one grid size."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kernel", choices=list(engines.KERNELS))
    parser.add_argument("blocks", type=int)
    parser.add_argument("--engine", choices=list(engines.OURS), default="ours")
    parser.add_argument("--top", type=int, default=15)
    chosen = parser.parse_args()

    sys.path.insert(0, str(ROOT))
    import cell
    import kernels

    case = kernels.build(chosen.kernel, chosen.blocks, False)
    call = cell.ours(case, engines.OURS[chosen.engine])
    cell.timed(call, case)
    plain, _, events = cell.timed(call, case)
    print(f"{chosen.kernel} {chosen.blocks} {chosen.engine}: {events:,} events,")
    show(profile(call), plain, events, chosen.top)


def show(rows: list[tuple], plain: float, events: int, top: int) -> None:
    """Prints functions and modules by their own time."""
    whole = sum(row[3] for row in rows)
    calls = sum(row[2] for row in rows) / events  # the same on a busy machine
    print(f"{tables.duration(plain)} plain, {tables.duration(whole)} profiled,")
    print(f"{plain / events * 1e6:.2g} µs and {calls:.1f} calls an event\n")
    head = ["own", "share", "cumulative", "calls", "function", "where"]
    table, modules = [head], collections.Counter()
    for module, name, count, own, total in rows:
        modules[module.rpartition(":")[0] or module] += own
        share, times = f"{own / whole:.0%}", tables.duration(total)
        row = [tables.duration(own), share, times, f"{count:,}", name[-50:], module]
        table.append(row)
    print(tables.grid(table[: top + 1]), "\n")
    body = [
        [tables.duration(own), f"{own / whole:.0%}", module]
        for module, own in modules.most_common(top)
    ]
    print(tables.grid([["own", "share", "module"], *body]))


if __name__ == "__main__":
    main()

"""How long `import pallas_debug` takes in fresh interpreters, and what it loads.

    python benchmarks/startup.py [--repeats 20] [--json FILE]

The target is under 0.2 s and no JAX; an interpreter that imports nothing is measured
beside it.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
from typing import Any

import interpreters
import tables
from tqdm import tqdm

HEAVY = ("jax", "jaxlib", "numpy", "IPython", "anywidget", "matplotlib", "tqdm")

CHILD = """
import json, sys, time
start = time.perf_counter()
{statement}
seconds = time.perf_counter() - start
print(json.dumps({{"seconds": seconds, "modules": sorted(sys.modules)}}))
"""

STATEMENTS = {
    "nothing": "pass",
    "import pallas_debug": "import pallas_debug",
    "… and pallas_debug.trace": "import pallas_debug; pallas_debug.trace",
    "import jax": "import jax",
}


def fresh(statement: str) -> dict[str, Any]:
    """Runs a statement in an interpreter of its own, from the checkout."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD.format(statement=statement)],
        capture_output=True,
        text=True,
        check=True,
        cwd=interpreters.HERE.parent,
    )
    return json.loads(done.stdout.splitlines()[-1])


def measure(statement: str, repeats: int) -> dict[str, Any]:
    """Median and spread over fresh interpreters, and the heavy packages loaded."""
    fresh(statement)  # writes the bytecode
    runs = [fresh(statement) for _ in tqdm(range(repeats), desc=statement, leave=False)]
    seconds = sorted(run["seconds"] for run in runs)
    roots = {module.partition(".")[0] for module in runs[-1]["modules"]}
    return {
        "median": statistics.median(seconds),
        "least": seconds[0],
        "most": seconds[-1],
        "modules": len(runs[-1]["modules"]),
        "heavy": [name for name in HEAVY if name in roots],
    }


def main() -> None:
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--json", type=pathlib.Path)
    chosen = parser.parse_args()
    found = {
        name: measure(statement, chosen.repeats)
        for name, statement in STATEMENTS.items()
    }
    rows = [["statement", "median", "least", "most", "modules", "heavy ones"]]
    for name, row in found.items():
        times = [tables.duration(row[key]) for key in ("median", "least", "most")]
        heavy = ", ".join(row["heavy"]) or "none"
        rows.append([name, *times, str(row["modules"]), heavy])
    print("Machine:", interpreters.machine())
    print(tables.grid(rows))
    if chosen.json:
        content = {"machine": interpreters.machine(), "startup": found}
        chosen.json.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

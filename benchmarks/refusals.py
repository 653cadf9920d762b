"""What is foreseen of JAX's refusals against what JAX does, target by target.

Every kernel that the repository has (see `refusal_kernels.py`) is asked of the installed
JAX in each of its modes and backends, in processes of their own, and compared with what
pallas_debug said before. For GPU interpret mode that comes from the checks alone; for
the others from `pldb.portability`, which asks JAX itself in its own way. A refusal counts
as foreseen with the same class and wording only.

    python benchmarks/refusals.py
    python benchmarks/refusals.py --sources pairs --misses
    python benchmarks/refusals.py --write  # the table of this version for the docs
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import refusal_kernels
import tables

HERE = pathlib.Path(__file__).resolve().parent
MEASURED = HERE / "measured"
GPU, TPU, PLAIN = "GPU interpret mode", "TPU interpret mode", "interpret=True"
CUDA, TPU_LOWERING = "CUDA lowering", "TPU lowering"
TARGETS = (GPU, TPU, PLAIN, CUDA, TPU_LOWERING)
# A target's column in the table, by the backend of the kernel.
SPLIT = {CUDA: {"triton": "Triton lowering", "": "Mosaic GPU lowering"}}
SHOWN = (GPU, TPU, PLAIN, "Mosaic GPU lowering", "Triton lowering", TPU_LOWERING)
STOPS = ("refused", "hangs")
# A kernel that names the other kind of device is no question to a target.
FOREIGN = {
    "mosaic_gpu": (TPU, TPU_LOWERING),
    "triton": (TPU, TPU_LOWERING),
    "tpu": (GPU, CUDA),
}


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    every = ",".join(refusal_kernels.SOURCES)
    add("--sources", default=every, help=f"of {every}")
    add("--targets", default=",".join(TARGETS), help="of " + ", ".join(TARGETS))
    add("--seconds", type=float, default=30.0, help="after which a kernel hangs")
    add("--jobs", type=int, default=2, help="processes at a time")
    add("--misses", action="store_true", help="name what was not foreseen")
    add("--write", action="store_true", help="keep the table for the documentation")
    add("--json", type=pathlib.Path, help="write all answers here")
    chosen = parser.parse_args()
    chosen.targets = chosen.targets.split(",")
    return chosen


# --- asking -------------------------------------------------------------------------


def ask(what: str, sources: str, seconds: float) -> tuple[list[str], str, list[Any]]:
    """Names of the kernels, JAX's version, and an answer for each."""
    parts = [_ask(what, source, seconds) for source in sources.split(",")]
    names = [name for part in parts for name in part[0]]
    return names, parts[0][1], [answer for part in parts for answer in part[2]]


def _ask(what: str, sources: str, seconds: float) -> tuple[list[str], str, list[Any]]:
    names: list[str] = []
    answers: list[Any] = []
    version = ""
    while not names or len(answers) < len(names):
        before = len(answers)
        for line in _lines(what, sources, seconds, len(answers)):
            found = json.loads(line)
            if "names" in found:
                names, version = found["names"], found["jax"]
            else:
                answers.append(found.get("answer") or found["expected"])
        if len(answers) == before:
            if not names:
                raise SystemExit(f"the kernels cannot be built for {what!r}")
            answers.append(["crashed", "", ""])
    return names, version, answers


def _lines(what: str, sources: str, seconds: float, first: int) -> Any:
    command = [sys.executable, str(HERE / "refusal_worker.py"), what, sources]
    paths = [str(HERE), str(HERE.parent), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "JAX_PLATFORMS": "cpu",
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
    }
    process = subprocess.Popen(
        [*command, str(seconds), str(first)],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdout
    with process:
        for line in process.stdout:
            if line.startswith("{"):
                yield line


# --- comparing ----------------------------------------------------------------------


def judge(expected: Any, answer: Any) -> str:
    """`right`, `quiet` (rightly), `missed`, `false alarm`, or `untried`."""
    status, raised = expected
    kind, message = answer[1:]
    if status == "not tried":
        return "untried"
    if answer[0] not in STOPS:
        return "false alarm" if status in STOPS else "quiet"
    if answer[0] == "hangs":
        return "right" if status == "hangs" else "missed"
    same = any(one[0] == kind and _fits(one[1], message) for one in raised)
    return "right" if status == "refused" and same else "missed"


def _fits(wording: str, message: str) -> bool:
    """Spaces do not count: a table breaks lines."""
    short, full = " ".join(wording.split()), " ".join(message.split())
    return short in full or (not full and short == "without a message")


def count(verdicts: list[str]) -> list[str]:
    """The columns of one row."""
    right, missed, false = (
        verdicts.count(word) for word in ("right", "missed", "false alarm")
    )
    stops, said = right + missed, right + false
    return [
        str(len(verdicts) - verdicts.count("untried")),
        str(stops),
        str(right),
        f"{right / said:.1%}" if said else "–",
        f"{right / stops:.1%}" if stops else "–",
    ]


HEAD = ["target", "kernels", "JAX stops", "foreseen", "precision", "recall"]


def shown(target: str, backend: str) -> str:
    """The row that a kernel counts in."""
    names = SPLIT.get(target, {})
    return names.get(backend, names.get("", target))


def main() -> None:
    chosen = options()
    results: dict[str, tuple[list[str], str, list[Any]]] = {}

    def work(what: str) -> None:
        results[what] = ask(what, chosen.sources, chosen.seconds)

    with ThreadPoolExecutor(chosen.jobs) as pool:
        list(pool.map(work, ("expected", *chosen.targets)))
    names, version, expected = results["expected"]
    verdicts: dict[str, list[str]] = {}
    notes, rows = [], []
    for target in chosen.targets:
        for name, said, answer in zip(names, expected, results[target][2], strict=True):
            if target in FOREIGN.get(said["backend"], ()):
                continue
            verdict = judge(said[target], answer)
            verdicts.setdefault(shown(target, said["backend"]), []).append(verdict)
            rows.append([name, target, verdict, said[target], answer])
            if verdict in ("missed", "false alarm", "untried"):
                notes.append(
                    f"{target}: {name}: {verdict}\n  {said[target]}\n  {answer}"
                )
    lines = [HEAD, *([one, *count(verdicts[one])] for one in SHOWN if one in verdicts)]
    head = f"JAX {version}, {len(names)} kernels ({chosen.sources})"
    text = f"{head}\n\n{tables.grid(lines)}"
    print(text)
    if chosen.misses:
        print("\n".join(["", *notes]))
    if chosen.write:
        MEASURED.mkdir(exist_ok=True)
        (MEASURED / f"refusals-{version}.md").write_text(text + "\n", encoding="utf-8")
    if chosen.json:
        chosen.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

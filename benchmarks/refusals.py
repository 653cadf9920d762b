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
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
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
OF_TESTS = "{}, JAX's tests"
# Sources with rows of their own.
APART = {"tests": "{}, our tests", "shipped": "{}, shipped kernels"}
# Those that run on one device, on a CPU, in an interpreter.
TESTED = re.compile(
    r"(?!.*distributed)(gpu|tpu)_pallas_interpret.*_test\.py|pallas_test\.py"
)
ADDRESS = re.compile(r"0x[0-9a-f]+")
STOPS = ("refused", "hangs")
UNKNOWN = ("not tried", "unfinished")
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
    add("--seconds", type=float, default=30.0, help="that JAX may take for a kernel")
    add("--jobs", type=int, default=2, help="processes at a time")
    add("--jax-tests", type=pathlib.Path, metavar="FOLDER", help="with tests of JAX")
    add("--misses", action="store_true", help="name what was not foreseen")
    add("--write", action="store_true", help="keep the table for the documentation")
    add("--json", type=pathlib.Path, help="write all verdicts here")
    add("--keep", type=pathlib.Path, help="a folder: answers are kept and used again")
    chosen = parser.parse_args()
    chosen.targets = chosen.targets.split(",")
    return chosen


# --- asking -------------------------------------------------------------------------


def ask(what: str, chosen: argparse.Namespace) -> tuple[list[str], list[Any]]:
    """Names of the kernels, and an answer for each."""
    parts = [_kept(what, source, chosen) for source in chosen.sources.split(",")]
    names = [name for part in parts for name in part[0]]
    return names, [answer for part in parts for answer in part[1]]


def _kept(what: str, source: str, chosen: argparse.Namespace) -> list[list[Any]]:
    """A source's names and answers; asked again only where they were not kept."""
    if not chosen.keep:
        return _ask(what, source, chosen.seconds)
    file = chosen.keep / f"{jax.__version__} {what} {source}.json"
    if not file.exists():
        found = _ask(what, source, chosen.seconds)
        chosen.keep.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(found), encoding="utf-8")
    return json.loads(file.read_text(encoding="utf-8"))


def _ask(what: str, sources: str, seconds: float) -> list[list[Any]]:
    names: list[str] = []
    answers: list[Any] = []
    while not names or len(answers) < len(names):
        before = len(answers)
        for line in _lines(what, sources, seconds, len(answers)):
            found = json.loads(line)
            if "names" in found:
                names = found["names"]
            else:
                answers.append(found.get("answer") or found["expected"])
        if len(answers) == before:
            if not names:
                raise SystemExit(f"the kernels cannot be built for {what!r}")
            answers.append(["crashed", "", ""])
    return [names, answers]


def _lines(what: str, sources: str, seconds: float, first: int) -> Any:
    command = [sys.executable, str(HERE / "refusal_worker.py"), what, sources]
    process = subprocess.Popen(
        [*command, str(seconds), str(first)],
        stdout=subprocess.PIPE,
        text=True,
        env=_environment(),
    )
    assert process.stdout
    with process:
        for line in process.stdout:
            if line.startswith("{"):
                yield line


def _environment(**more: str) -> dict[str, str]:
    paths = [str(HERE), str(HERE.parent), os.environ.get("PYTHONPATH", "")]
    path = os.pathsep.join(path for path in paths if path)
    return {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": path, **more}


# --- JAX's own tests ----------------------------------------------------------------


def rows_of_tests(chosen: argparse.Namespace) -> list[list[Any]]:
    """A row for each launch of JAX's interpreter tests: name, target, said, answer."""
    found: list[list[Any]] = []
    for file in sorted(chosen.jax_tests.glob("*_test.py")):
        if not TESTED.fullmatch(file.name):
            continue
        kept = (chosen.keep or pathlib.Path(tempfile.mkdtemp())).resolve()
        out = kept / f"{jax.__version__} {file.stem}.jsonl"
        if not out.exists():
            kept.mkdir(parents=True, exist_ok=True)
            _run_tests(file.resolve(), out)
        for line in out.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            name = f"{row['test'].rpartition('/')[2]} {row['name']}"
            found.append([name, row["target"], row["expected"], row["answer"]])
    return found


def _run_tests(file: pathlib.Path, out: pathlib.Path) -> None:
    """Runs a file under the plugin; how its tests end is not what is asked."""
    unfinished = out.with_suffix(".part")
    unfinished.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "refusals_of_tests"]
    plain = ["-W", "default", "--noconftest", "-p", "no:cacheprovider", "--tb=no"]
    limits = ["-p", "no:xdist", "--timeout=300", "--rootdir", str(file.parent)]
    ours = {"REFUSALS_OUT": str(unfinished), "REFUSALS_TESTS": str(file.parent)}
    subprocess.run(
        [*command, *plain, *limits, "-c", os.devnull, str(file)],
        env=_environment(**ours),
        cwd=out.parent,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    unfinished.rename(out)


# --- comparing ----------------------------------------------------------------------


def judge(expected: Any, answer: Any) -> str:
    """`right`, `quiet` (rightly), `missed`, `false alarm`, or `untried`."""
    status, raised = expected
    kind, message = answer[1:]
    if status in UNKNOWN or answer[0] in UNKNOWN:
        return "untried"
    if answer[0] not in STOPS:
        return "false alarm" if status in STOPS else "quiet"
    if answer[0] == "hangs":
        return "right" if status == "hangs" else "missed"
    same = any(one[0] == kind and _fits(one[1], message) for one in raised)
    return "right" if status == "refused" and same else "missed"


def _fits(wording: str, message: str) -> bool:
    """Neither spaces count, as a table breaks lines, nor addresses of objects."""
    short, full = (ADDRESS.sub("0x", " ".join(s.split())) for s in (wording, message))
    if not full:
        return short in ("", "without a message")
    return bool(short) and short in full


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


def _uncounted(verdicts: dict[str, list[str]]) -> str:
    """What the table leaves out: nothing can be said of it, right or wrong."""
    left = {one: words.count("untried") for one, words in verdicts.items()}
    said = ", ".join(f"{left[one]} of {one}" for one in left if left[one])
    return f"\n\nNot counted, as not done in time or not tried: {said}." if said else ""


HEAD = ["target", "kernels", "JAX stops", "foreseen", "precision", "recall"]


def shown(name: str, target: str, backend: str) -> str:
    """The row that a kernel counts in."""
    names = SPLIT.get(target, {})
    row = names.get(backend, names.get("", target))
    return APART.get(name.partition(" ")[0], "{}").format(row)


def main() -> None:
    chosen = options()
    rows = rows_of_kernels(chosen) if chosen.sources else []
    kernels = len({row[0] for row in rows})
    of_tests = rows_of_tests(chosen) if chosen.jax_tests else []
    rows += [[name, OF_TESTS.format(where), *row] for name, where, *row in of_tests]
    verdicts: dict[str, list[str]] = {}
    notes = []
    for row in rows:
        name, target, said, answer = row
        row.append(judge(said, answer))
        verdicts.setdefault(target, []).append(row[-1])
        if row[-1] in ("missed", "false alarm", "untried"):
            notes.append(f"{target}: {name}: {row[-1]}\n  {said}\n  {answer}")
    kinds = ("{}", *APART.values(), OF_TESTS)
    shown = [kind.format(one) for kind in kinds for one in SHOWN]
    lines = [HEAD, *([one, *count(verdicts[one])] for one in shown if one in verdicts)]
    head = f"JAX {jax.__version__}, {kernels} kernels ({chosen.sources})"
    text = f"{head}\n\n{tables.grid(lines)}{_uncounted(verdicts)}"
    print(text)
    if chosen.misses:
        print("\n".join(["", *notes]))
    if chosen.write:
        MEASURED.mkdir(exist_ok=True)
        file = MEASURED / f"refusals-{jax.__version__}.md"
        file.write_text(text + "\n", encoding="utf-8")
    if chosen.json:
        chosen.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def rows_of_kernels(chosen: argparse.Namespace) -> list[list[Any]]:
    """A row for each kernel and target: name, the table's row, said, answer."""
    results: dict[str, tuple[list[str], list[Any]]] = {}

    def work(what: str) -> None:
        results[what] = ask(what, chosen)

    with ThreadPoolExecutor(chosen.jobs) as pool:
        list(pool.map(work, ("expected", *chosen.targets)))
    names, expected = results["expected"]
    return [
        [name, shown(name, target, said["backend"]), said[target], answer]
        for target in chosen.targets
        for name, said, answer in zip(names, expected, results[target][1], strict=True)
        if target not in FOREIGN.get(said["backend"], ())
    ]


if __name__ == "__main__":
    main()

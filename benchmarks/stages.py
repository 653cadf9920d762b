"""What a page's redraw costs by stage and by picture, from a trace of the browser: CPU time only."""

from __future__ import annotations

import bisect
import itertools
import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

MARK = "step"  # what the page marks the beginning of a step with
PICTURES = ["devtools.timeline", "toplevel", "blink.user_timing", "__metadata"]
CATEGORIES = [
    "devtools.timeline",
    "disabled-by-default-devtools.timeline",
    "toplevel",
    "__metadata",
]
MAIN = "CrRendererMain"
TASK = "ThreadControllerImpl::RunTask"
PICTURE = "Layerize"  # the browser's last word on each picture
STAGES = {  # names of the browser's events by what they are called here
    "script": {
        "EvaluateScript",
        "FunctionCall",
        "FireAnimationFrame",
        "RunMicrotasks",
        "TimerFire",
        "EventDispatch",
        "v8.run",
    },
    "style": {"UpdateLayoutTree", "ParseAuthorStyleSheet"},
    "layout": {"Layout", "HitTest"},
    "pre-paint": {"PrePaint"},
    "paint": {"Paint", "PaintImage"},
    "layerize": {"Layerize", "UpdateLayer"},
    "commit": {"Commit"},
}
PAGE = set().union(*STAGES.values())
COLLECTOR = "GC"
OTHERS = {  # threads beside the main one, by the beginning of their names
    "compositor": ("Compositor", "VizCompositor", "CrGpuMain"),
    "raster": ("ThreadPoolForegroundWorker", "CompositorTileWorker"),
}
COLUMNS = [*STAGES, "tasks", *OTHERS]


def of(trace: bytes, steps: int) -> dict[str, float]:
    """Seconds that a step costs by stage; `tasks` is the rest of the main thread."""
    events = json.loads(trace)["traceEvents"]
    threads = {
        (e["pid"], e["tid"]): e["args"]["name"]
        for e in events
        if e.get("ph") == "M" and e["name"] == "thread_name"
    }
    own: dict[tuple[int, int], Counter[str]] = defaultdict(Counter)
    for thread, found in _by_thread(events).items():
        own[thread] = _self_times(found)
    mains = [thread for thread, name in threads.items() if name == MAIN]
    main = max(mains, key=lambda thread: own[thread].total())
    found = {
        stage: sum(own[main][name] for name in names) for stage, names in STAGES.items()
    }
    found["tasks"] = own[main].total() - sum(found.values())
    for column, names in OTHERS.items():
        found[column] = sum(
            own[thread].total()
            for thread, name in threads.items()
            if name.startswith(names)
        )
    return {column: found[column] / 1e6 / steps for column in COLUMNS}


class Picture(NamedTuple):
    """Seconds of work on the main thread before a picture."""

    work: float  # what it waits for
    collecting: float  # garbage, in tasks of their own beside it


def pictures(trace: bytes) -> list[list[Picture]]:
    """The pictures of each step, and what comes after the last one.

    While nothing else is to be done the browser collects garbage in many small tasks. A
    picture waits for one of them at most: its work holds the longest one.
    """
    events = json.loads(trace)["traceEvents"]
    marks = [e for e in events if e["name"] == MARK and "user_timing" in e["cat"]]
    main = marks[0]["pid"], marks[0]["tid"]
    found = _by_thread(events)[main]
    tasks = sorted((e for e in found if e["name"] == TASK), key=lambda e: e["ts"])
    starts = [e["ts"] for e in tasks]

    def numbers(wanted: Iterable[dict[str, Any]]) -> list[int]:
        return sorted({bisect.bisect_right(starts, e["ts"]) - 1 for e in wanted})

    drawn = set(numbers(e for e in found if e["name"] == PICTURE))
    pages = set(numbers(e for e in found if e["name"] in PAGE))
    collectors = set(numbers(e for e in found if COLLECTOR in e["name"])) - pages
    begins = numbers(marks)
    steps: list[list[Picture]] = []
    for begin, end in itertools.pairwise([*begins, len(tasks)]):
        steps.append([])
        work: list[float] = []
        collecting: list[float] = []
        for number in range(begin, end):
            used = collecting if number in collectors else work
            used.append(tasks[number].get("tdur", 0) / 1e6)
            if number in drawn or number == end - 1:
                longest = max(collecting, default=0)
                steps[-1].append(Picture(sum(work) + longest, sum(collecting)))
                work, collecting = [], []
    return steps


def _by_thread(
    events: list[dict[str, Any]],
) -> dict[tuple[int, int], list[dict[str, Any]]]:
    found: dict[tuple[int, int], list[dict[str, Any]]] = defaultdict(list)
    for event in events:
        if event.get("ph") == "X":
            found[event["pid"], event["tid"]].append(event)
    return found


def _self_times(events: list[dict[str, Any]]) -> Counter[str]:
    """Microseconds of CPU by name, without those of the events inside."""
    found: Counter[str] = Counter()
    around: list[dict[str, Any]] = []
    for event in sorted(events, key=lambda e: (e["ts"], -e.get("dur", 0))):
        while around and event["ts"] >= around[-1]["ts"] + around[-1].get("dur", 0):
            around.pop()
        used = event.get("tdur", 0)
        found[event["name"]] += used
        if around:
            found[around[-1]["name"]] -= used
        around.append(event)
    return found

"""What a page's redraw costs by stage and by picture, from a trace of the browser: CPU time only."""

from __future__ import annotations

import bisect
import itertools
import json
from collections import Counter, defaultdict
from typing import Any

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


def pictures(trace: bytes) -> list[list[float]]:
    """For each step the seconds of work on the main thread before each picture."""
    events = json.loads(trace)["traceEvents"]
    marks = [e for e in events if e["name"] == MARK and "user_timing" in e["cat"]]
    main = marks[0]["pid"], marks[0]["tid"]
    found = _by_thread(events)[main]
    tasks = sorted((e for e in found if e["name"] == TASK), key=lambda e: e["ts"])
    starts = [e["ts"] for e in tasks]
    drawn = {
        bisect.bisect_right(starts, e["ts"]) - 1 for e in found if e["name"] == PICTURE
    }
    begins = sorted(bisect.bisect_right(starts, e["ts"]) - 1 for e in marks)
    steps: list[list[float]] = []
    for begin, end in itertools.pairwise([*begins, len(tasks)]):
        steps.append([0.0])
        for number in range(begin, end):
            steps[-1][-1] += tasks[number].get("tdur", 0) / 1e6
            if number in drawn:
                steps[-1].append(0.0)
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

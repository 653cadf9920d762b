"""How fast the viewer paints a large recording: first paint, jump, step by picture and stage.

`python viewer.py [--kernel e] [--blocks 10000] [--bundle FILE] [--steps 60]` needs
playwright and a Chromium (`CHROMIUM`, or the one in PATH). A first paint is wall clock;
jumps and steps are CPU time of the page's main thread, so that they hold on a machine
that others use, too. A step may be shown in several pictures: what counts is the most
work before one of them. `--script OLD NEW` measures two builds in turns.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import os
import shutil
import statistics
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import stages
import tables

SIZE = {"width": 1600, "height": 900}
LAYOUTS = {  # what is measured: the tabs that are opened
    "source, findings, grid, memory": (),
    "… threads for the grid": ("Threads",),
    "… events for the findings": ("Events",),
    "… variables for the findings": ("Variables",),
}
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
FRAMES = """new Promise((done) => requestAnimationFrame(() =>
  requestAnimationFrame(() => setTimeout(done, 0))))"""
MOUNT = f"""async (height) => {{
  const start = performance.now();
  const bytes = await (await fetch("trace.bundle")).arrayBuffer();
  const there = performance.now();
  const element = document.createElement("div");
  element.style.setProperty("--pd-height", height + "px");
  document.body.replaceChildren(element);
  window.app = await PallasDebug.mount(element, bytes).ready;
  await {FRAMES};
  const painted = performance.now();
  while (element.shadowRoot.querySelector("[aria-busy=true]")) await {FRAMES};
  return [there, painted, performance.now()].map((time) => (time - start) / 1e3);
}}"""
REST = 1500  # ms, in which the page prepares what the first steps ask for
# Answers in how many pictures all panels have come to show where the cursor is.
SHOWN = f"""
  let pictures = 0;
  do {{
    await new Promise(requestAnimationFrame);
    pictures++;
  }} while (app.isBehind?.value);
  await {FRAMES};
  return pictures + (pictures > 1);"""
MIDDLE = f"async () => {{ app.moveTo(Math.floor(app.model.count / 2)); {SHOWN} }}"
STEP = f"""async (by) => {{
  performance.mark("{stages.MARK}");
  app.moveTo(app.cursor.value + by);
  {SHOWN}
}}"""


def recorded(kernel: str, blocks: int) -> bytes:
    """The bundle of one of the benchmark kernels, without most values."""
    import kernels

    import pallas_debug as pldb
    from pallas_debug.views.bundle import bundle

    case = kernels.build(kernel, blocks, None)
    options = pldb.Options(progress=False, max_value_bytes=1 << 20)
    trace = pldb.trace(case.run, *case.inputs, options=options)
    print(f"{len(trace):,} events, {blocks:,} blocks, {len(trace.threads):,} threads")
    return bundle(trace)


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves a folder without a line for each request."""

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""


@contextmanager
def served(bundle: bytes, script: Path) -> Iterator[str]:
    """The address of a folder with the script and the bundle."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "trace.bundle").write_bytes(bundle)
        shutil.copy(script, Path(folder) / "embed.js")
        page = "<!doctype html><meta charset=utf-8><body style='margin:0'>"
        (Path(folder) / "index.html").write_text(
            page + "<script src=embed.js></script>"
        )
        handler = functools.partial(Quiet, directory=folder)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/index.html"
        server.shutdown()


class Thread:
    """The main thread of a page: how much CPU time it took."""

    def __init__(self, page: Any) -> None:
        self._page = page
        self._client = page.context.new_cdp_session(page)
        self._client.send("Performance.enable", {"timeDomain": "threadTicks"})

    def _busy(self) -> float:
        metrics = self._client.send("Performance.getMetrics")["metrics"]
        return next(m["value"] for m in metrics if m["name"] == "TaskDuration")

    def during(self, code: str, argument: Any = None) -> float:
        """Seconds that it worked while some code ran."""
        before = self._busy()
        self._page.evaluate(code, argument)
        return self._busy() - before


def measured(
    browser: Any, url: str, tabs: tuple[str, ...], steps: int
) -> tuple[list[float | str], dict[str, float]]:
    """Times of the first paint, of a jump and of steps; and of a step by stage."""
    page = browser.new_page(viewport=SIZE)
    page.goto(url)
    paint = page.evaluate(MOUNT, SIZE["height"])
    for tab in tabs:
        page.locator("[role=tab]", has_text=tab).first.click()
    page.wait_for_timeout(REST)
    thread = Thread(page)
    jump = thread.during(MIDDLE)
    # The first steps are the slowest: they are those whose pictures are looked at.
    shown, redraws = redrawn(browser, page, steps)
    idle = statistics.median(thread.during(STEP, 0) for _ in range(10))
    times = [max(thread.during(STEP, 1) - idle, 0) for _ in range(steps)]
    by_stage = traced(browser, page, 1, steps)
    nothing = traced(browser, page, 0, steps)
    page.close()
    found = [*paint, jump, statistics.median(times), *redraws, *shown]
    return found, {name: max(by_stage[name] - nothing[name], 0) for name in by_stage}


def redrawn(browser: Any, page: Any, steps: int) -> tuple[tuple[str, str], list[float]]:
    """In how many pictures steps are shown; the most work before one: median, 95 %, worst.

    The last number is the worst one with all garbage that was collected meanwhile.
    """
    browser.start_tracing(page=page, categories=stages.PICTURES)
    for _ in range(10):
        page.evaluate(STEP, 0)
    counts = sorted(page.evaluate(STEP, 1) for _ in range(steps))
    found = stages.pictures(browser.stop_tracing())
    # Asking the page to do nothing costs something, too, before the first picture.
    idle = statistics.median(step[0].work for step in found[:10])

    def asked(step: list[stages.Picture]) -> list[stages.Picture]:
        return [step[0]._replace(work=step[0].work - idle), *step[1:]]

    redraws = [asked(step) for step in found[10:]]
    most = sorted(max(one.work for one in step) for step in redraws)
    all_of_it = max(one.work + one.collecting for step in redraws for one in step)
    shown = str(counts[steps // 2]), str(counts[-1])
    return shown, [most[steps // 2], most[int(steps * 0.95)], most[-1], all_of_it]


def traced(browser: Any, page: Any, by: int, steps: int) -> dict[str, float]:
    """What steps cost by stage; tracing itself makes them slower."""
    browser.start_tracing(page=page, categories=stages.CATEGORIES)
    for _ in range(steps):
        page.evaluate(STEP, by)
    return stages.of(browser.stop_tracing(), steps)


def main() -> None:
    """Prints the table."""
    from playwright.sync_api import (  # pyright: ignore[reportMissingImports]
        sync_playwright,
    )

    static = Path(__file__).parents[1] / "pallas_debug/views/static/embed.js"
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", default="e")
    parser.add_argument("--blocks", type=int, default=10_000)
    parser.add_argument("--bundle", type=Path, help="measure this one instead")
    parser.add_argument("--script", type=Path, nargs="+", default=[static])
    parser.add_argument("--steps", type=int, default=60)
    given = parser.parse_args()
    bundle = given.bundle and given.bundle.read_bytes()
    bundle = bundle or recorded(given.kernel, given.blocks)
    print(f"bundle of {len(bundle) / 1e6:.1f} MB, {os.cpu_count()} cores")
    head = [
        "panels",
        "loaded",
        "first paint",
        "complete",
        "jump",
        "step",
        "redraw",
        "95 %",
        "slowest",
        "with idle GC",
        "pictures",
        "most",
    ]
    rows = [head]
    parts = [["a step in stages", *stages.COLUMNS]]
    with sync_playwright() as playwright:
        path = os.environ.get("CHROMIUM") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        for layout, tabs in LAYOUTS.items():
            for script in given.script:
                with served(bundle, script) as url:
                    times, by_stage = measured(browser, url, tabs, given.steps)
                named = len(given.script) > 1
                name = f"{layout} [{script.stem}]" if named else layout
                cells = [
                    one if isinstance(one, str) else tables.duration(one)
                    for one in times
                ]
                rows.append([name, *cells])
                parts.append([name, *(f"{by_stage[c] * 1e3:.2f}" for c in by_stage)])
        browser.close()
    print(tables.grid(rows))
    print("\nMilliseconds of CPU, traced, without what the browser does anyway:")
    print(tables.grid(parts))


if __name__ == "__main__":
    main()

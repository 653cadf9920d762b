"""Fails tests on what the checks find in the kernels that they launch.

A marked test (`@pytest.mark.pallas_debug`), or with `--pallas-debug` every test, runs
inside a recording: its kernels are recorded and judged, nothing in it changes. The
fixture `pallas_debug` gives a test the recording itself. JAX is imported only then.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest

HELP = "record and check the kernels of every test"
MARK = (
    "pallas_debug(*, select=None, ignore=None, fail_on='error', **options): record this "
    "test's kernels and fail on findings; options are those of pallas_debug.Options"
)
SEVERITIES = ("error", "warning", "info")
JUDGING = ("select", "ignore", "fail_on")


def pytest_addoption(parser: Any) -> None:
    """Adds `--pallas-debug` and its companions."""
    group = parser.getgroup("pallas_debug")
    group.addoption("--pallas-debug", action="store_true", help=HELP)
    group.addoption(
        "--pallas-debug-baseline",
        metavar="PATH",
        help="leave the findings of this baseline file aside",
    )


def pytest_configure(config: Any) -> None:
    """Declares the marker."""
    config.addinivalue_line("markers", MARK)


@pytest.fixture
def pallas_debug(request: Any) -> Iterator[Any]:
    """A recording of the test's kernels; `pallas_debug.trace` has what was recorded."""
    import pallas_debug as pldb

    options, _ = _settings(request.node)
    with pldb.recording(pldb.Options(**options)) as made:
        yield made


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: Any) -> Any:
    """Runs a test inside a recording and judges it, where that was asked for."""
    marked = item.get_closest_marker("pallas_debug") is not None
    if not marked and not item.config.getoption("--pallas-debug"):
        return (yield)
    import pallas_debug as pldb

    options, judging = _settings(item)
    fail_on = judging.pop("fail_on", "error")
    if fail_on not in SEVERITIES:
        raise pytest.UsageError(f"fail_on={fail_on!r}; accepted: {SEVERITIES}")
    made: Any = None
    try:
        with pldb.recording(pldb.Options(**options)) as made:
            result = yield
    except BaseException:
        report = _judged(made, judging, item)
        if report is not None and report.findings:
            item.add_report_section("call", "pallas_debug", str(report))
        raise
    report = _judged(made, judging, item)
    counted = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    if report and any(str(one.severity) in counted for one in report.findings):
        pytest.fail(f"pallas_debug: {report}", pytrace=False)
    return result


def _judged(made: Any, judging: dict[str, Any], item: Any) -> Any:
    """The report on what a test launched, None if it launched nothing."""
    import pallas_debug as pldb

    if made is None or not made.trace.launches:
        return None
    return _known_aside(pldb.check(made.trace, **judging), item.config)


def _settings(item: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The marker's options of a recording, and those of judging it."""
    import pallas_debug as pldb

    mark = item.get_closest_marker("pallas_debug")
    given = dict(mark.kwargs) if mark else {}
    judging = {k: given.pop(k) for k in JUDGING if k in given}
    known = (*JUDGING, *(field.name for field in fields(pldb.Options)))
    for name in given:
        if name not in known:
            accepted = ", ".join(known)
            raise pytest.UsageError(f"pallas_debug({name}=…); accepted: {accepted}")
    return given, judging


def _known_aside(report: Any, config: Any) -> Any:
    path = config.getoption("--pallas-debug-baseline")
    if not path:
        return report
    from pallas_debug.checks import suppression

    return suppression.without(report, suppression.read_baseline(path))

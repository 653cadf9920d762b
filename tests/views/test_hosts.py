"""What VS Code, Colab and marimo ask of a widget's module, as they document it.

One ES module whose default export has `render`; nothing from a network, no code made from
text, no module loaded later; and it runs under a policy that forbids all of those.
"""

import re

import pytest
from browser import Page
from kernels import ring

import pallas_debug as pldb
from pallas_debug.machine import Options, run
from pallas_debug.trace import Writer, close
from pallas_debug.views import scripts

pytestmark = pytest.mark.skipif(
    not scripts.is_built(), reason="the viewer is not built"
)
POLICY = (
    "default-src 'none'; script-src 'nonce-test' blob:; style-src 'unsafe-inline'; "
    "img-src data: blob:"
)
FORBIDDEN = {
    "code made from text": r"\beval\s*\(|new Function\b|\bFunction\s*\(",
    "a module that is loaded later": r"\bimport\s*\(|importScripts|\brequire\s*\(",
    "an import from elsewhere": r"(?:^|[;}])\s*import\s*[\w{*'\"]",
    "a request": r"\bfetch\s*\(|XMLHttpRequest|WebSocket|sendBeacon|EventSource",
    "a worker": r"new (Shared)?Worker\b|serviceWorker",
    "storage, which a sandbox refuses": r"localStorage|sessionStorage|indexedDB",
    "a dialog, which a webview swallows": r"\b(alert|confirm|prompt)\s*\(",
}


@pytest.mark.parametrize("name", [scripts.WIDGET, scripts.EMBED])
@pytest.mark.parametrize("what", FORBIDDEN)
def test_script_has_nothing_that_a_host_forbids(name, what):
    found = re.search(FORBIDDEN[what], scripts.script(name), re.MULTILINE)
    assert found is None, scripts.script(name)[found.start() - 80 : found.end() + 80]


def test_addresses_are_names_only():
    addresses = set(re.findall(r"https?://[^\"'`\s)]+", scripts.script(scripts.WIDGET)))
    assert {one.split("/")[2] for one in addresses} <= {"www.w3.org"}, addresses


def test_widget_is_one_module_with_a_default_export():
    text = scripts.script(scripts.WIDGET)
    exports = re.findall(r"\bexport\s*(?:default\b|\{([^}]*)\})", text)
    assert len(exports) == 1
    assert re.search(r"export\s*\{\s*\w+ as default\s*\}|export default", text)
    assert not re.search(r"\bexport\s*\{", scripts.script(scripts.EMBED))


@pytest.fixture
def page(browser):
    pytest.importorskip("anywidget")
    made = Page(browser)
    yield made
    made.close()
    assert not made.errors


@pytest.mark.browser
def test_widget_runs_under_a_policy_that_forbids_everything_else(page):
    writer = Writer()
    run(ring(), writer, Options())
    session = pldb.debug(close(writer))
    page.mount(session.widget(), policy=POLICY).wait_for("Before the first event")
    page.press("ArrowRight")
    page.wait_for(session.trace[0].what)
    kinds = page.page.evaluate(
        """async () => {
          const { default: widget } = await import(window.moduleAddress);
          return Object.fromEntries(Object.entries(widget).map(([k, v]) => [k, typeof v]));
        }"""
    )
    assert kinds == {"render": "function"}
    page.page.evaluate("window.cleanup()")
    assert page.text() == ""

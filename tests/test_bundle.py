"""The committed viewer is what the TypeScript sources make, and is small enough."""

import hashlib
import pathlib
import re

import pytest

from pallas_debug.views import scripts

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = ROOT / "js_widgets"
# anywidget sends the whole script with each widget and saves it in a notebook's state.
# Seven panels and their drawing take this much; about a third of it when compressed.
MOST_BYTES = 300_000
NAMES = (scripts.WIDGET, scripts.EMBED)


def source_hash():
    """As `js_widgets/build.mjs` computes it for the banner."""
    kinds = (".ts", ".tsx", ".css")
    found = [path for path in (SOURCES / "src").rglob("*") if path.suffix in kinds]
    files = [*found, SOURCES / "build.mjs", SOURCES / "package-lock.json"]
    digest = hashlib.sha256()
    for name in sorted(path.relative_to(SOURCES).as_posix() for path in files):
        text = (SOURCES / name).read_text(encoding="utf-8")
        digest.update(f"{name}\0".encode() + text.encode() + b"\0")
    return digest.hexdigest()


@pytest.mark.parametrize("name", NAMES)
def test_script_is_built_from_the_sources(name):
    banner = re.match(r"/\* pallas_debug src-sha256:(\w+) \*/", scripts.script(name))
    assert banner, "no banner: build it with js_widgets/build.mjs"
    assert banner[1] == source_hash(), (
        "stale: cd js_widgets && npm ci && npm run build, then commit both"
    )


@pytest.mark.parametrize("name", NAMES)
def test_script_is_small(name):
    assert len(scripts.script(name).encode()) < MOST_BYTES

"""Prints the pages that have a source elsewhere: checks, commands, columns, gallery."""

import argparse
import json
from pathlib import Path

from pallas_debug import cli
from pallas_debug.checks import CHECKS
from pallas_debug.checks.aborts import versions
from pallas_debug.gallery import ENTRIES
from pallas_debug.trace import schema
from pallas_debug.views import facts_schema

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"
MEASURED = Path(__file__).resolve().parent.parent / "benchmarks" / "measured"
MEASURED_HOW = (
    "What was foreseen against what the installed JAX does, in processes of their own;",
    "`python benchmarks/refusals.py` prints it. The kernels are pairs, one that something",
    "refuses and a near twin that is taken, and the gallery, the cases, the tests of",
    "refusals and the shipped kernels where the heading names them. For GPU interpret",
    "mode the checks foresee without running JAX; for the other targets `portability`",
    "asks JAX in its own way, and what is measured is whether that is what a user gets",
    "(of the gallery, our tests and the shipped kernels, whose `interpret=` is replaced",
    "both times, only whether JAX says the same twice). A refusal counts with the same",
    "class and wording only, a hang as a hang; a kernel that JAX still works at when its",
    "time is over is neither, and not counted. Rows of JAX's tests count the launches of",
    "its own interpreter tests, races and all.",
)
FAMILIES = {
    "PD1": "Memory",
    "PD2": "Ordering: races, barriers, semaphores",
    "PD3": "What JAX itself would refuse",
    "PD4": "Numbers",
    "PD5": "Assertions in the kernel",
    "PD6": "Limits and rules of the chip",
    "PD9": "About the recording itself",
}


def write(folder: Path) -> None:
    """Writes the pages; files that are right already stay as they are."""
    folder.mkdir(exist_ok=True)
    _put(folder / "checks.md", _checks())
    _put(folder / "refusals.md", _refusals())
    _put(folder / "commands.md", _commands())
    _put(folder / "columns.md", _columns())
    _put(folder / "json.md", _json())
    _put(folder.parent / "tutorial" / "gallery.md", _gallery())
    _put(folder.parent / "tutorial" / "notebooks.md", _notebooks())


def _put(path: Path, text: str) -> None:
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def _checks() -> str:
    lines = [
        "# Checks",
        "",
        "What each finding means, why it matters and what to do. The same text is printed",
        "by `pallas-debug explain CODE`.",
    ]
    for family, title in FAMILIES.items():
        members = [one for code, one in CHECKS.items() if code.startswith(family)]
        if members:
            lines += ["", f"## {title}"]
        for one in members:
            head, _, page = one.doc.partition("\n")
            lines += ["", f"### {one.code} {one.name}", "", f"*{one.severity}.* "]
            lines[-1] += head.removeprefix(f"{one.code} {one.name}: ").capitalize()
            lines += ["", _demoted(page)]
    return "\n".join(lines) + "\n"


def _demoted(page: str) -> str:
    """A check's page below its title; Python has no `…` in an argument list."""
    text = page.strip().replace("\n## ", "\n#### ").replace("…)", "...)")
    return f"##{text}" if text.startswith("## ") else text


def _refusals() -> str:
    lines = [
        "# What JAX refuses, by version",
        "",
        "Each row is confirmed by running JAX in the tests, on the versions that are",
        "installed there. For one kernel, all modes at once: `pallas-debug portability`.",
        "",
        "| code | refusal | first seen in | gone in |",
        "|---|---|---|---|",
    ]
    for code, (first, end) in sorted(versions.REFUSED.items()):
        name = CHECKS.get(code).name
        since, until = (".".join(map(str, v)) if v else "" for v in (first, end))
        lines.append(f"| [{code}](checks.md) | {name} | {since} | {until} |")
    lines += ["", "## Measured", "", *MEASURED_HOW]
    for path in sorted(MEASURED.glob("refusals-*.md")):
        lines += ["", path.read_text(encoding="utf-8").strip()]
    return "\n".join(lines) + "\n"


def _commands() -> str:
    lines = ["# Commands", "", "`pallas-debug COMMAND --help` prints the same."]
    for name, module in cli.COMMANDS.items():
        parser = argparse.ArgumentParser(prog=f"pallas-debug {name}")
        module.add_arguments(parser)
        lines += ["", f"## {name}", "", (module.__doc__ or "").strip(), ""]
        lines += ["```text", parser.format_help().strip(), "```"]
    return "\n".join(lines) + "\n"


def _columns() -> str:
    lines = [
        "# Columns and kinds of events",
        "",
        "A trace is a table of events, `trace.events`, and side tables for launches,",
        "threads, buffers, regions and values.",
        "",
        "## Columns",
        "",
        "| column | dtype | meaning |",
        "|---|---|---|",
    ]
    for column in (*schema.COLUMNS, *schema.DERIVED):
        lines.append(f"| `{column.name}` | {column.dtype} | {column.meaning} |")
    lines += ["", "## Kinds", "", "| kind | meaning |", "|---|---|"]
    for kind, meaning in schema.KIND_MEANINGS.items():
        lines.append(f"| `{kind.name}` | {meaning} |")
    return "\n".join(lines) + "\n"


def _json() -> str:
    schema = facts_schema.json_schema()
    lines = [
        "# JSON",
        "",
        "What `pallas-debug export run.pldb run.json` and `--json` write. The",
        "{download}`JSON Schema <../../pallas_debug/views/facts.schema.json>` is also in the",
        "package, as `pallas_debug/views/facts.schema.json`; the tests validate against it.",
    ]
    for name, one in {"The whole": schema, **schema["$defs"]}.items():
        lines += ["", f"## {name}", "", one["description"], ""]
        lines += ["| field | type | |", "|---|---|---|"]
        for field, kind in one["properties"].items():
            needed = "" if field in one["required"] else "may be missing"
            lines.append(f"| `{field}` | {_kind(kind)} | {needed} |")
    return "\n".join(lines) + "\n"


def _kind(schema: dict) -> str:
    """The type of a field in a few words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(map(_kind, schema["anyOf"]))
    if "enum" in schema:
        return " or ".join(f"`{one}`" for one in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_kind(schema['items'])}"
    if schema.get("type") == "object":
        return f"object of {_kind(schema['additionalProperties'])}"
    return schema.get("type", "any")


EMBED = """```{{pallas-debug}}
:height: 560
:caption: {title}

from pallas_debug import gallery
fn, args = gallery.ENTRIES["{name}"].faulty()
fn(*args)
```"""
SHOWN = ("masked_softmax", "ring_deadlock", "ring_race")  # each viewer is 200 kB


def _gallery() -> str:
    lines = [
        "# Faults to learn from",
        "",
        "Small kernels, each with one fault, its story and a fixed twin, from easy to hard:",
        "",
        "```python",
        "from pallas_debug import gallery",
        'fn, args = gallery.ENTRIES["ring_race"].faulty()   # or .fixed()',
        "pldb.debug(fn, *args)",
        "```",
        "",
        "In a terminal: `pallas-debug demo ring_race`.",
    ]
    for name, entry in ENTRIES.items():
        lines += [
            "",
            f"## {entry.title}",
            "",
            f"`{name}`, {', '.join(entry.codes)}",
            "",
        ]
        lines += [entry.story]
        if name in SHOWN:
            lines += ["", EMBED.format(title=entry.title, name=name)]
    return "\n".join(lines) + "\n"


def _notebooks() -> str:
    """Each notebook by the first words in it."""
    lines = [
        "# Notebooks",
        "",
        "Each teaches one idea on a real fault and ends in your own kernel. Open them in",
        "Jupyter with `pip install '.[notebook]'`, or in a browser, with nothing",
        "installed, [through Binder](../howto/binder.md).",
    ]
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        title, _, text = "".join(cells[0]["source"]).partition("\n")
        first = text.strip().partition("\n\n")[0]
        file = f"{{download}}`{path.name} <../../notebooks/{path.name}>`"
        lines += ["", f"## {title.removeprefix('# ')}", "", first, "", file]
    return "\n".join(lines) + "\n"

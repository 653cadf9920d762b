"""A file above 300 lines or a function above 40 says why, or is split by noun."""

import ast
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILE_LINES = 300
TEST_LINES = 450  # one test module mirrors one module, with all its cases
FUNCTION_LINES = 40

# path, or path::function → why it may be longer.
LONGER = {
    "pallas_debug/errors.py": "every message of the package stands there",
}

FILES = sorted((ROOT / "pallas_debug").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def code_lines(function):
    """Lines of a function without its decorators and docstring."""
    lines = function.end_lineno - function.lineno + 1
    first = function.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        lines -= first.end_lineno - first.lineno + 1
    return lines


def functions(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{name_of(path)}::{node.name}", code_lines(node)


@pytest.mark.parametrize("path", FILES + TESTS, ids=name_of)
def test_file_is_short(path):
    lines = len(path.read_text(encoding="utf-8").splitlines())
    limit = TEST_LINES if path in TESTS else FILE_LINES
    assert lines <= limit or name_of(path) in LONGER, f"{lines} lines"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_functions_are_short(path):
    long = {n: c for n, c in functions(path) if c > FUNCTION_LINES and n not in LONGER}
    assert not long


def test_every_exception_still_exists():
    known = {name_of(p) for p in FILES + TESTS}
    known |= {name for path in FILES for name, _ in functions(path)}
    assert set(LONGER) <= known

"""Imports follow the layers: plain data at the bottom, doors at the top.

A new import that this test refuses is a design question, not a test failure to silence:
data flows one way, the machine knows no JAX, and a check runs on a file alone.
"""

import ast
import pathlib
import sys

import pytest

PACKAGE = pathlib.Path(__file__).resolve().parent.parent / "pallas_debug"

ANYWHERE = {"accepted", "errors", "registry"}  # import nothing of ours but each other
PUBLIC = "public API"
LAYERS = {
    "ir": set(),
    "trace": {"ir"},
    "machine": {"ir", "trace"},
    "jaxlink": {"ir"},
    "checks": {"ir", "trace"},
    "views": {"ir", "trace", "checks"},
    "session": {"ir", "trace", "machine", "jaxlink", "checks", "views"},
}
DOOR = {"session", "views", "arguments", "tracebacks", PUBLIC}
OURS = {
    **LAYERS,
    "session": LAYERS["session"] | {PUBLIC},  # for the version in a trace's meta
    "accepted": set(),
    "errors": set(),
    "registry": set(),
    "tracebacks": set(),
    "arguments": {PUBLIC},
    "magic": DOOR,
    "cli": DOOR | {"checks", "gallery"},  # `explain` reads the registry's docstrings
    "sphinxext": DOOR,
    "__main__": {"cli"},
    "gallery": {PUBLIC},
    "extend": {"machine", "checks", "views"},
    "plot": {"views"},
    "executors": {"session", PUBLIC},
    "pytest_plugin": DOOR | {"checks"},  # baselines
    "__init__": {"magic", *LAYERS},  # inside functions and for type checkers
}

ARRAYS = {"numpy", "ml_dtypes"}
OUTSIDE = {
    "ir": ARRAYS,
    "trace": ARRAYS,
    "machine": ARRAYS,
    "jaxlink": ARRAYS | {"jax", "jaxlib"},
    "checks": ARRAYS,
    "views": ARRAYS
    | {"anywidget", "traitlets", "matplotlib", "PIL", "pygments", "pyarrow"},
    "session": ARRAYS | {"tqdm"},
    "magic": {"IPython"},
    "cli": {"shtab"},
    "sphinxext": {"sphinx", "docutils"},
    "gallery": ARRAYS | {"jax"},
    "pytest_plugin": {"pytest"},
}
# Optional or slow: imported by the function that needs them, never by a module.
LAZY = {
    *("IPython", "anywidget", "traitlets", "matplotlib", "PIL", "pygments", "pyarrow"),
    "shtab",
}
LAZY_EXEMPT = {
    "magic/magics.py",  # is itself imported lazily, by load_ipython_extension
    "magic/completion.py",  # the same
    "views/widget.py",  # is itself imported lazily, by the view's function
}
# What views may take from checks.
VERDICT_TYPES = {"Finding", "Report", "Severity"}

FILES = sorted(PACKAGE.rglob("*.py"))


def name_of(path):
    return path.relative_to(PACKAGE).as_posix()


def layer_of(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(tree, path):
    """Yields (module, names, at module level) for each import of a file."""
    top = set(map(id, tree.body))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, (), id(node) in top
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = ("pallas_debug", *path.relative_to(PACKAGE).parts[:-1])
                kept = parts[: len(parts) - node.level + 1]
                base = ".".join([*kept, *([base] if base else [])])
            yield base, tuple(a.name for a in node.names), id(node) in top


def our_targets(module, names):
    """The layers of ours that an import reaches."""
    head, _, rest = module.partition(".")
    if head != "pallas_debug":
        return set()
    if rest:
        return {rest.partition(".")[0]}
    if not names:
        return {PUBLIC}
    known = {layer_of(p) for p in FILES} - {"__init__", "trace"}
    # `from pallas_debug import trace` is the verb, never the subpackage.
    return {name if name in known else PUBLIC for name in names}


@pytest.fixture(scope="module", params=FILES, ids=name_of)
def source(request):
    return request.param, ast.parse(request.param.read_text(encoding="utf-8"))


def test_layer_imports_of_ours_only_what_the_table_allows(source):
    path, tree = source
    layer = layer_of(path)
    allowed = OURS[layer] | ANYWHERE | {layer}
    for module, names, _ in imports(tree, path):
        wrong = our_targets(module, names) - allowed
        assert not wrong, f"{name_of(path)} imports {wrong} ({module})"
        if layer == "views" and module.startswith("pallas_debug.checks"):
            assert set(names) <= VERDICT_TYPES, f"{name_of(path)} imports {names}"


def test_layer_imports_of_others_only_what_the_table_allows(source):
    path, tree = source
    allowed = OUTSIDE.get(layer_of(path), set())
    for module, _, at_top in imports(tree, path):
        head = module.partition(".")[0]
        if head == "pallas_debug" or head in sys.stdlib_module_names:
            continue
        assert head in allowed, f"{name_of(path)} imports {module}"
        if head in LAZY and name_of(path) not in LAZY_EXEMPT:
            assert not at_top, f"{name_of(path)} imports {module} at module level"


def test_private_names_of_jax_stand_in_one_file(source):
    path, tree = source
    if name_of(path) != "jaxlink/privates.py":
        for module, names, _ in imports(tree, path):
            assert not module.startswith("jax._src"), name_of(path)
            assert not (module == "jax" and "_src" in names), name_of(path)


def test_the_table_knows_every_folder():
    assert {layer_of(p) for p in FILES} <= set(OURS)

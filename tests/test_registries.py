"""The generic registry, and the agreement of each explicit list with its folder."""

import pathlib

import pytest

from pallas_debug import checks, cli, errors, extend, views
from pallas_debug.machine import rules as machine_rules
from pallas_debug.registry import Registry


def swap():
    """Stands for an extension."""


def test_register_returns_the_function_unchanged():
    rules = Registry("rule")
    assert rules.register("pallas.swap")(swap) is swap
    assert rules.get("pallas.swap") is swap


def test_duplicate_key_names_both_registrants():
    rules = Registry("rule")
    rules.add("pallas.swap", swap)

    def other():
        pass

    with pytest.raises(errors.DuplicateEntry) as caught:
        rules.add("pallas.swap", other)
    text = str(caught.value)
    assert "`pallas.swap`" in text
    assert f"{__name__}.swap" in text
    assert "other" in text
    assert rules.get("pallas.swap") is swap


def test_unknown_key_offers_the_three_nearest_names():
    checks = Registry("check")
    for code in ("PD101", "PD102", "PD103", "PD301", "XY"):
        checks.add(code, code)
    with pytest.raises(errors.UnknownEntry, match="there is no check `PD100`") as found:
        checks.get("PD100")
    assert str(found.value).count("`PD10") == 4  # the wrong one and three offers
    assert "XY" not in str(found.value)


def test_removed_key_is_unknown_and_free_again():
    rules = Registry("rule")
    rules.add("pallas.swap", swap)
    assert rules.remove("pallas.swap") is swap
    with pytest.raises(errors.UnknownEntry):
        rules.remove("pallas.swap")
    rules.add("pallas.swap", swap)
    assert rules.edits == 3


def of_cell(file, source="def swap(m): return 0"):
    """What a notebook cell defines: to Python an edited cell is another file."""
    namespace = {"__name__": "__main__"}
    exec(compile(source, file, "exec"), namespace)
    return namespace["swap"]


@pytest.mark.parametrize("again", ["cell-1", "cell-2"], ids=["same", "edited"])
def test_cell_that_runs_again_replaces_its_registration(again):
    rules = Registry("rule")
    rules.add("pallas.swap", of_cell("cell-1"))
    new = of_cell(again)
    rules.add("pallas.swap", new)
    assert rules.get("pallas.swap") is new
    assert rules.edits == 2


def test_two_definitions_of_one_cell_are_duplicates():
    rules = Registry("rule")
    rules.add("pallas.swap", of_cell("cell-1"))
    with pytest.raises(errors.DuplicateEntry):
        rules.add("pallas.swap", of_cell("cell-1", "\n\ndef swap(m): return 1"))


def test_duplicate_rule_names_both_functions():
    first = machine_rules.RULES.get("state.get").function
    with pytest.raises(errors.DuplicateEntry, match=first.__qualname__) as caught:
        machine_rules.rule("state.get")(swap)
    assert f"{__name__}.swap" in str(caught.value)


def test_iteration_is_sorted_by_key():
    views = Registry("view")
    for key in ("text", "html", "perfetto"):
        views.add(key, key.upper())
    assert list(views) == ["html", "perfetto", "text"]
    assert next(iter(views.items())) == ("html", "HTML")
    assert len(views) == 3
    assert "text" in views
    assert "txt" not in views


PACKAGE = pathlib.Path(checks.__file__).parent.parent


def modules_with(folder, text):
    """Names of the modules in a folder whose source has a text."""
    for path in sorted((PACKAGE / folder).rglob("*.py")):
        if any(line.startswith(text) for line in path.read_text().splitlines()):
            parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
            yield ".".join(parts)


def test_every_check_in_the_folder_is_in_the_list():
    found = list(modules_with("checks", "@check("))
    assert found
    registered = {one.function.__module__ for _, one in checks.CHECKS.items()}
    assert registered == set(found)


def test_every_rule_family_in_the_folder_is_in_the_list():
    found = list(modules_with("machine/rules", "@rule("))
    registered = {rule.function.__module__ for _, rule in machine_rules.RULES.items()}
    assert found
    assert set(found) <= registered


def test_every_view_in_the_folder_is_in_the_list():
    found = set(modules_with("views", "@exported("))
    assert found
    assert {one.function.__module__ for _, one in views.VIEWS.items()} == found


def test_everything_that_can_be_added_is_added_by_one_function_of_extend():
    assert sorted(extend.__all__) == ["check", "rule", "schedule", "view"]
    assert all(callable(getattr(extend, name)) for name in extend.__all__)


def test_every_command_in_the_folder_is_in_the_list():
    found = set(modules_with("cli", "def add_arguments")) - {"pallas_debug.cli.output"}
    assert {module.__name__ for module in cli.COMMANDS.values()} == found

"""The generic registry, and the agreement of each explicit list with its folder."""

import pathlib

import pytest

from pallas_debug import checks, cli, errors
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
    registered = {rule.function.__module__ for rule in machine_rules.RULES.values()}
    assert found
    assert set(found) <= registered


def test_every_command_in_the_folder_is_in_the_list():
    found = set(modules_with("cli", "def add_arguments")) - {"pallas_debug.cli.output"}
    assert {module.__name__ for module in cli.COMMANDS.values()} == found

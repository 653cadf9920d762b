"""The published schema is the printed one, and what is written fits it."""

import json

import pytest

import pallas_debug as pldb
from pallas_debug import cli, gallery, views
from pallas_debug.views import facts_schema

jsonschema = pytest.importorskip("jsonschema", reason="the test extra is not installed")
PUBLISHED = json.loads(facts_schema.FILE.read_text(encoding="utf-8"))


def test_published_file_is_what_the_types_say():
    assert facts_schema.FILE.read_text(encoding="utf-8") == facts_schema.schema_text()
    jsonschema.Draft202012Validator.check_schema(PUBLISHED)


def mistakes(data):
    return list(jsonschema.Draft202012Validator(PUBLISHED).iter_errors(data))


@pytest.mark.parametrize("name", gallery.ENTRIES)
def test_what_the_gallery_exports_is_valid(name):
    fn, args = gallery.ENTRIES[name].faulty()
    trace = pldb.trace(fn, *args)
    made = json.loads(views.view_for("x.json").function(trace, pldb.check(trace)))
    assert made["findings"]
    assert not mistakes(made)


def test_command_line_writes_and_prints_valid_json(tmp_path, capsys):
    fn, args = gallery.ENTRIES["ring_race"].faulty()
    path = tmp_path / "run.pldb"
    pldb.trace(fn, *args).save(path)
    assert cli.main(["export", str(path), str(tmp_path / "run.json")]) == 0
    exported = json.loads((tmp_path / "run.json").read_text())
    assert not mistakes(exported)
    capsys.readouterr()
    cli.main(["check", "--json", str(path)])
    printed = json.loads(capsys.readouterr().out)
    assert not mistakes(printed)
    assert printed["findings"] == exported["findings"]


def test_how_a_script_ended_is_valid_json(tmp_path, capsys):
    script = tmp_path / "broken.py"
    script.write_text("raise SystemExit('no')\n")
    cli.main(["run", "--json", str(script)])
    printed = json.loads(capsys.readouterr().out)
    assert printed["script"]["how"]
    assert not mistakes(printed)


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        (("findings", 0, "severity"), "fatal"),
        (("findings", 0, "count"), "many"),
        (("launches", 0, "counts", 0, "total"), None),
        (("launches", 0, "loc"), {"file": 3}),
        (("more",), 1),
    ],
)
def test_schema_tells_what_is_wrong(place, wrong):
    fn, args = gallery.ENTRIES["unwaited_copy"].faulty()
    trace = pldb.trace(fn, *args)
    data = json.loads(json.dumps(views.facts(trace, pldb.check(trace))))
    part = data
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = wrong
    (found,) = mistakes(data)
    assert list(found.absolute_path) == list(place[: len(found.absolute_path)])

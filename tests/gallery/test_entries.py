"""Each gallery kernel shows its fault; its fixed twin shows none and is right."""

from pathlib import Path

import numpy as np
import pytest

import pallas_debug as pldb
from pallas_debug import gallery

ENTRIES = list(gallery.ENTRIES.values())
each = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)


@each
def test_faulty_kernel_gets_its_findings(entry):
    fn, args = entry.faulty()
    report = pldb.check(fn, *args)
    assert set(entry.codes) <= {one.code for one in report.findings}


@each
def test_fixed_twin_is_clean_and_right(entry):
    fn, args = entry.fixed()
    trace = pldb.trace(fn, *args)
    assert pldb.check(trace).errors == ()
    np.testing.assert_allclose(trace.outputs, entry.reference(*args), atol=1e-4)


@each
def test_entry_tells_its_story(entry):
    assert entry.name in gallery.ENTRIES
    assert entry.title
    assert "way out is" in " ".join(entry.story.split())
    assert entry.level in (1, 2, 3)


def test_every_module_of_the_folder_is_listed():
    folder = Path(gallery.__file__).parent
    modules = {path.stem for path in folder.glob("*.py")}
    shared = {"__init__", "doubling", "entry", "gathering", "hopper_matmul", "ring"}
    assert modules - shared == set(gallery.ENTRIES)


def test_entries_go_from_easy_to_hard():
    levels = [entry.level for entry in ENTRIES]
    assert levels == sorted(levels)


def test_some_interleaving_shows_the_race_in_the_output():
    fn, args = gallery.ENTRIES["ring_race"].faulty()
    right = gallery.ENTRIES["ring_race"].reference(*args)

    def output(seed):
        options = pldb.Options(policy="random", seed=seed)
        return pldb.trace(fn, *args, options=options).outputs

    assert np.array_equal(pldb.trace(fn, *args).outputs, right)
    assert not all(np.array_equal(output(seed), right) for seed in range(40))

"""The schedule that makes a race visible is found, and is as short as it goes."""

import numpy as np
import pytest

import pallas_debug as pldb
from pallas_debug import errors, gallery
from pallas_debug.session import witness


@pytest.mark.parametrize("wanted", [[3], [2, 5], [1, 4, 9], []])
def test_shrinking_keeps_what_is_needed_and_nothing_else(wanted):
    def shows(choices):
        return set(wanted) <= set(choices)

    assert sorted(witness.shrunk(range(12), shows)) == wanted


def test_shrinking_stops_when_it_has_run_often_enough():
    asked = []

    def shows(choices):
        asked.append(choices)
        return False

    assert witness.shrunk(range(64), shows, runs=5) == list(range(64))
    assert len(asked) == 5


def test_race_is_shown_by_a_short_schedule():
    entry = gallery.ENTRIES["ring_race"]
    fn, args = entry.faulty()
    session = pldb.debug(fn, *args)
    [race] = session.judged().by_code["PD201"]
    run = session.replay(race)
    right = entry.reference(*args)
    assert np.array_equal(session.trace.outputs, right)
    assert not np.array_equal(run.outputs[0], right)
    assert "PD201" in run.label
    chosen = [thread for _, _, thread in run.trace.choices]
    assert 0 < len(chosen) < 60


def test_finding_that_no_interleaving_shows_is_said(monkeypatch):
    monkeypatch.setattr(witness, "SEEDS", 5)
    fn, args = gallery.ENTRIES["missing_commit"].faulty()
    session = pldb.debug(fn, *args)
    with pytest.raises(errors.BadOption, match=r"got 'PD203 .*none of 5 interleavings"):
        session.replay(session.judged().findings[0])

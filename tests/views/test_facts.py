"""What `--json` prints is plain data with the same numbers as the text."""

import json

import numpy as np
from helpers import TraceBuilder

from pallas_debug import checks, views
from pallas_debug.views.facts import plain


def test_facts_survive_json():
    b = TraceBuilder(grid=(1,), name="k")
    t = b.thread("warpgroup", block=0)
    t.read(b.buffer("x", (4,), role="input", initial=np.zeros(4)), [(2, 4)])
    trace = b.close()
    facts = views.facts(trace, checks.run_checks(trace))
    assert json.loads(json.dumps(facts)) == facts
    assert facts["launches"][0]["counts"][0]["label"] == "reads"
    assert [one["code"] for one in facts["findings"]] == ["PD101"]
    assert facts["findings"][0]["loc"]["line"] == 1


def test_plain_knows_arrays_and_nested_tuples():
    value = {"a": (np.int32(3), np.arange(2)), "b": None, "c": object}
    assert plain(value) == {"a": [3, [0, 1]], "b": None, "c": "<class 'object'>"}

"""Flat tables of the events say the same as the trace."""

import csv
import io

import pytest

import pallas_debug as pldb
from pallas_debug import gallery, views


@pytest.fixture(scope="module")
def trace():
    fn, args = gallery.ENTRIES["past_the_end"].faulty()
    return pldb.trace(fn, *args)


def test_table_has_a_row_for_each_event_with_its_names(trace):
    table = views.event_table(trace)
    assert {len(column) for column in table.values()} == {len(trace)}
    for seq, event in enumerate(trace.events):
        assert table["kind"][seq] == event.kind.name.lower()
        assert table["thread_name"][seq] == event.thread.name
        assert table["place"][seq] == event.place
        assert table["buffer_name"][seq] == (event.buffer.name if event.buffer else "")
        assert table["region"][seq] == (event.region.text if event.region else "")


def test_csv_reads_back(trace):
    rows = list(
        csv.DictReader(io.StringIO(views.VIEWS.get("csv").function(trace, None)))
    )
    assert len(rows) == len(trace)
    assert rows[5]["event"] == "5"
    assert rows[5]["clock"] == str(trace.events[5].clock)


@pytest.mark.parametrize("name", ["arrow", "parquet"])
def test_columnar_files_read_back(trace, name):
    pa = pytest.importorskip("pyarrow", reason="the optional extra is not installed")
    data = views.VIEWS.get(name).function(trace, None)
    if name == "arrow":
        table = pa.ipc.open_file(data).read_all()
    else:
        import pyarrow.parquet as pq

        table = pq.read_table(io.BytesIO(data))
    assert table.num_rows == len(trace)
    assert table.column("kind").to_pylist() == views.event_table(trace)["kind"]

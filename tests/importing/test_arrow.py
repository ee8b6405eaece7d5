"""Parquet and Arrow files; these need pyarrow, and one of them Hugging Face ``datasets``."""

import datetime as dt
import decimal
import json
import sys

import pytest

from closecall.errors import DatasetError, MissingExtraError

ROWS = [
    {"question": "How long?", "reference": "Five days.", "context": ["a", "b"], "n": 1},
    {"question": "Open?", "reference": "At nine.", "context": [], "n": None},
]


@pytest.fixture
def pa():
    return pytest.importorskip("pyarrow", reason="pyarrow is not installed: closecall[parquet]")


@pytest.fixture
def put(pa, tmp_path):
    """Write a table as Parquet, as an Arrow file or as an Arrow stream."""

    def written(table, form):
        import pyarrow.parquet as pq

        path = tmp_path / ("rows.parquet" if form == "parquet" else "rows.arrow")
        if form == "parquet":
            pq.write_table(table, path, row_group_size=1)
            return path
        make = pa.ipc.new_file if form == "file" else pa.ipc.new_stream
        with path.open("wb") as file, make(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=1)
        return path

    return written


@pytest.mark.parametrize("form", ["parquet", "file", "stream"])
def test_each_form_gives_the_same_cases(pa, put, taken, form):
    found, cases = taken(put(pa.Table.from_pylist(ROWS), form))
    assert found.source == "huggingface"
    assert [case.input for case in cases] == ["How long?", "Open?"]
    assert [case.references for case in cases] == [("Five days.",), ("At nine.",)]
    assert cases[0].context == ("a", "b")
    assert cases[0].metadata["metadata"] == {"n": 1}
    assert next(iter(found)).place.endswith("[0]")


def test_values_that_json_lacks(pa, put, taken):
    table = pa.table(
        {
            "question": ["q"],
            "day": [dt.date(2026, 1, 2)],
            "price": [decimal.Decimal("1.50")],
            "picture": [b"\x89PNG"],
            "odd": [float("nan")],
        }
    )
    found, (case,) = taken(put(table, "parquet"))
    assert case.metadata["metadata"]["day"] == "2026-01-02"
    assert case.metadata["metadata"]["price"] == "1.50"
    assert case.metadata["metadata"]["picture"] is None
    assert case.metadata["metadata"]["odd"] is None
    assert any(note.startswith("1 values of bytes") for note in found.notes)


def test_numbers_that_stand_for_names_come_as_names(pa, put, taken):
    features = {"label": {"names": ["reject", "accept"], "_type": "ClassLabel"}}
    table = pa.table({"question": ["q", "r"], "label": [1, 0]})
    table = table.replace_schema_metadata(
        {"huggingface": json.dumps({"info": {"features": features}})}
    )
    _, cases = taken(put(table, "stream"))
    assert [str(case.label) for case in cases] == ["accept", "reject"]


def test_a_damaged_file_is_named(put, pa, taken):
    path = put(pa.Table.from_pylist(ROWS), "parquet")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DatasetError, match=r"rows.parquet: cannot be read"):
        taken(path)


def test_folders_that_save_to_disk_made(taken, tmp_path):
    datasets = pytest.importorskip("datasets", reason="Hugging Face datasets is not installed")
    made = datasets.Dataset.from_list(ROWS)
    made.save_to_disk(tmp_path / "one")
    datasets.DatasetDict({"train": made}).save_to_disk(tmp_path / "splits")
    _, cases = taken(tmp_path / "one")
    assert [case.input for case in cases] == ["How long?", "Open?"]
    with pytest.raises(DatasetError, match=r"several splits(.|\n)*splits/train"):
        taken(tmp_path / "splits")
    _, again = taken(tmp_path / "splits" / "train")
    assert len(again) == 2


def test_a_folder_names_no_file_outside_itself(pa, taken, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    (tmp_path / "secret.arrow").write_bytes(b"x")
    state = {"_data_files": [{"filename": "../secret.arrow"}]}
    (folder / "state.json").write_text(json.dumps(state), encoding="utf-8")
    with pytest.raises(DatasetError, match="names no data files that are there"):
        taken(folder)


def test_without_pyarrow_the_extra_is_named(monkeypatch, taken, tmp_path):
    path = tmp_path / "rows.parquet"
    path.write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"closecall\[parquet\]"):
        taken(path)

"""Files of other evaluators written to break the importer: read, or refused with their place."""

import json
import os
import struct

import pytest

from closecall.errors import DatasetError
from closecall.importing import arrow, open_import


@pytest.fixture
def pa():
    return pytest.importorskip("pyarrow", reason="pyarrow is not installed: closecall[parquet]")


def refusal(path, source=None):
    with pytest.raises(DatasetError) as caught:
        list(open_import(path, source))
    assert path.name in str(caught.value)
    return str(caught.value)


def stream(pa, path, table):
    with path.open("wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    return path


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "rows.arrow")
    os.mkfifo(tmp_path / "tests.csv")
    assert "regular file" in refusal(tmp_path / "rows.arrow")
    assert "regular file" in refusal(tmp_path / "tests.csv")


def test_offsets_that_point_out_of_the_file_are_refused_before_they_are_followed(pa, tmp_path):
    path = stream(pa, tmp_path / "rows.arrow", pa.table({"question": ["abcd", "efghi"]}))
    data = path.read_bytes()
    offsets = struct.pack("<3i", 0, 4, 9)
    assert data.count(offsets) == 1
    for wrong in ((0, -5, 9), (0, 4, 9_999), (0, 9, 4), (-1, 4, 9), (0, 2**31 - 1, -(2**31))):
        path.write_bytes(data.replace(offsets, struct.pack("<3i", *wrong)))
        refusal(path, "huggingface")


def test_text_that_is_not_utf8_is_refused(pa, tmp_path):
    wrong = pa.Array.from_buffers(
        pa.string(),
        1,
        [None, pa.array([0, 2], pa.int32()).buffers()[1], pa.py_buffer(b"\xff\xfe")],
    )
    assert "UTF8" in refusal(stream(pa, tmp_path / "a.arrow", pa.table({"question": wrong})))


def test_a_date_that_python_has_not_is_a_flaw_of_its_row(pa, tmp_path):
    days = pa.array([0, 10**9], pa.date32())
    path = stream(pa, tmp_path / "a.arrow", pa.table({"question": ["a", "b"], "day": days}))
    said = refusal(path)
    assert "a.arrow[1]: day: holds a value that cannot be read" in said
    found = open_import(path, on_bad_row="skip")
    assert [case.input for case in found] == ["a"]


def test_rows_of_nothing_that_take_no_bytes_are_counted_before_they_are_made(
    pa, tmp_path, monkeypatch
):
    path = stream(pa, tmp_path / "a.arrow", pa.table({"question": pa.nulls(200_000)}))
    assert path.stat().st_size < 1_000
    monkeypatch.setattr(arrow, "MAX_VALUES", 100_000)
    assert "200,000 rows in one batch" in refusal(path)


def test_a_column_twice_and_one_nested_too_deep_are_refused(pa, tmp_path, monkeypatch):
    twice = pa.table([["a"], ["b"]], names=["question", "question"])
    assert "twice" in refusal(stream(pa, tmp_path / "a.arrow", twice))
    kind = pa.string()
    for _ in range(10):
        kind = pa.struct([("y", pa.list_(pa.map_(pa.string(), kind)))])
    deep = pa.table({"question": ["a"], "x": pa.nulls(1, kind)})
    path = stream(pa, tmp_path / "b.arrow", deep)
    assert list(open_import(path))
    monkeypatch.setattr(arrow, "MAX_DEPTH", 29)
    assert "deeper than 29 levels" in refusal(path)


@pytest.mark.parametrize(
    "state",
    [
        "{", "[]", '{"_data_files": 7}', '{"_data_files": {"a": 1}}', "[" * 100_000,
        '{"_data_files": [{"filename": "../a.arrow"}]}', '{"_data_files": [{"filename": 1}, 2]}',
        '{"_data_files": [{"filename": "state.json"}]}', '{"n": ' + "9" * 5_000 + "}",
    ],
)  # fmt: skip
def test_a_saved_data_set_that_says_of_its_files_what_is_not_so_is_refused(pa, tmp_path, state):
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "state.json").write_text(state)
    with pytest.raises(DatasetError, match="saved"):
        list(open_import(tmp_path / "saved", "huggingface"))


@pytest.mark.parametrize("splits", ["7", "null", '{"a": 1}', '["train", 3]'])
def test_splits_that_are_no_list_are_refused(pa, tmp_path, splits):
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "dataset_dict.json").write_text(f'{{"splits": {splits}}}')
    with pytest.raises(DatasetError, match="several splits"):
        open_import(tmp_path / "saved", "huggingface")


def test_a_configuration_whose_defaults_are_rubbish_is_read_or_refused(tmp_path):
    set_of = '{"type": "assert-set", "assert": ['
    rubbish = [
        f'{{"assert": [{set_of * 300}{"]}" * 300}]}}', '{"vars": {"p": "\\ud800"}}',
        '{"vars": {"p": [1e999]}}', '{"assert": 5}', "[]", "7", '{"metadata": {"x": NaN}}',
        '{"assert": [{"type": ["a"], "value": {}}]}', '{"vars": []}', '{"vars": {"q": 1, "q": 2}}',
        '{"options": {"disableDefaultAsserts": []}}', '{"threshold": NaN, "provider": "\\udfff"}',
    ]  # fmt: skip
    refusals = []
    for default in rubbish:
        path = tmp_path / "config.json"
        path.write_text(
            f'{{"prompts": ["p"], "defaultTest": {default}, "tests": [{{"vars": {{"q": "a"}}}}]}}'
        )
        try:
            cases = list(open_import(path))
        except DatasetError as error:
            refusals.append(str(error))
        else:
            json.dumps([case.metadata for case in cases], allow_nan=False).encode("utf-8")
            "".join(case.input or "" for case in cases).encode("utf-8")
    assert len(refusals) == 6
    assert all("config.json[defaultTest]" in said for said in refusals)

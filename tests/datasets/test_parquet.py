"""Parquet files as data sets: the same cases as JSON Lines, any range, and nothing believed."""

import datetime as dt
import decimal
import json
import pickle
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from closecall.datasets import open_dataset
from closecall.errors import ClosecallError, DatasetError, MissingExtraError

ROWS = 10_000


def row(number):
    return {
        "id": f"case-{number % 9_000}",
        "input": f"How heavy is item {number}?",
        "response": f"It weighs {number % 7} kg.",
        "references": [f"{number % 5} kg", "a few kg"],
        "tags": ["scales"] if number % 3 else [],
        "note": {"shelf": number % 4, "seen": [1.5, None]},
    }


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sets")
    rows = [row(number) for number in range(ROWS)]
    table = pa.Table.from_pylist(rows)
    pq.write_table(table, folder / "one.parquet", row_group_size=1_700)
    (folder / "several").mkdir()
    pq.write_table(table.slice(0, 3_333), folder / "several" / "a.parquet")
    pq.write_table(table.slice(3_333), folder / "several" / "b.parquet", row_group_size=999)
    (folder / "several" / "_SUCCESS").write_bytes(b"")
    (folder / "several" / "_part.parquet").write_bytes(b"PAR1")
    with (folder / "lines.jsonl").open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(one) + "\n" for one in rows)
    return folder


def write(path, columns):
    pq.write_table(pa.table(columns), path)
    return path


def test_the_cases_are_those_of_the_same_rows_as_json_lines(files):
    lines, one, several = (
        open_dataset(files / name) for name in ("lines.jsonl", "one.parquet", "several")
    )
    wanted = lines.scan()
    for found in (one, several):
        scan = found.scan()
        assert (scan.digest, scan.rows, scan.cases) == (wanted.digest, ROWS, ROWS)
        assert found.format == "parquet"
        assert [case.metadata for case in found] == [case.metadata for case in lines]
    assert next(iter(one)).place == "one.parquet[0]"
    assert list(several)[3_333].place == "b.parquet[0]"
    assert "2 Parquet files in the order of their names" in several.reading


@pytest.mark.parametrize("name", ["one.parquet", "several", "lines.jsonl"])
def test_a_range_has_the_cases_and_ids_of_a_whole_pass(files, name):
    data = open_dataset(files / name)
    data.scan()
    whole = list(data)
    assert whole[9_500].id == "case-500#2"
    data._kept = None  # a small file's cases would not be read again
    draw = random.Random(7)
    ranges = [(0, ROWS), (0, 1), (ROWS - 1, ROWS), (4_096, 4_097), (3_332, 3_334), (8_999, 9_002)]
    ranges += [(first, first + draw.randint(0, 40)) for first in draw.sample(range(ROWS), 8)]
    for first, stop in ranges:
        assert list(data.between(first, stop)) == whole[first:stop]
    elsewhere = pickle.loads(pickle.dumps(data))  # noqa: S301 - as another process of ours does
    assert list(elsewhere.between(9_499, 9_502)) == whole[9_499:9_502]


def test_a_range_after_bad_rows_counts_the_good_ones(tmp_path):
    texts = pa.array([f"answer {number}" for number in range(9_000)])
    weights = pa.array([float("inf") if number % 10 == 3 else 1.0 for number in range(9_000)])
    path = write(tmp_path / "a.parquet", {"response": texts, "weight": weights})
    data = open_dataset(path, on_bad_row="skip")
    scan = data.scan()
    assert (scan.cases, scan.bad_rows) == (8_100, 900)
    assert scan.problems[0].place == "a.parquet[3]"
    assert scan.problems[0].field == "weight"
    whole = list(data)
    data._kept = None
    for first in (0, 3_685, 3_687, 7_000, 8_099):
        assert list(data.between(first, first + 2)) == whole[first : first + 2]


def test_values_come_as_json_has_them(tmp_path):
    moment = dt.datetime(2024, 3, 1, 12, 30, tzinfo=dt.UTC)
    path = write(
        tmp_path / "a.parquet",
        {
            "response": pa.array(["yes", "no"]).dictionary_encode(),
            "reference": pa.array(["yes", "yes"]),
            "when": pa.array([moment, None], pa.timestamp("ns", "UTC")),
            "price": pa.array([decimal.Decimal("1.50"), None]),
            "gap": pa.array([float("nan"), 2.5]),
            "map": pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int64())),
            "picture": pa.array([b"\x89PNG", None]),
            "nested": pa.array([{"a": [{"b": "c"}]}, None]),
        },
    )
    data = open_dataset(path)
    first, second = data
    assert (first.response, second.response) == ("yes", "no")
    assert first.metadata == {
        "when": "2024-03-01 12:30:00.000000000Z",
        "price": "1.50",
        "gap": None,
        "map": {"a": 1},
        "nested": {"a": [{"b": "c"}]},
    }
    assert second.metadata["gap"] == 2.5
    assert any("`picture`" in line for line in data.reading)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"response": pa.array([b"x"])}, "the column `response` holds binary"),
        ({"response": pa.array([dt.timedelta(1)])}, "`response` holds duration"),
        ({"response": pa.array(["x"])}, None),
    ],
)
def test_a_column_that_is_needed_and_is_no_text_is_refused(tmp_path, columns, said):
    path = write(tmp_path / "a.parquet", columns)
    if said is None:
        assert open_dataset(path).scan().cases == 1
    else:
        with pytest.raises(DatasetError, match=said):
            open_dataset(path)


def test_a_mapped_column_of_bytes_is_refused_too(tmp_path):
    path = write(tmp_path / "a.parquet", {"said": pa.array([b"x"]), "response": pa.array(["y"])})
    with pytest.raises(DatasetError, match="`said` holds binary"):
        open_dataset(path, mapping={"response": "said"})


def test_a_text_that_is_not_utf8_is_a_problem_of_its_row(tmp_path):
    texts = pa.Array.from_buffers(
        pa.string(),
        3,
        [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0"), pa.py_buffer(b"a\xffb")],
    )
    path = write(tmp_path / "a.parquet", {"response": texts})
    scan = open_dataset(path, on_bad_row="skip").scan()
    assert (scan.cases, scan.bad_rows) == (2, 1)
    assert str(scan.problems[0]) == "a.parquet[1]: response: holds a text that is not UTF-8"


def test_files_of_one_folder_have_the_same_columns(tmp_path):
    write(tmp_path / "a.parquet", {"response": pa.array(["x"])})
    write(tmp_path / "b.parquet", {"response": pa.array([1])})
    with pytest.raises(DatasetError, match=r"b\.parquet: the column `response` is int64 here"):
        open_dataset(tmp_path)


def test_a_column_that_stands_twice_is_refused(tmp_path):
    table = pa.Table.from_arrays([pa.array(["x"]), pa.array(["y"])], ["response", "response"])
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(DatasetError, match="twice"):
        open_dataset(tmp_path / "a.parquet")


def test_damage_is_a_data_error_and_never_anything_else(files, tmp_path):
    data = (files / "several" / "a.parquet").read_bytes()[:40_000]
    whole = (files / "one.parquet").read_bytes()
    draw = random.Random(3)
    damaged = [b"PAR1", whole[:-1], whole[:-8] + b"\xff\xff\xff\x7fPAR1", data]
    for _ in range(60):
        changed = bytearray(whole)
        for _ in range(draw.randint(1, 30)):
            where = draw.choice([draw.randrange(len(whole)), len(whole) - draw.randint(1, 3_000)])
            changed[where] = draw.randrange(256)
        damaged.append(bytes(changed))
    refused = 0
    for number, content in enumerate(damaged):
        path = tmp_path / f"{number}.parquet"
        path.write_bytes(content)
        try:
            open_dataset(path, on_bad_row="skip").scan()
        except ClosecallError:
            refused += 1
    assert refused >= 10


def test_no_parquet_under_its_suffix(tmp_path):
    (tmp_path / "a.parquet").write_text('{"response": "x"}')
    with pytest.raises(DatasetError, match="is no Parquet file"):
        open_dataset(tmp_path / "a.parquet")


def test_without_pyarrow_it_says_what_to_install(files, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'closecall\[parquet\]'"):
        open_dataset(files / "one.parquet")


def test_a_file_that_changes_is_noticed(files, tmp_path):
    path = write(tmp_path / "a.parquet", {"response": pa.array(["x"] * 3)})
    data = open_dataset(path)
    write(path, {"response": pa.array(["y"] * 4)})
    with pytest.raises(DatasetError, match="changed while"):
        data.scan()

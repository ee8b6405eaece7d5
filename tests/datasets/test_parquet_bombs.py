"""Parquet files that are small and hold much: refused before it is unpacked."""

import contextlib
import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from closecall.datasets import _parquet, _parquet_batches, _parquet_pages, open_dataset
from closecall.datasets._parquet_footer import BYTE_ARRAY, Chunk, Group, footer
from closecall.datasets._parquet_pages import weigh
from closecall.errors import DatasetError
from closecall.importing import open_import


@pytest.fixture
def limits(monkeypatch):
    """Limits a thousandth of those there are, so that a test takes no memory either."""
    monkeypatch.setattr(_parquet_pages, "MAX_UNPACKED", 1 << 20)
    monkeypatch.setattr(_parquet_pages, "MAX_VALUES", 100_000)
    monkeypatch.setattr(_parquet_batches, "MAX_TEXTS", 1 << 18)
    monkeypatch.setattr(_parquet, "MAX_TEXTS", 1 << 18)
    monkeypatch.setattr("closecall.importing.arrow.MAX_TEXTS", 1 << 18)


def put(path, columns, **options):
    pq.write_table(pa.table(columns), path, compression="zstd", store_schema=False, **options)
    return path


def coded(text, count):
    return pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), pa.array([text]))


def refusal(read, path):
    with pytest.raises(DatasetError) as caught:
        read(path)
    assert path.name in str(caught.value)
    return str(caught.value)


def scanned(path):
    return open_dataset(path).scan()


def imported(path):
    return list(open_import(path, "huggingface"))


BOTH = pytest.mark.parametrize("read", [scanned, imported])


@BOTH
def test_a_page_that_unpacks_to_more_than_may_be_is_refused(limits, tmp_path, read):
    path = put(tmp_path / "a.parquet", {"input": ["a" * (1 << 21)]}, use_dictionary=False)
    assert path.stat().st_size < 10_000
    assert "unpacks to" in refusal(read, path)


@BOTH
def test_a_list_of_more_values_than_may_be_is_refused(limits, tmp_path, read):
    nulls = pa.ListArray.from_arrays(
        pa.array([0, 200_000], pa.int32()), pa.nulls(200_000, pa.int8())
    )
    path = put(tmp_path / "a.parquet", {"input": ["q"], "references": nulls})
    assert path.stat().st_size < 10_000
    assert "200,000 values" in refusal(read, path)


@BOTH
def test_a_row_that_repeats_one_text_beyond_all_measure_is_a_bad_row(limits, tmp_path, read):
    texts = pa.ListArray.from_arrays(
        pa.array([0, 1, 9_000], pa.int32()), coded("a" * 1_000, 9_000)
    )
    path = put(tmp_path / "a.parquet", {"input": ["q", "r"], "references": texts})
    assert path.stat().st_size < 10_000
    said = refusal(read, path)
    assert "a.parquet[1]" in said
    assert "bytes of text in one row" in said
    assert "a.parquet[0]" not in said


def test_one_long_text_in_every_row_is_read_a_few_rows_at_a_time(limits, tmp_path, monkeypatch):
    path = put(tmp_path / "a.parquet", {"input": coded("a" * 100_000, 50), "response": ["x"] * 50})
    sizes = []
    seen = _parquet_batches.text_bytes
    monkeypatch.setattr(_parquet, "text_bytes", lambda batch: sizes.append(seen(batch)) or 0)
    assert [case.input for case in open_dataset(path)] == ["a" * 100_000] * 50
    assert sizes
    assert max(sizes) <= 1 << 18


def test_cases_of_a_small_file_that_unpacks_to_much_are_not_kept(limits, tmp_path, monkeypatch):
    monkeypatch.setattr("closecall.datasets._dataset._KEPT_BYTES", 1 << 20)
    data = open_dataset(
        put(tmp_path / "a.parquet", {"input": coded("a" * 100_000, 50), "note": ["x"] * 50})
    )
    assert data.scan().cases == 50
    assert data._kept is None


def test_pages_weigh_what_they_are(tmp_path):
    words = [f"word {at}" for at in range(5_000)]
    path = put(
        tmp_path / "a.parquet",
        {"input": words, "same": coded("x" * 1_000, 5_000), "many": [[at, at] for at in range(5_000)]},
        data_page_size=4_096,
    )  # fmt: skip
    with path.open("rb") as file:
        facts = pq.ParquetFile(file).metadata
        (group,) = footer(file, facts.num_columns)
        found = weigh(file, group, range(facts.num_columns))
    assert [one.values for one in found] == [5_000, 5_000, 10_000]
    plain = sum(4 + len(word) for word in words)
    assert found[0].page + found[0].dictionary >= plain / 20
    assert found[1].dictionary == 1_004
    assert found[2].page < 30_000


def test_zero_bytes_are_no_pages(tmp_path):
    """A head without anything, of one byte: as many as there are bytes would be read."""
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1" + bytes(10_000))
    column = Chunk(BYTE_ARRAY, 100, 10_000, 4, 0)
    with path.open("rb") as file, pytest.raises(ValueError, match="lacks its kind or its size"):
        weigh(file, Group((column,), 100), [0])


def test_a_head_ends_where_its_column_does(tmp_path):
    """However long it says that it is, no more is read of it for each column."""
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1" + b"\x18\xff\xff\xff\x01" + bytes(100_000))
    group = Group((Chunk(BYTE_ARRAY, 100, 50, 4, 0),), 100)
    with path.open("rb") as file:
        with pytest.raises(ValueError, match="page is damaged"):
            weigh(file, group, [0])
        assert file.tell() < 1_000


def test_columns_that_overlap_are_refused(tmp_path):
    path = put(tmp_path / "a.parquet", {"input": ["a" * 64], "response": ["b" * 64]})
    data = path.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    facts = pq.ParquetFile(path).metadata.row_group(0)
    packed = facts.column(0).total_compressed_size
    zigzag = bytes([2 * packed & 127 | 128, 2 * packed >> 7])
    footer_at = len(data) - 8 - length
    assert data.count(zigzag, footer_at) >= 2
    larger = data[:footer_at] + data[footer_at:].replace(zigzag, b"\xfe\x7f")
    path.write_bytes(larger)
    assert "its columns take" in refusal(scanned, path)


@pytest.mark.parametrize("seed", range(300))
def test_heads_of_pages_that_are_damaged_end_in_a_refusal(seed):
    import random

    out = io.BytesIO()
    pq.write_table(pa.table({"input": ["a", "b"] * 50, "response": ["c"] * 100}), out)
    facts = pq.ParquetFile(out).metadata
    data = bytearray(out.getvalue())
    draw = random.Random(seed)
    for _ in range(draw.choice((1, 3, 20))):
        data[draw.randrange(4, len(data) // 2)] = draw.randrange(256)
    with _file(bytes(data)) as file, contextlib.suppress(ValueError):
        (group,) = footer(file, facts.num_columns)
        assert weigh(file, group, range(facts.num_columns))


def _file(data):
    import tempfile

    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by who asked
    file.write(data)
    file.flush()
    return file

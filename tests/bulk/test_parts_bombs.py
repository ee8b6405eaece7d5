"""A part that is small and holds much: refused by name before it is unpacked."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bulk_cases import parts, run, write

from closecall import load_run
from closecall.datasets import _parquet_batches, _parquet_pages
from closecall.errors import RunFolderError
from closecall.runs.parts import parquet
from closecall.runs.parts.ranges import Part
from closecall.runs.parts.rows import RECORD

ROWS = 64


@pytest.fixture(scope="module")
def header(tmp_path_factory):
    place = tmp_path_factory.mktemp("runs")
    return load_run(run(write(place / "cases.jsonl", 4), parts(place / "run")).folder).header


@pytest.fixture
def limits(monkeypatch):
    """Limits a thousandth of those there are, so that a test takes no memory either."""
    monkeypatch.setattr(_parquet_pages, "MAX_UNPACKED", 1 << 20)
    monkeypatch.setattr(_parquet_batches, "MAX_TEXTS", 1 << 18)
    monkeypatch.setattr(parquet, "MAX_TEXTS", 1 << 18)


def part(header, record, *, coded):
    """Return the bytes of a part in each row of which the same record stands."""
    columns = []
    for field in parquet.schema_of(header):
        value = {"position": 0, RECORD: record}.get(field.name, None if field.nullable else "x")
        made = list(range(ROWS)) if field.name == "position" else [value] * ROWS
        columns.append(pa.array(made, type=field.type))
    out = io.BytesIO()
    pq.write_table(
        pa.table(columns, schema=parquet.schema_of(header)), out, compression="zstd",
        use_dictionary=[RECORD] if coded else False, store_schema=False,
        dictionary_pagesize_limit=1 << 30, write_statistics=False,
    )  # fmt: skip
    return out


def read(file, header):
    return parquet.read_part(file, header, Part(0, ROWS), "part-0.parquet")


def test_a_record_that_stands_in_every_row_is_read_a_few_rows_at_a_time(
    header, limits, monkeypatch
):
    file = part(header, b"{" * 100_000, coded=True)
    assert len(file.getvalue()) < 10_000
    sizes = []
    seen = _parquet_batches.text_bytes
    monkeypatch.setattr(parquet, "text_bytes", lambda batch: sizes.append(seen(batch)) or 0)
    assert sum(len(row[RECORD]) for row in read(file, header)) == 100_000 * ROWS
    assert max(sizes) <= 1 << 18


def test_records_that_are_not_coded_are_read_a_few_rows_at_a_time(header, limits, monkeypatch):
    file = part(header, b"{" * 10_000, coded=False)
    sizes = []
    seen = parquet.text_bytes
    monkeypatch.setattr(
        parquet, "text_bytes", lambda batch: sizes.append(batch.num_rows) or seen(batch)
    )
    assert sum(len(row[RECORD]) for row in read(file, header)) == 10_000 * ROWS
    assert sizes == [ROWS, *[1] * ROWS]


@pytest.mark.parametrize(
    ("size", "said"), [(1 << 19, "bytes of text in one row"), (1 << 21, "unpacks to")]
)
def test_a_record_beyond_all_measure_is_refused_with_its_part(header, limits, size, said):
    file = part(header, b"{" * size, coded=True)
    assert len(file.getvalue()) < 10_000
    with pytest.raises(RunFolderError, match=f"part-0.parquet: .*{said}"):
        list(read(file, header))

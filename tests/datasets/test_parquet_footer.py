"""The footer of a Parquet file, read by ourselves: as pyarrow reads it, and damaged ones refused."""

import base64
import io
import subprocess
import sys

import pytest

pa = pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # noqa: E402

from closecall.datasets import open_dataset  # noqa: E402
from closecall.datasets._parquet_footer import footer  # noqa: E402
from closecall.errors import DatasetError  # noqa: E402

TABLE = {
    "input": ["one", "two", None] * 40,
    "many": [[1, 2], [], None] * 40,
    "inner": [{"a": 1, "b": "x"}] * 120,
    "score": [0.5] * 120,
}
OPEN = """
import random, sys
from pathlib import Path
from closecall.datasets import open_dataset
from closecall.errors import DatasetError
path = Path(sys.argv[1])
base = path.read_bytes()
start = len(base) - 8 - int.from_bytes(base[-8:-4], "little")
refused = 0
for seed in range(600):
    draw, data = random.Random(seed), bytearray(base)
    for _ in range(draw.choice((1, 2, 4))):
        data[draw.randrange(start, len(data) - 8)] = draw.randrange(256)
    path.write_bytes(data)
    try:
        list(open_dataset(path))
    except DatasetError as error:
        assert path.name in str(error)
        refused += 1
print(refused)
"""


@pytest.mark.parametrize("options", [{}, {"row_group_size": 50}, {"use_dictionary": False}])
def test_it_is_what_pyarrow_says(tmp_path, options):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table(TABLE), path, **options)
    facts = pq.ParquetFile(path).metadata
    with path.open("rb") as file:
        groups = footer(file, facts.num_columns)
    assert len(groups) == facts.num_row_groups
    for at, group in enumerate(groups):
        theirs = facts.row_group(at)
        assert group.rows == theirs.num_rows
        for place, chunk in enumerate(group.columns):
            column = theirs.column(place)
            assert (chunk.kind == 6) == (column.physical_type == "BYTE_ARRAY")
            assert chunk[1:] == (
                column.num_values, column.total_compressed_size, column.data_page_offset,
                column.dictionary_page_offset or 0,
            )  # fmt: skip


def test_another_number_of_columns_is_refused(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table(TABLE), path)
    with path.open("rb") as file, pytest.raises(ValueError, match="row group 0 has 5 columns"):
        footer(file, 4)


@pytest.mark.parametrize(
    ("end", "said"),
    [
        (b"", "does not end in a footer"),
        (b"PAR1" + b"\xff\xff\xff\x7fPAR1", "does not end in a footer"),
        (b"PAR1" + b"\x19" * 40 + b"\x28\0\0\0PAR1", "footer"),
        (b"PAR1" + b"\x00\x00\x00\x00PARE", "does not end in a footer"),
    ],
)
def test_a_footer_that_is_none_is_refused(tmp_path, end, said):
    path = tmp_path / "a.parquet"
    path.write_bytes(end)
    with path.open("rb") as file, pytest.raises(ValueError, match=said):
        footer(file, 1)


def test_damaged_footers_never_end_the_process(tmp_path):
    out = io.BytesIO()
    pq.write_table(pa.table(TABLE | {"response": ["x"] * 120}), out, row_group_size=50)
    path = tmp_path / "damaged.parquet"
    path.write_bytes(out.getvalue())
    done = subprocess.run(
        [sys.executable, "-c", OPEN, str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) > 100


def test_integers_wider_than_any_are_refused_by_name(tmp_path):
    path = tmp_path / "wide.parquet"
    pq.write_table(pa.table({"response": ["x"], "shelf": pa.array([1], pa.int64())}), path)
    kept = pq.ParquetFile(path).metadata.metadata[
        b"ARROW:schema"
    ]  # Arrow's own, within the footer
    wide = base64.b64encode(base64.b64decode(kept).replace(b"\x40\0\0\0", b"\x80\0\0\0"))
    path.write_bytes(path.read_bytes().replace(kept, wide))
    with pytest.raises(DatasetError, match=r"wide\.parquet: cannot be read as Parquet: Integers"):
        open_dataset(path)

"""One part as the bytes of a Parquet file, and back.

A part is made from the run's header and may come from anyone: its columns, positions and size are
checked before anything is believed of it.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from closecall.datasets._parquet_batches import MAX_TEXTS, batches, parquet_file, text_bytes
from closecall.errors import MissingExtraError, RunFolderError
from closecall.runs.header import RunHeader
from closecall.runs.parts.ranges import Part
from closecall.runs.parts.rows import COLUMNS, RECORD, columns_of

MAX_ROWS = 1_000_000
"""Cases of one part."""
MAX_BYTES = 1024 * 1024 * 1024
"""Bytes of one part, packed and unpacked."""

_READ_ROWS = 256
_CODES = ("label", "state")


def arrow() -> Any:
    """Return pyarrow, with its reader and writer of Parquet.

    Raises
    ------
    MissingExtraError
        It is not installed.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError("reading and writing Parquet", "parquet", ["pyarrow"]) from error
    return pa


def schema_of(header: RunHeader) -> Any:
    """Return the columns of a part with their types."""
    pa = arrow()
    kinds = {
        "position": pa.int64(),
        "tags": pa.list_(pa.string()),
        "references": pa.list_(pa.string()),
        "context": pa.list_(pa.string()),
        "score": pa.float64(),
        RECORD: pa.binary(),
    }
    ends = {".value": pa.float64(), ".score": pa.float64(), ".borderline": pa.bool_()}
    own = frozenset(name for name in columns_of(header) if name not in kinds)
    return pa.schema(
        [
            pa.field(
                name,
                next((kind for end, kind in ends.items() if name.endswith(end)), pa.string())
                if name in own and name not in COLUMNS
                else kinds.get(name, pa.string()),
                nullable=name not in {"position", "case_id", "state", RECORD},
            )
            for name in columns_of(header)
        ]
    )


def dump_part(header: RunHeader, rows: Sequence[Sequence[Any]]) -> bytes:
    """Return the file of these rows (``rows.values_of``), packed with zstd."""
    pa = arrow()
    schema = schema_of(header)
    columns = list(zip(*rows, strict=True))
    table = pa.table(
        [pa.array(values, type=field.type) for field, values in zip(schema, columns, strict=True)],
        schema=schema,
    )
    coded = [name for name in schema.names if name.rpartition(".")[2] in _CODES]
    out = io.BytesIO()
    pa.parquet.write_table(
        table,
        out,
        compression="zstd",
        use_dictionary=coded,
        write_statistics=["position"],
        store_schema=False,
        row_group_size=max(len(rows), 1),
    )
    return out.getvalue()


def read_part(
    file: BinaryIO, header: RunHeader, part: Part, place: str, columns: Sequence[str] = ()
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a part, in order, a few in memory at a time.

    Parameters
    ----------
    columns
        Those wanted; none: position and record.

    Raises
    ------
    RunFolderError
        It is not the part of this run that its name tells; the message names it.
    """
    pa = arrow()
    wanted = list(columns) or ["position", RECORD]
    at = part.first
    try:
        # Raised here and not from pyarrow's own types: a damaged file may raise almost anything.
        opened = parquet_file(file)
        _check(opened, header, part, place)
        groups = range(opened.num_row_groups)
        for batch in batches(file, opened, groups, wanted, _READ_ROWS):
            for row in _rows_of(batch):
                if row["position"] != at:
                    raise RunFolderError(
                        f"{place}: holds case {row['position']!r} where case {at} belongs"
                    )
                at += 1
                yield row
    except (pa.ArrowException, OSError, ValueError, KeyError, OverflowError) as error:
        if isinstance(error, RunFolderError):
            raise
        raise RunFolderError(f"{place}: cannot be read as Parquet: {_reason(error)}") from error
    if at != part.stop:
        raise RunFolderError(f"{place}: holds {at - part.first} cases, its name says otherwise")


def _rows_of(batch: Any) -> Iterator[dict[str, Any]]:
    """Yield the rows of a batch, as many in memory at a time as their texts allow."""
    if text_bytes(batch) <= MAX_TEXTS:
        yield from batch.to_pylist()
        return
    for at in range(batch.num_rows):
        one = batch.slice(at, 1)
        if text_bytes(one) > MAX_TEXTS:
            raise ValueError(f"holds more than {MAX_TEXTS:,} bytes of text in one row")
        yield from one.to_pylist()


def _check(opened: Any, header: RunHeader, part: Part, place: str) -> None:
    facts = opened.metadata
    expected = schema_of(header)
    if opened.schema_arrow.remove_metadata() != expected.remove_metadata():
        found = opened.schema_arrow
        differing = [name for name in expected.names if name not in found.names]
        differing += [name for name in found.names if name not in expected.names]
        differing += [
            name
            for name in expected.names
            if name in found.names and found.field(name) != expected.field(name)
        ]
        listed = ", ".join(map(repr, differing[:3])) or "their order"
        raise RunFolderError(f"{place}: its columns are not those of this run: {listed}")
    if facts.num_rows != part.stop - part.first or facts.num_rows > MAX_ROWS:
        raise RunFolderError(f"{place}: holds {facts.num_rows} cases, its name says otherwise")
    size = sum(facts.row_group(at).total_byte_size for at in range(facts.num_row_groups))
    if not 0 <= size <= MAX_BYTES:
        raise RunFolderError(f"{place}: is larger than {MAX_BYTES:,} bytes unpacked")


def _reason(error: Exception) -> str:
    return str(error).partition("\n")[0][:200].rstrip(".") or type(error).__name__

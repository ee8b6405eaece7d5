"""Batches of a Parquet file's rows, none of which takes more memory than it may.

How many rows are read at a time follows from what they can come to: a text of a dictionary may
stand in every row. In a list, of which a row may have any length, such texts stay in their
dictionary until their sum is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from closecall.datasets._parquet_footer import BYTE_ARRAY, Chunk, footer
from closecall.datasets._parquet_pages import Column, weigh

ROWS = 1024
"""Rows of a batch, where nothing speaks against it."""

MAX_TEXTS = 1 << 28
"""Bytes of text of the rows that are in memory at a time, and of one row."""

_BUFFER = 1024 * 1024
_THRIFT_BYTES = 100_000_000
_THRIFT_ITEMS = 1_000_000


def parquet_file(file: BinaryIO, **options: Any) -> Any:
    """Return pyarrow's reader of a file, with limits on what its footer may hold."""
    import pyarrow.parquet

    return pyarrow.parquet.ParquetFile(
        file,
        buffer_size=_BUFFER,
        thrift_string_size_limit=_THRIFT_BYTES,
        thrift_container_size_limit=_THRIFT_ITEMS,
        **options,
    )


def batches(
    file: BinaryIO,
    opened: Any,
    groups: Sequence[int],
    columns: Sequence[str] | None = None,
    most: int = ROWS,
) -> Iterator[Any]:
    """Yield the record batches of row groups.

    Parameters
    ----------
    file, opened
        The file, and the reader of it that ``parquet_file`` returned.
    groups
        Positions of the row groups.
    columns
        Those wanted; None: all.
    most
        Rows of a batch, 1 or more.

    Raises
    ------
    ValueError, OSError
        A row group is damaged, or takes more than it may (``_parquet_pages``).
    """
    facts = opened.metadata
    paths = [facts.schema.column(at).path for at in range(facts.num_columns)]
    leaves = [at for at, path in enumerate(paths) if columns is None or _of(path, columns)]
    flat = {name for name in opened.schema_arrow.names if name in paths}
    found = footer(file, facts.num_columns)
    if len(found) != facts.num_row_groups:
        raise ValueError("the footer can be read in two ways")
    for group in groups:
        rows, kept = most, []
        at_once = 0
        weighed = weigh(file, found[group], leaves)
        for at, one in zip(leaves, weighed, strict=True):
            if paths[at] in flat:
                at_once += one.dictionary
            elif _in_dictionary(found[group].columns[at], one):
                kept.append(paths[at])
        if at_once:
            rows = max(1, min(rows, MAX_TEXTS // at_once))
        reader = opened
        if kept:
            reader = parquet_file(file, metadata=facts, read_dictionary=kept)
        yield from reader.iter_batches(batch_size=rows, row_groups=[group], columns=columns)


def _of(path: str, columns: Sequence[str]) -> bool:
    return any(path == name or path.startswith(f"{name}.") for name in columns)


def _in_dictionary(chunk: Chunk, weighed: Column) -> bool:
    most = weighed.dictionary * weighed.values
    return chunk.kind == BYTE_ARRAY and most > MAX_TEXTS


def text_bytes(array: Any) -> int:
    """Return the bytes of an array's or a batch's texts when each stands for itself.

    Types that are no Parquet file's are 0 but for views of texts: run-end encoded columns, unions,
    views of lists, dictionaries of lists and objects.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(array, pa.RecordBatch):
        return sum(text_bytes(column) for column in array.columns)
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return text_bytes(array.storage)
    if pa.types.is_dictionary(kind):
        return _coded_bytes(array)
    inner: list[Any] = []
    if pa.types.is_struct(kind):
        inner = [array.field(at) for at in range(kind.num_fields)]
    elif pa.types.is_map(kind):
        inner = [array.keys, array.items]
    elif hasattr(array, "flatten") and hasattr(kind, "value_type"):
        inner = [array.flatten()]
    own = pc.sum(_lengths(array)).as_py() if _is_text(kind) else 0
    return int(own or 0) + sum(map(text_bytes, inner))


def _coded_bytes(array: Any) -> int:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not _is_text(array.dictionary.type):
        return 0
    lengths = pc.cast(_lengths(array.dictionary), pa.int64())
    return int(pc.sum(lengths.take(array.indices)).as_py() or 0)


def _lengths(array: Any) -> Any:
    """Return the bytes of each text of an array, null for null."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if not _is_view(array.type):
        return pc.binary_length(array)
    views = np.frombuffer(array.buffers()[1] or b"", np.int32)  # four numbers each, length first
    first = 4 * array.offset
    lengths = views[first : first + 4 * len(array) : 4]
    return pa.array(lengths, mask=array.is_null().to_numpy(zero_copy_only=False))


def _is_view(kind: Any) -> bool:
    return str(kind) in {"string_view", "binary_view"}


def _is_text(kind: Any) -> bool:
    import pyarrow.types as known

    tests = (
        known.is_string, known.is_large_string, known.is_binary, known.is_large_binary,
        known.is_fixed_size_binary, _is_view,
    )  # fmt: skip
    return any(test(kind) for test in tests)

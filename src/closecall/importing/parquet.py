"""Cases as a Parquet file, which reads back as the same cases.

Texts, lists of texts and ids have columns of their own; other metadata is one object,
``metadata``, whose types are those of all its values, or JSON text where these do not go together.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from closecall.atomic import whole_bytes
from closecall.errors import MissingExtraError
from closecall.importing.writing import FIELDS, values_of
from closecall.records import Case

_ROWS = 4096
_LISTS = frozenset({"references", "context", "tags"})


def write_parquet(cases: Iterable[Case], path: str | os.PathLike[str]) -> list[str]:
    """Write cases, and return what is worth telling of it. They are gone through twice.

    Memory holds some thousand cases.

    Raises
    ------
    MissingExtraError
        pyarrow is not installed.
    UsageError
        The file cannot be written.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtraError("writing Parquet files", "parquet", ["pyarrow"]) from error
    schema, as_json = _schema(pa, cases)
    with (
        whole_bytes(path) as out,
        pq.ParquetWriter(out, schema, compression="zstd", store_schema=False) as writer,
    ):
        for rows in _rows(cases):
            for row in rows:
                for name in as_json & row.keys():
                    row[name] = json.dumps(row[name], ensure_ascii=False)
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))
    return [
        f"`{name}` is JSON text in the file: its values have types that go into no one column"
        for name in sorted(as_json)
    ]


def _rows(cases: Iterable[Case]) -> Iterator[list[dict[str, Any]]]:
    for some in _batched(cases):
        yield [values_of(case) for case in some]


def _batched(cases: Iterable[Case]) -> Iterator[Sequence[Case]]:
    batch: list[Case] = []
    for case in cases:
        batch.append(case)
        if len(batch) >= _ROWS:
            yield batch
            batch = []
    if batch:
        yield batch


def _schema(pa: Any, cases: Iterable[Case]) -> tuple[Any, frozenset[str]]:
    """Return the columns, and which of them are written as JSON text."""
    texts = pa.list_(pa.string())
    types: dict[str, Any] = {name: texts if name in _LISTS else pa.string() for name in FIELDS}
    others: dict[str, Any] = {}
    as_json: set[str] = set()
    for rows in _rows(cases):
        names = dict.fromkeys(name for row in rows for name in row if name not in types)
        for name in names:
            if name in as_json:
                continue
            try:
                found = pa.array([row.get(name) for row in rows]).type
                others[name] = _unified(pa, others.get(name), found)
            except (pa.ArrowException, OverflowError, ValueError, TypeError):
                as_json.add(name)
    as_json |= {name for name, kind in others.items() if not _writable(pa, kind)}
    columns = [*types.items(), *((name, others.get(name)) for name in [*others, *as_json])]
    fields = {name: pa.string() if name in as_json else kind for name, kind in columns}
    return pa.schema(list(fields.items())), frozenset(as_json)


def _unified(pa: Any, before: Any, now: Any) -> Any:
    if before is None or before == now:
        return now
    schemas = [pa.schema([("x", kind)]) for kind in (before, now)]
    return pa.unify_schemas(schemas, promote_options="permissive").field("x").type


def _writable(pa: Any, kind: Any) -> bool:
    """Whether Parquet has the type: it knows no object without members, and no column of nulls."""
    if pa.types.is_struct(kind):
        inner = [kind.field(at).type for at in range(kind.num_fields)]
        return bool(inner) and all(_writable(pa, one) for one in inner)
    if pa.types.is_list(kind):
        return _writable(pa, kind.value_type)
    return True

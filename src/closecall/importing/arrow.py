"""Parquet and Arrow files, and folders that ``Dataset.save_to_disk`` of Hugging Face made.

Read batch by batch. A number that stands for a name (``ClassLabel``) comes as that name; times
come as ISO texts, decimals as texts. Bytes, of pictures and sounds, are no texts and left out.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from closecall.datasets._parquet_batches import MAX_TEXTS, batches, parquet_file, text_bytes
from closecall.datasets._parquet_pages import MAX_VALUES
from closecall.datasets._sniff import is_regular
from closecall.datasets._strict import MAX_DEPTH, Flaws
from closecall.errors import DatasetError, MissingExtraError
from closecall.importing.arrow_messages import batches_of_file, batches_of_stream
from closecall.importing.opened import Row
from closecall.plain import open_plain, read_plain
from closecall.there import is_dir, is_file

PARQUET, FILE = b"PAR1", b"ARROW1"
STREAM = b"\xff\xff\xff\xff"
"""How an Arrow stream begins: a continuation marker before the length of its schema."""

_UNWEIGHED = ("is_run_end_encoded", "is_union", "is_list_view", "is_large_list_view")
_ROWS = 1024
_MOST_JSON = 1 << 20
"""Bytes of a JSON file that names the files of a folder."""


def is_arrow(path: Path) -> bool:
    """Whether this is such a file or folder, by its first bytes or by what lies in it."""
    if os.path.isdir(path):  # noqa: PTH112 - False for any name, however long
        return any(is_file(path / name) for name in ("state.json", "dataset_dict.json"))
    if not is_regular(path):
        return False  # as below; to open a pipe would wait for who writes into it
    try:
        with path.open("rb") as file:
            head = file.read(6)
    except (OSError, ValueError):
        return False  # the reader of other files says why
    named = path.suffix.lower() in {".arrow", ".parquet"}
    return head.startswith((PARQUET, FILE)) or (named and head.startswith(STREAM))


class Arrow:
    """The rows of Parquet or Arrow files, in order.

    ``bytes_left_out`` counts the values that held bytes, of the pass over the rows that was last.
    """

    cells = False
    document = None

    def __init__(self, path: Path, files: list[Path]) -> None:
        self.path = path
        self._files = files
        self.bytes_left_out = 0

    def rows(self) -> Iterator[Row]:
        """Yield the rows in file order."""
        self.bytes_left_out = 0
        for file in self._files:
            names = None
            number = 0
            for batch in _batches(file):
                names = _class_names(batch.schema) if names is None else names
                for row, flaws in _rows_of(batch):
                    place = f"{file.name}[{number}]"
                    number += 1
                    if row is None:
                        yield Row(place, None, flaws)
                    else:
                        yield Row(place, self._plain(_named(row, names)))

    def columns(self) -> list[str]:
        """Return the columns of the first file."""
        batch = next(_batches(self._files[0]), None)
        return [] if batch is None else list(batch.schema.names)

    def _plain(self, value: Any) -> Any:
        """Return a value as JSON has it; what is none in JSON becomes a text, or is left out."""
        if isinstance(value, Mapping):
            return {str(key): self._plain(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self._plain(inner) for inner in value]
        if isinstance(value, bytes):
            self.bytes_left_out += 1
            return None
        if isinstance(value, float):
            return value if math.isfinite(value) else None
        if value is None or isinstance(value, str | int | bool):
            return value
        return value.isoformat() if hasattr(value, "isoformat") else str(value)


def open_arrow(path: Path) -> Arrow:
    """Return the rows of a Parquet or Arrow file, or of a folder of them.

    Raises
    ------
    MissingExtraError
        pyarrow is not installed.
    DatasetError
        The folder holds several splits, or says of files what is not so.
    """
    try:
        import pyarrow as pa
    except ImportError as error:
        raise MissingExtraError(
            "reading Parquet and Arrow files", "parquet", ["pyarrow"]
        ) from error
    del pa
    return Arrow(path, _files_of(path) if is_dir(path) else [path])


def _files_of(folder: Path) -> list[Path]:
    splits = folder / "dataset_dict.json"
    if is_file(splits):
        given = _json(splits).get("splits")
        names = [str(name) for name in given] if isinstance(given, list) else []
        listed = ", ".join(str(folder / name) for name in names) or "none"
        raise DatasetError(f"{folder}: holds several splits. Name the folder of one: {listed}")
    listed_files = _json(folder / "state.json").get("_data_files")
    listed_files = listed_files if isinstance(listed_files, list) else []
    found = [one.get("filename") for one in listed_files if isinstance(one, Mapping)]
    files = [folder / name for name in found if isinstance(name, str) and Path(name).name == name]
    if not files or not all(map(is_regular, files)):
        raise DatasetError(f"{folder}: its state.json names no data files that are there")
    return files


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(read_plain(path, _MOST_JSON).decode("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DatasetError(f"{path}: cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise DatasetError(f"{path}: holds no object")
    return found


def _batches(path: Path) -> Iterator[Any]:
    """Yield the record batches of one file.

    Raises
    ------
    DatasetError
        It is damaged, or would take too much memory.
    """
    import pyarrow as pa

    try:
        with open_plain(path) as file:
            head = file.read(6)
            file.seek(0)
            if head.startswith(PARQUET):
                opened = parquet_file(file)
                found = batches(file, opened, range(opened.num_row_groups))
            elif head.startswith(FILE):
                found = batches_of_file(file)
            else:
                found = batches_of_stream(file)
            for batch in found:
                _require_sound(path, batch)
                yield from (batch.slice(at, _ROWS) for at in range(0, batch.num_rows, _ROWS))
    except (pa.ArrowException, OSError, ValueError, LookupError, ArithmeticError) as error:
        if isinstance(error, DatasetError):
            raise
        reason = str(error).partition("\n")[0][:200] or type(error).__name__
        raise DatasetError(f"{path}: cannot be read: {reason}") from error
    except MemoryError as error:
        raise DatasetError(f"{path}: cannot be read: a length in it is too large") from error


def _require_sound(path: Path, batch: Any) -> None:
    """Refuse a batch whose parts do not fit together: to use one could end the process."""
    if batch.num_rows > MAX_VALUES:  # nothing but nulls takes no bytes at all
        raise DatasetError(
            f"{path}: has {batch.num_rows:,} rows in one batch, and at most {MAX_VALUES:,} are "
            "read"
        )
    batch.validate(full=True)
    names = list(batch.schema.names)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DatasetError(f"{path}: has the column `{twice:.60}` twice; rename one")
    if any(_depth(kind) > MAX_DEPTH for kind in batch.schema.types):
        raise DatasetError(f"{path}: a column is nested deeper than {MAX_DEPTH} levels")
    for name, kind in zip(names, batch.schema.types, strict=True):
        if (odd := _unweighed(kind)) is not None:
            raise DatasetError(
                f"{path}: the column `{name:.60}` holds {odd!s:.60}, of which a few bytes may "
                "stand for any number of texts; cast the column to string or list, and write it "
                "again"
            )


def _unweighed(kind: Any) -> Any:
    """Return the type, this or one inside, whose texts ``text_bytes`` cannot count; else None."""
    from pyarrow import types

    level = [kind]
    while level:
        for one in level:
            if any(getattr(types, test)(one) for test in _UNWEIGHED):
                return one
            if types.is_dictionary(one) and _inner(one.value_type):
                return one
        level = [inner for one in level for inner in _inner(one)]
    return None


def _depth(kind: Any) -> int:
    """Return how many levels of lists and objects a type has, ``MAX_DEPTH + 1`` for more."""
    level = [kind]
    for depth in range(MAX_DEPTH + 1):
        level = [inner for one in level for inner in _inner(one)]
        if not level:
            return depth
    return MAX_DEPTH + 1


def _inner(kind: Any) -> list[Any]:
    if hasattr(kind, "storage_type"):  # an extension
        return [kind.storage_type]
    if hasattr(kind, "value_type"):  # a list, or a coded column
        return [kind.value_type]
    if hasattr(kind, "item_type"):  # a map
        return [kind.key_type, kind.item_type]
    return [kind.field(at).type for at in range(kind.num_fields)]


def _rows_of(batch: Any) -> Iterator[tuple[dict[str, Any] | None, Flaws]]:
    """Yield the rows of a batch; one with a value that Python cannot hold has a flaw instead."""
    if text_bytes(batch) <= MAX_TEXTS:
        try:
            yield from ((row, ()) for row in batch.to_pylist())
        except (ArithmeticError, ValueError):  # a date of the year 20,000, or of the year -5
            pass
        else:
            return
    for at in range(batch.num_rows):
        if text_bytes(batch.slice(at, 1)) > MAX_TEXTS:
            yield None, (("", f"holds more than {MAX_TEXTS:,} bytes of text in one row"),)
        else:
            yield _one_row(batch, at)


def _one_row(batch: Any, at: int) -> tuple[dict[str, Any] | None, Flaws]:
    row = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            row[name] = column[at].as_py()
        except (ArithmeticError, ValueError) as error:
            return None, ((name, f"holds a value that cannot be read: {error!s:.100}"),)
    return row, ()


def _class_names(schema: Any) -> dict[str, list[str]]:
    """Return the names that Hugging Face keeps for a column's numbers."""
    raw = (schema.metadata or {}).get(b"huggingface")
    try:
        features = json.loads(raw)["info"]["features"] if raw else {}
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}
    if not isinstance(features, Mapping):
        return {}
    return {
        name: [str(one) for one in feature["names"]]
        for name, feature in features.items()
        if isinstance(feature, Mapping)
        and feature.get("_type") == "ClassLabel"
        and isinstance(feature.get("names"), list)
    }


def _named(row: dict[str, Any], names: Mapping[str, list[str]]) -> dict[str, Any]:
    for column, known in names.items():
        value = row.get(column)
        if isinstance(value, int) and 0 <= value < len(known):
            row[column] = known[value]
    return row

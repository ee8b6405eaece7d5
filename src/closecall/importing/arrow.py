"""Parquet and Arrow files, and folders that ``Dataset.save_to_disk`` of Hugging Face made.

Read batch by batch. A number that stands for a name (``ClassLabel``) comes as that name; times
come as ISO texts, decimals as texts. Bytes, of pictures and sounds, are no texts and left out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from closecall.errors import DatasetError, MissingExtraError
from closecall.importing.opened import Row

PARQUET, FILE = b"PAR1", b"ARROW1"
STREAM = b"\xff\xff\xff\xff"
"""How an Arrow stream begins: a continuation marker before the length of its schema."""

_ROWS = 1024


def is_arrow(path: Path) -> bool:
    """Whether this is such a file or folder, by its first bytes or by what lies in it."""
    if path.is_dir():
        return any((path / name).is_file() for name in ("state.json", "dataset_dict.json"))
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
                for row in batch.to_pylist():
                    yield Row(f"{file.name}[{number}]", self._plain(_named(row, names)))
                    number += 1

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
    return Arrow(path, _files_of(path) if path.is_dir() else [path])


def _files_of(folder: Path) -> list[Path]:
    splits = folder / "dataset_dict.json"
    if splits.is_file():
        names = [str(name) for name in _json(splits).get("splits", ())]
        listed = ", ".join(str(folder / name) for name in names) or "none"
        raise DatasetError(f"{folder}: holds several splits. Name the folder of one: {listed}")
    listed_files = _json(folder / "state.json").get("_data_files", ())
    found = [one.get("filename") for one in listed_files if isinstance(one, Mapping)]
    files = [folder / name for name in found if isinstance(name, str) and Path(name).name == name]
    if not files or not all(file.is_file() for file in files):
        raise DatasetError(f"{folder}: its state.json names no data files that are there")
    return files


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DatasetError(f"{path}: cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise DatasetError(f"{path}: holds no object")
    return found


def _batches(path: Path) -> Iterator[Any]:
    """Yield the record batches of one file.

    Raises
    ------
    DatasetError
        It is damaged.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with path.open("rb") as file:
            head = file.read(6)
            file.seek(0)
            if head.startswith(PARQUET):
                yield from pq.ParquetFile(file).iter_batches(batch_size=_ROWS)
            elif head.startswith(FILE):
                reader = pa.ipc.open_file(file)
                for number in range(reader.num_record_batches):
                    yield reader.get_batch(number)
            else:
                yield from pa.ipc.open_stream(file)
    except (pa.ArrowException, OSError) as error:
        raise DatasetError(f"{path}: cannot be read: {error}") from error


def _class_names(schema: Any) -> dict[str, list[str]]:
    """Return the names that Hugging Face keeps for a column's numbers."""
    raw = (schema.metadata or {}).get(b"huggingface")
    try:
        features = json.loads(raw)["info"]["features"] if raw else {}
    except (ValueError, KeyError, TypeError):
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

"""The rows of an index beside their vectors: id, text and metadata, one JSON line each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from closecall.errors import DataError, IndexFolderError
from closecall.records import is_whole_text

MAX_ID = 1024
"""Characters of an id."""


class Row(NamedTuple):
    """One passage: its id, text, and metadata, a JSON object that filters look at."""

    id: str
    text: str = ""
    metadata: Mapping[str, Any] = {}


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    id: str
    text: str
    metadata: dict[str, Any]


class _Metadata(msgspec.Struct):
    metadata: dict[str, Any]


class _Id(msgspec.Struct):
    id: str


_read_line = msgspec.json.Decoder(_Line).decode
_read_metadata = msgspec.json.Decoder(_Metadata).decode
_read_id = msgspec.json.Decoder(_Id).decode


def checked_row(given: Any, number: int) -> tuple[Row, bytes]:
    """Return a row as given, from (id, text) or (id, text, metadata), with its line.

    Raises
    ------
    DataError
        It is not one; the message gives its number, from 1, and the field.
    """
    place = f"row {number}"
    if not isinstance(given, tuple | list) or not 1 <= len(given) <= 3:  # noqa: PLR2004
        raise DataError(f"{place}: expected (id, text) or (id, text, metadata), got {given!r:.80}")
    row = Row(*given)
    if not isinstance(row.id, str) or not 0 < len(row.id) <= MAX_ID or not is_whole_text(row.id):
        raise DataError(
            f"{place}: id: expected a text of 1 to {MAX_ID} characters, got {row.id!r:.80}"
        )
    if not isinstance(row.text, str) or not is_whole_text(row.text):
        raise DataError(f"{place}: text: expected a text, got {row.text!r:.80}")
    if not isinstance(row.metadata, Mapping):
        raise DataError(f"{place}: metadata: expected an object, got {row.metadata!r:.80}")
    odd = next((name for name in row.metadata if not isinstance(name, str)), None)
    if odd is not None:  # two of which JSON would make one
        raise DataError(f"{place}: metadata: a field's name is a text, got {odd!r:.60}")
    try:
        line = json.dumps(
            {"id": row.id, "text": row.text, "metadata": dict(row.metadata)},
            ensure_ascii=False,
            allow_nan=False,
        ).encode()
        _read_line(line)
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise DataError(f"{place}: metadata: not a JSON object: {error}") from error
    return row, line


class Table:
    """The lines of rows: those of a file, mapped, then those added since.

    Parameters
    ----------
    name
        The file, for messages.
    data
        Its bytes.
    offsets
        (n + 1,) where each line begins, and the end.
    """

    def __init__(self, name: str, data: Any, offsets: Any) -> None:
        self._name, self._data, self._offsets = name, data, offsets
        self._filed = len(offsets) - 1
        self._added: list[bytes] = []

    def __len__(self) -> int:
        return self._filed + len(self._added)

    def append(self, line: bytes) -> None:
        """Add a line after those there are."""
        self._added.append(line)

    def line(self, position: int) -> bytes:
        """Return the bytes of a line, without its end."""
        if position >= self._filed:
            return self._added[position - self._filed]
        start, end = int(self._offsets[position]), int(self._offsets[position + 1])
        return bytes(self._data[start : end - 1])

    def row(self, position: int) -> Row:
        """Return a row, read from its line alone."""
        found = self._decoded(_read_line, position)
        return Row(found.id, found.text, found.metadata)

    def id(self, position: int) -> str:
        """Return a row's id."""
        found: str = self._decoded(_read_id, position).id
        return found

    def ids(self) -> Iterator[str]:
        """Return the ids in order."""
        return (self.id(position) for position in range(len(self)))

    def metadata(self) -> Iterator[Mapping[str, Any]]:
        """Return each row's metadata, in order."""
        return (self._decoded(_read_metadata, position).metadata for position in range(len(self)))

    def _decoded(self, read: Any, position: int) -> Any:
        try:
            return read(self.line(position))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise IndexFolderError(f"{self._name}:{position + 1}: not a row: {error}") from error

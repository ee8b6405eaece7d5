"""JSON files, loaded whole; and the choice between JSON and JSON Lines, whatever the suffix."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from closecall.datasets._jsonl import JsonLines
from closecall.datasets._sniff import TextFile
from closecall.datasets._sources import Source, rows_of
from closecall.datasets._strict import (
    Flaws,
    careful_row,
    flaws_of,
    not_an_object,
    parse,
    syntax,
    too_much,
)
from closecall.errors import DatasetError

_PRETTY = (
    "looks like JSON objects written over several lines. Write one object a line "
    "(jq -c . FILE > cases.jsonl), or put them in one list in a .json file"
)


class JsonRows:
    """The rows of a JSON document."""

    suffix = "]"
    header: tuple[str, ...] = ()

    def __init__(self, file: TextFile, document: Any, reading: tuple[str, ...] = ()) -> None:
        self.prefix = f"{file.path.name}["
        self._file = file
        self._rows, found = rows_of(document, str(file.path))
        self.reading = (*reading, *found)

    def rows(self, *, check: bool = True) -> Iterator[tuple[int, dict[str, Any] | None, Flaws]]:
        """Yield the rows; ``where`` is the 0-based index."""
        self._file.check_unchanged()
        for index, row in enumerate(self._rows):
            if not isinstance(row, dict):
                yield index, None, not_an_object(row)
            elif check and (flaws := flaws_of(row)):
                yield index, None, flaws
            else:
                yield index, row, ()


def open_json(file: TextFile) -> tuple[Source, str]:
    """Return the rows of a .json file and its true format: it may hold JSON Lines."""
    first, second = _first_lines(file, 2)
    if second and _is_object(first) and second.startswith(b"{"):
        return JsonLines(file, ("the file holds one object a line: read as JSON Lines",)), "jsonl"
    return JsonRows(file, _load(file)), "json"


def open_jsonl(file: TextFile) -> tuple[Source, str]:
    """Return the rows of a .jsonl file and its true format: it may hold one JSON document."""
    first, second = _first_lines(file, 2)
    if first.startswith(b"[") and (not second or not _parses(first)):
        # A list on its own, or a list over several lines. A broken one is told as such.
        reading = ("the file holds one JSON list: read as JSON",)
        return JsonRows(file, _load(file), reading), "json"
    if first.startswith(b"{") and second and not _parses(first) and not second.startswith(b"{"):
        try:
            document = parse(file.text())
        except json.JSONDecodeError as error:
            if error.msg == "Extra data":
                raise DatasetError(
                    f"{file.path}: {_PRETTY.replace('FILE', str(file.path))}"
                ) from error
        except (ValueError, RecursionError):
            pass
        else:
            reading = ("the file holds one JSON object over several lines: read as JSON",)
            return JsonRows(file, document, reading), "json"
    return JsonLines(file), "jsonl"


def _load(file: TextFile) -> Any:
    text = file.text()
    try:
        return parse(text)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            raise DatasetError(
                f"{file.path.name}:{error.lineno}: more follows after the end of the JSON value; "
                f"it {_PRETTY.replace('FILE', str(file.path))}"
            ) from error
        raise DatasetError(
            f"{file.path.name}:{error.lineno}: not valid JSON: {syntax(error)} at column "
            f"{error.colno}"
        ) from error
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{file.path}: {too_much(error)}") from error


def _first_lines(file: TextFile, count: int) -> tuple[bytes, ...]:
    """Return the first lines that are not blank, stripped; empty where there are fewer."""
    found: list[bytes] = []
    lines = file.lines()
    for line in lines:
        if stripped := line.strip():
            found.append(stripped)
            if len(found) == count:
                break
    return (*found, *[b""] * (count - len(found)))


def _parses(line: bytes) -> bool:
    try:
        parse(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return False
    return True


def _is_object(line: bytes) -> bool:
    return careful_row(line)[0] is not None

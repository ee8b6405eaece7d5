"""Lines of a file with what is wrong in them: all of it told at once, each with its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from closecall.datasets._sniff import inspect
from closecall.datasets._strict import HALF_CHARACTER, decode_row, not_utf8
from closecall.errors import DatasetError, RowProblem
from closecall.records import is_whole_text

SHOWN = 20
"""Problems kept and printed; the rest are counted."""

MOST_GRADE = 1_000_000
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")


class Problems:
    """What is wrong with one file, gathered while it is read."""

    def __init__(self, path: Path, what: str) -> None:
        self.path = path
        self._what = what
        self._kept: list[RowProblem] = []
        self._count = 0

    def add(self, line: int, field: str, message: str) -> None:
        """Note a problem; ``line`` counts from 1."""
        self._count += 1
        if len(self._kept) < SHOWN:
            self._kept.append(RowProblem(f"{self.path.name}:{line}", field, message))

    def stop(self) -> None:
        """Raise ``DatasetError`` if anything was wrong."""
        if self._count:
            raise DatasetError(
                f"{self.path}: is no sound file of {self._what}", self._kept, self._count
            )


def objects(path: Path, problems: Problems) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the JSON objects of a file of JSON Lines, each with its line number.

    Raises
    ------
    DatasetError
        It is missing, empty, compressed or no text.
    """
    file, _ = inspect(path, "jsonl")
    for number, line in enumerate(file.lines(), start=1):
        if line.isspace():
            continue
        row, flaws = decode_row(line)
        if row is None:
            for field, message in flaws:
                problems.add(number, field, message)
            continue
        yield number, row


def texts(path: Path, problems: Problems) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text that are not blank, without their ends, with their numbers.

    Raises
    ------
    DatasetError
        As ``objects``.
    """
    file, _ = inspect(path, "tsv")
    for number, line in enumerate(file.lines(), start=1):
        if line.isspace():
            continue
        try:
            yield number, line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            problems.add(number, "", not_utf8(error))


def own_id(
    row: dict[str, Any], names: tuple[str, ...], line: int, problems: Problems
) -> str | None:
    """Return the id of a row as text; None, and a problem noted, where it has no sound one."""
    name = next((one for one in names if one in row), names[0])
    value = row.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value.strip():
        got = "nothing" if value is None else f"{value!r:.60}"
        problems.add(line, name, f"expected an id, a text that is not blank; got {got}")
        return None
    if not is_whole_text(value):
        problems.add(line, name, HALF_CHARACTER)
        return None
    return value


def own_text(
    row: dict[str, Any], name: str, line: int, problems: Problems, *, needed: bool
) -> str:
    """Return a text of a row; "" where it may be missing and is."""
    value = row.get(name)
    if value is None and not needed:
        return ""
    if not isinstance(value, str):
        got = "nothing" if value is None else f"{value!r:.60}"
        problems.add(line, name, f"expected a text, got {got}")
        return ""
    if not is_whole_text(value):
        problems.add(line, name, HALF_CHARACTER)
    return value


def own_grade(text: str, field: str, line: int, problems: Problems) -> int | None:
    """Return a grade: a whole number; below 1 means not relevant."""
    if not _WHOLE.fullmatch(text) or abs(int(text)) > MOST_GRADE:
        problems.add(
            line,
            field,
            f"expected a whole number of at most {MOST_GRADE:,} (0 not relevant, 1 and above "
            f"relevant), got {text!r:.60}",
        )
        return None
    return int(text)

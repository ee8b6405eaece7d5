"""The formats of a retrieval evaluation: table, JSON of everything, CSV of the questions."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import msgspec

from closecall.atomic import whole_file
from closecall.errors import UsageError
from closecall.report import retrieval
from closecall.report.csv_report import cell
from closecall.report.words import narrow, visible_json
from closecall.retrieval.results import RetrievalResult

FORMAT = "closecall-retrieval"
VERSION = 1


def write_json(found: RetrievalResult, out: IO[str]) -> None:
    """Write everything that was found, every question included."""
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        **msgspec.to_builtins(found),
        "exit_code": found.exit_code,
    }
    # JSON has its own escapes for what a narrow encoding lacks.
    text = json.dumps(document, indent=2, ensure_ascii=narrow(out), allow_nan=False)
    out.write(visible_json(text) + "\n")


def write_csv(found: RetrievalResult, out: IO[str]) -> None:
    """Write one line a question and search; texts are left out, and absences have no numbers."""
    writer = csv.writer(out, lineterminator="\n")
    names = list(found.systems[0].measures)
    writer.writerow(["query", "group", "relevant", "search", "state", "first_rank", *names])
    writer.writerows(_lines(found, names))


def _lines(found: RetrievalResult, names: list[str]) -> Iterator[list[object]]:
    for query in found.queries:
        head: list[object] = [cell(query.id), cell(query.group or ""), query.relevant]
        for system in found.systems:
            measured = query.values.get(system.name)
            if measured is None:
                yield [*head, cell(system.name), "not_measured", "", *([""] * len(names))]
                continue
            ranks = query.ranks[system.name]
            numbers = [measured[name] for name in names]
            yield [*head, cell(system.name), "measured", ranks[0] if ranks else "", *numbers]


FORMATS: dict[str, Callable[[RetrievalResult, IO[str]], None]] = {
    "table": retrieval.write,
    "json": write_json,
    "csv": write_csv,
}
SUFFIXES = {".txt": "table", ".json": "json", ".csv": "csv"}


def format_of(path: Path) -> str:
    """Return the format a file's suffix stands for.

    Raises
    ------
    UsageError
        There is none; the message says what to type.
    """
    found = SUFFIXES.get(path.suffix.lower())
    if found is None:
        raise UsageError(
            f"{path}: no format for this suffix; use one of {', '.join(SUFFIXES)} or name the "
            f"format: --format {'|'.join(FORMATS)}"
        )
    return found


def save(found: RetrievalResult, form: str, path: Path) -> None:
    """Write the report to a file, whole or not at all.

    Raises
    ------
    UsageError
        It cannot be written there.
    """
    with whole_file(path) as out:
        FORMATS[form](found, out)

"""Labelled scores from a file of anybody's: CSV or JSON lines with a score and a label a row.

The CSV report of ``closecall eval`` is such a file.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Mapping
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from closecall.errors import DatasetError, RowProblem, UsageError
from closecall.plain import open_plain
from closecall.report.charts.scores import Scores

VALUES = ("value", "score")
"""Columns a score is looked for in where no column has the metric's name."""

SHOWN = 20


def of_file(path: Path, metric: str | None = None) -> Scores:
    """Return the scores of a CSV, TSV or JSONL file.

    Each row has a ``label`` (accept, reject, or nothing) and a number, in a column named like the
    metric, or in ``value`` or ``score``; an empty one was not measured. Where there is a column
    ``metric``, only rows of that metric count.

    Raises
    ------
    DatasetError
        A row cannot be read; all of them are counted, and the first 20 named.
    UsageError
        The file has several metrics and none was named, or is of no known form.
    """
    rows = list(_rows(path))
    columns = {name for _, row in rows for name in row}
    rows, named = _of_metric(path, rows, columns, metric)
    column = next((name for name in (named, *VALUES) if name in columns), None)
    if "label" not in columns or column is None:
        raise DatasetError(
            f"{path}: a picture needs the columns label and {' or '.join(VALUES)} (or one named "
            f"like -m METRIC); found: {', '.join(sorted(columns)) or 'none'}. "
            "Cases without scores: closecall eval FILE -o report.csv makes such a file"
        )
    values: dict[str, list[float]] = {"accept": [], "reject": [], "": []}
    problems: list[RowProblem] = []
    absent = 0
    for place, row in rows:
        label, value = row.get("label") or "", row.get(column)
        if not isinstance(label, str) or label not in values:
            allowed = "allowed are accept, reject and nothing"
            problems.append(RowProblem(place, "label", f"got {_short(label)}; {allowed}"))
        elif value in (None, ""):
            absent += 1
        elif (number := _number(value)) is None:
            problems.append(
                RowProblem(place, column, f"expected a finite number, got {_short(value)}")
            )
        else:
            values[label].append(number)
    if problems:
        raise DatasetError(
            f"{path}: rows that cannot be drawn", tuple(problems[:SHOWN]), len(problems)
        )
    return Scores(
        metric=named or column,
        accepts=tuple(values["accept"]),
        rejects=tuple(values["reject"]),
        unlabelled=tuple(values[""]),
        absent=absent,
    )


def _of_metric(
    path: Path, rows: list[tuple[str, Mapping[str, Any]]], columns: set[str], metric: str | None
) -> tuple[list[tuple[str, Mapping[str, Any]]], str | None]:
    """Return the rows of the metric and its name."""
    if "metric" not in columns or metric in columns - {"metric"}:
        return rows, metric
    known = list(dict.fromkeys(str(row.get("metric")) for _, row in rows))
    if metric is None and len(known) == 1:
        metric = known[0]
    if metric not in known:
        what = "say which metric" if metric is None else f"there is no metric {metric!r}"
        raise UsageError(f"{path}: {what}: -m {' or -m '.join(known[:SHOWN])}")
    return [(place, row) for place, row in rows if str(row.get("metric")) == metric], metric


def _rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    suffix = path.suffix.lower()
    if suffix not in {".csv", ".tsv", ".jsonl", ".ndjson"}:
        raise UsageError(
            f"{path}: neither a run folder, nor a calibration file, nor a .csv, .tsv or .jsonl of "
            "scores with labels"
        )
    try:
        with open_plain(path) as data, TextIOWrapper(data, "utf-8-sig", newline="") as file:
            if suffix in {".csv", ".tsv"}:
                reader = csv.DictReader(file, delimiter="," if suffix == ".csv" else "\t")
                for row in reader:
                    yield f"{path}:{reader.line_num}", {k: v for k, v in row.items() if k}
            else:
                for number, line in enumerate(file, 1):
                    if line.strip():
                        yield f"{path}:{number}", _object(line, f"{path}:{number}")
    except (OSError, csv.Error, ValueError) as error:
        if isinstance(error, DatasetError):
            raise
        raise DatasetError(f"{path}: {_why(error)}") from error


def _why(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 at byte {error.start}"
    if isinstance(error, csv.Error):
        return f"not a table: {error}"
    return str(getattr(error, "strerror", None) or error)


def _object(line: str, place: str) -> Mapping[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{place}: not JSON: {error}") from error
    if not isinstance(found, dict):
        raise DatasetError(f"{place}: expected an object, got {type(found).__name__}")
    return found


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def _short(value: Any) -> str:
    return repr(value)[:60]

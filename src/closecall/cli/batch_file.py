"""A batch of cases to label, as a file that can be added to the one it was drawn from.

It has that file's own columns, the label empty, and says of each row how it was drawn.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from closecall.errors import UsageError

if TYPE_CHECKING:
    from closecall.calibration.labels.labelling import Batch
    from closecall.datasets import Dataset
    from closecall.datasets._as_written import Layout
    from closecall.records import Case

FORMS = (".jsonl", ".json", ".csv", ".tsv")
TABLES = {".csv": ",", ".tsv": "\t"}
STRATUM = "stratum"


def form_of(output: Path) -> str:
    """Return the suffix that says how to write the batch.

    Raises
    ------
    UsageError
        It is none of ``FORMS``.
    """
    suffix = output.suffix.lower()
    if suffix not in FORMS:
        raise UsageError(
            f"-o {output}: a batch is written as .jsonl, .json, .csv or .tsv; end the name in one "
            f"of them, such as {output.with_suffix('.jsonl').name}"
        )
    return suffix


def require_flat(output: Path, layout: Layout, group: str | None) -> None:
    """Refuse a table for columns that lie inside objects, which it cannot hold.

    Raises
    ------
    UsageError
        Names the first such column.
    """
    inside = list(layout.nested)
    if group is not None and "." in group and group not in layout.header:
        inside.append(group)
    if inside and form_of(output) in TABLES:
        raise UsageError(
            f"-o {output}: {inside[0]!r} lies inside an object, which a table cannot hold; write "
            f"{output.with_suffix('.jsonl').name}"
        )


def write_batch(
    dataset: Dataset, layout: Layout, batch: Batch, output: Path
) -> tuple[str, tuple[str, ...]]:
    """Write the rows of a batch in the order drawn, whole or not at all.

    Returns
    -------
    label, new
        The column to put labels in, and the columns that the file of cases does not have: of a
        table, those that are not in its header.
    """
    from closecall.calibration.labels.label_facts import INCLUSION_PROBABILITY, SAMPLING
    from closecall.datasets._as_written import rows_as_written

    form = form_of(output)
    label = layout.label or "label"
    picks = {pick.id: pick for pick in batch.picks}
    cases = {case.id: case for case in dataset if case.id in picks}
    places = {case.place or "" for case in cases.values()}
    found = dict(rows_as_written(dataset, places))
    rows: list[dict[str, Any]] = []
    for name, pick in picks.items():
        case = cases[name]
        row = found[case.place or ""]
        row.pop(STRATUM, None)
        if label not in layout.nested:
            row.setdefault(label, "" if form in TABLES else None)
        row[SAMPLING] = batch.sampling
        row[INCLUSION_PROBABILITY] = pick.inclusion_probability
        if pick.stratum is not None:
            row[STRATUM] = pick.stratum
        rows.append(converted(row, case, layout, table=form in TABLES))
    return label, write_rows(rows, dataset.format, layout, output)


def write_rows(
    rows: list[dict[str, Any]], source: str, layout: Layout, output: Path
) -> tuple[str, ...]:
    """Write rows whole or not at all; ``source`` is the format of the file they are from.

    Returns the columns that a table's header did not have.
    """
    from closecall.atomic import whole_file

    form = form_of(output)
    known = dict.fromkeys(layout.header)
    every = list(known | dict.fromkeys(key for row in rows for key in row))
    with whole_file(output) as file:
        if form in TABLES:
            own = layout.delimiter if source == form[1:] else None
            _write_table(file, rows, every, own or TABLES[form])
        elif form == ".json":
            file.write(json.dumps(rows, ensure_ascii=False, allow_nan=False, indent=2) + "\n")
        else:
            for row in rows:
                file.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")
    return tuple(name for name in every if known and name not in known)


def converted(row: dict[str, Any], case: Case, layout: Layout, *, table: bool) -> dict[str, Any]:
    """Return the row so that it reads as the same case in the form it is written in.

    A cell that starts with a bracket is a list in a table, and a text elsewhere.
    """
    from_table = bool(layout.header)
    if from_table == table:
        return row
    parsed = {"reference": case.references, "context": case.context, "tags": case.tags}
    found = dict(row)
    for column, field in layout.lists.items():
        value = found.get(column)
        if isinstance(value, str) and value.startswith("["):
            found[column] = list(parsed[field])
    return found


def _write_table(
    file: IO[str], rows: list[dict[str, Any]], columns: list[str], delimiter: str
) -> None:
    cells = [columns, *([_cell(row.get(column)) for column in columns] for row in rows)]
    # A carriage return alone is not always quoted, and then ends the row.
    if any("\r" in cell for row in cells for cell in row):
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
    else:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
    writer.writerows(cells)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple | dict) and not value:
        return ""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)

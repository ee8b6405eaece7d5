"""Rows as they stand in their file: its own column names, nothing renamed or parsed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from closecall.datasets._dataset import Dataset
from closecall.datasets._fields import CONTEXT, LABEL, REFERENCE, TAGS


class Layout(NamedTuple):
    """How a file's columns are laid out.

    ``header`` is that of a table, empty for other files; ``delimiter`` the table's, else None.
    ``label`` is the column the label was read from, dotted where it lies inside an object; None
    without one. ``lists`` are the columns whose cells may hold a list, by field. ``nested`` are
    the columns that were read from inside an object.
    """

    header: tuple[str, ...]
    delimiter: str | None
    label: str | None
    lists: Mapping[str, str]
    nested: tuple[str, ...]


def layout_of(dataset: Dataset) -> Layout:
    """Return how the columns of a dataset's file are laid out."""
    columns = dataset._plan.columns  # noqa: SLF001 - of this package
    source = dataset._source  # noqa: SLF001
    label = columns.get(LABEL, ())
    return Layout(
        header=tuple(source.header),
        delimiter=getattr(source, "_delimiter", None),
        label=label[0].name if label else None,
        lists={
            column.name: field
            for field in (REFERENCE, CONTEXT, TAGS)
            for column in columns.get(field, ())
        },
        nested=tuple(column.name for found in columns.values() for column in found if column.path),
    )


def rows_as_written(
    dataset: Dataset, places: Collection[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows at these places (``Case.place``) with their place, in file order.

    One pass over the file. A row of a table has no key for an empty cell.
    """
    source = dataset._source  # noqa: SLF001
    for where, row, _ in source.rows():
        place = f"{source.prefix}{where}{source.suffix}"
        if row is not None and place in places:
            yield place, dict(row)

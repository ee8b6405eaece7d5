"""A file of another evaluator, open: its rows with their places, or its document."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from closecall.datasets._json_file import _load
from closecall.datasets._jsonl import JsonLines
from closecall.datasets._sniff import TextFile, inspect
from closecall.datasets._sources import rows_of
from closecall.datasets._strict import Flaws, careful_row, flaws_of, not_an_object
from closecall.datasets._table import Table
from closecall.datasets._yaml_file import _Builder
from closecall.errors import DatasetError


class Row(NamedTuple):
    """One object of a file and where it stands; None where ``flaws`` say what is wrong with it."""

    place: str
    value: dict[str, Any] | None
    flaws: Flaws = ()


class Opened(Protocol):
    """What every importer reads from. Rows can be had as often as asked."""

    path: Path
    cells: bool
    """Whether the rows are those of a table, whose cells are all texts."""
    document: Any
    """The whole of a JSON or YAML file; None for files that are read row by row."""

    def rows(self) -> Iterator[Row]:
        """Yield the rows in file order."""
        ...


class Rows:
    """A file of one object a line, or of rows under a header."""

    document = None

    def __init__(self, source: Any, path: Path, *, cells: bool) -> None:
        self._source = source
        self.path = path
        self.cells = cells
        self.header = tuple(source.header)

    def rows(self) -> Iterator[Row]:
        """Yield the rows in file order."""
        prefix, suffix = self._source.prefix, self._source.suffix
        for where, value, flaws in self._source.rows():
            yield Row(f"{prefix}{where}{suffix}", value, flaws)


class Document:
    """A JSON or YAML file, held whole."""

    cells = False

    def __init__(self, path: Path, document: Any, lines: dict[int, int] | None) -> None:
        self.path = path
        self.document = document
        self._lines = lines

    def rows(self) -> Iterator[Row]:
        """Yield the objects of the document's list of cases.

        Raises
        ------
        DatasetError
            Which list that is cannot be told.
        """
        found, _ = rows_of(self.document, str(self.path))
        return self.places(found)

    def places(self, values: Iterable[Any], under: str = "") -> Iterator[Row]:
        """Yield values of the document as rows, each where it stands.

        ``under`` names the list that they are in, for a file without lines.
        """
        for index, value in enumerate(values):
            line = self._lines.get(id(value)) if self._lines is not None else None
            place = f"{self.path.name}:{line}" if line else f"{self.path.name}[{under}{index}]"
            if not isinstance(value, dict):
                yield Row(place, None, not_an_object(value))
                continue
            flaws = flaws_of(value)
            yield Row(place, None if flaws else value, flaws)


def open_file(path: Path, wanted: Collection[str] = ()) -> Opened:
    """Return a file, read as far as is needed to know its form.

    ``wanted`` are columns that the caller maps, to tell a table's delimiter by.

    Raises
    ------
    DatasetError
        It is missing, unreadable, or in no form that is known.
    MissingExtraError
        It is an Arrow or Parquet file, and pyarrow is not installed.
    """
    from closecall.importing.arrow import is_arrow, open_arrow

    if is_arrow(path):
        return open_arrow(path)
    file, name = inspect(path, None)
    if name in {"csv", "tsv"}:
        source = Table(file, tabs=name == "tsv", wanted=frozenset(wanted))
        return Rows(source, path, cells=True)
    if name == "yaml":
        builder = _Builder(file)
        return Document(path, builder.document(), builder.lines)
    if name == "jsonl" or _is_lines(file):
        return Rows(JsonLines(file), path, cells=False)
    return Document(path, _load(file), None)


def _is_lines(file: TextFile) -> bool:
    """Whether a .json file holds one object a line."""
    found: list[bytes] = []
    for line in file.lines():
        if stripped := line.strip():
            found.append(stripped)
        if len(found) > 1:
            break
    return (
        len(found) > 1
        and careful_row(found[0])[0] is not None
        and careful_row(found[1])[0] is not None
    )


def no_cases(path: Path, what: str) -> DatasetError:
    """Return the error for a file without any case."""
    return DatasetError(f"{path}: {what}. It needs at least one case")

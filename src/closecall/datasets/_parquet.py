"""Parquet, read batch by batch: a file, or a folder of files in the order of their names.

Only the columns of a row's values are decoded, a thousand rows at a time; memory holds these and,
packed, what of a row group is being read. Values come as JSON has them: lists, objects, numbers,
texts. Dates, times and decimals are texts; bytes are no texts, and a column of them is left out.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from closecall.datasets._fields import field_of
from closecall.datasets._parquet_batches import MAX_TEXTS, batches, parquet_file, text_bytes
from closecall.datasets._sniff import TextFile
from closecall.datasets._strict import Flaws
from closecall.errors import DatasetError, MissingExtraError
from closecall.plain import open_plain

MAX_COLUMNS = 10_000
MAX_DEPTH = 64

_TYPES_OF_PLAIN = (
    "is_null", "is_boolean", "is_integer", "is_floating", "is_string", "is_large_string",
)  # fmt: skip
_TYPES_AS_TEXT = ("is_timestamp", "is_date", "is_time", "is_decimal")
_LISTS = ("is_list", "is_large_list", "is_fixed_size_list")

Row = tuple[int | str, dict[str, Any] | None, Flaws]


class ParquetRows:
    """The rows of Parquet files, in order. A row's place is its number in its file, from 0.

    Parameters
    ----------
    path
        The file or folder, for messages.
    files
        The files, in order.
    wanted
        Columns that a mapping names, so that they cannot be left out.

    Raises
    ------
    MissingExtraError
        pyarrow is not installed.
    DatasetError
        A file is damaged, they have different columns, or a column that is needed holds bytes.
    """

    header: tuple[str, ...] = ()

    def __init__(
        self, path: Path, files: Sequence[TextFile], wanted: frozenset[str] = frozenset()
    ) -> None:
        self._files = tuple(files)
        self._single = len(self._files) == 1 and self._files[0].path == path
        self.prefix = f"{path.name}[" if self._single else ""
        self.suffix = "]"
        schema = _schema(self._files[0].path)
        for other in self._files[1:]:
            _require_same(schema, _schema(other.path), self._files[0].path, other.path)
        self._columns, self._as_text, left_out = _chosen(schema, path, wanted)
        self.header = tuple(self._columns)
        self.reading: tuple[str, ...] = ()
        if not self._single:
            self.reading = (f"{len(self._files)} Parquet files in the order of their names",)
        if left_out:
            named = ", ".join(f"`{name}`" for name in left_out[:8])
            self.reading += (f"left out, as they hold no texts, numbers or lists: {named}",)

    def rows(self, *, check: bool = True) -> Iterator[Row]:
        """Yield the rows in order; every one is checked."""
        del check
        return self.rows_after(0)

    def rows_after(self, skip: int) -> Iterator[Row]:
        """Yield the rows after the first ``skip``, whose row groups are not read."""
        left = skip
        for file in self._files:
            file.check_unchanged()
            with _reading(file.path) as opened:
                count = opened.reader.metadata.num_rows
                if left >= count:
                    left -= count
                    continue
                yield from self._rows_of(file.path, opened, left)
            file.check_unchanged()
            left = 0

    def _rows_of(self, path: Path, opened: _Opened, skip: int) -> Iterator[Row]:
        facts = opened.reader.metadata
        groups = facts.num_row_groups
        at = first = 0
        while first < groups and at + facts.row_group(first).num_rows <= skip:
            at += facts.row_group(first).num_rows
            first += 1
        before = "" if self._single else f"{path.name}["
        wanted = range(first, groups)
        for batch in batches(opened.file, opened.reader, wanted, self._columns):
            drop = max(0, skip - at)
            if drop < batch.num_rows:
                for offset, (row, flaws) in enumerate(self._values(batch.slice(drop)), at + drop):
                    yield (f"{before}{offset}" if before else offset), row, flaws
            at += batch.num_rows

    def _values(self, batch: Any) -> Iterator[tuple[dict[str, Any] | None, Flaws]]:
        import pyarrow as pa
        import pyarrow.compute

        if text_bytes(batch) > MAX_TEXTS:
            if batch.num_rows == 1:
                yield None, (("", f"holds more than {MAX_TEXTS:,} bytes of text in one row"),)
                return
            for at in range(batch.num_rows):
                yield from self._values(batch.slice(at, 1))
            return
        columns = [
            pa.compute.cast(batch.column(name), pa.string())
            if name in self._as_text
            else batch.column(name)
            for name in self._columns
        ]
        try:
            rows: Iterator[Any] = zip(*(column.to_pylist() for column in columns), strict=True)
            whole = list(rows)
        except UnicodeDecodeError:
            for at in range(batch.num_rows):
                yield self._one(columns, at)
            return
        for values in whole:
            yield self._plain(values)

    def _one(self, columns: Sequence[Any], at: int) -> tuple[dict[str, Any] | None, Flaws]:
        """Return one row of a batch in which some text is not UTF-8."""
        values = []
        for name, column in zip(self._columns, columns, strict=True):
            try:
                values.append(column[at].as_py())
            except UnicodeDecodeError:
                return None, ((name, "holds a text that is not UTF-8"),)
        return self._plain(values)

    def _plain(self, values: Sequence[Any]) -> tuple[dict[str, Any] | None, Flaws]:
        row: dict[str, Any] = {}
        flaws: list[tuple[str, str]] = []
        for name, value in zip(self._columns, values, strict=True):
            row[name] = value if value.__class__ is str else _plain(value, name, flaws)
        return (None, tuple(flaws)) if flaws else (row, ())

    def sha256(self) -> str:
        """Return the digest of the file; of a folder, that of its files' names and digests."""
        if self._single:
            return _sha256(self._files[0].path)
        lines = (f"{_sha256(file.path)}  {file.path.name}\n" for file in self._files)
        return hashlib.sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.stamp.size for file in self._files)


def _sha256(path: Path) -> str:
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _schema(path: Path) -> Any:
    with _reading(path) as opened:
        return opened.reader.schema_arrow


_FROM_ARROW = (OSError, ValueError, KeyError, OverflowError, NotImplementedError)
"""What pyarrow's own errors are."""


class _Opened(NamedTuple):
    file: BinaryIO
    reader: Any


class _reading:  # noqa: N801 - reads as a function where it is used
    """Open a file for the length of a block; what pyarrow raises there is a ``DatasetError``."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None

    def __enter__(self) -> _Opened:
        try:
            import pyarrow.parquet
        except ImportError as error:
            raise MissingExtraError("reading Parquet files", "parquet", ["pyarrow"]) from error
        del pyarrow
        try:
            self._file = open_plain(self._path)
            return _Opened(self._file, parquet_file(self._file))
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._file is not None:
            self._file.close()
        if isinstance(error, _FROM_ARROW) and not isinstance(error, DatasetError):
            reason = str(error).partition("\n")[0][:200] or type(error).__name__
            raise DatasetError(f"{self._path}: cannot be read as Parquet: {reason}") from error


def _chosen(
    schema: Any, path: Path, wanted: frozenset[str]
) -> tuple[list[str], frozenset[str], list[str]]:
    """Return the columns to read, those to be read as texts, and those left out."""
    import pyarrow as pa

    names = list(schema.names)
    if len(names) > MAX_COLUMNS:
        raise DatasetError(f"{path}: has {len(names):,} columns, at most {MAX_COLUMNS:,} are read")
    twice = (
        sorted({name for name in names if names.count(name) > 1})
        if len(set(names)) < len(names)
        else []
    )
    if twice:
        raise DatasetError(f"{path}: has the column `{twice[0]}` twice; rename one")
    read: list[str] = []
    as_text: set[str] = set()
    left_out: list[str] = []
    tops = {name.partition(".")[0] for name in wanted}
    for name in names:
        kind = schema.field(name).type
        value_of = kind.value_type if pa.types.is_dictionary(kind) else kind
        if any(getattr(pa.types, test)(value_of) for test in _TYPES_AS_TEXT):
            as_text.add(name)
        elif not _readable(pa, kind, 0):
            if name in wanted or name in tops or field_of(name) is not None:
                raise DatasetError(
                    f"{path}: the column `{name}` holds {kind}, which is no text, number, list or "
                    "object. Cast it to a string, or give another column with --map"
                )
            left_out.append(name)
            continue
        read.append(name)
    return read, frozenset(as_text), left_out


def _readable(pa: Any, kind: Any, level: int) -> bool:
    """Whether values of a type come as JSON has them."""
    types = pa.types
    if level > MAX_DEPTH:
        return False
    if any(getattr(types, test)(kind) for test in _TYPES_OF_PLAIN):
        return True
    if types.is_dictionary(kind) or any(getattr(types, test)(kind) for test in _LISTS):
        return _readable(pa, kind.value_type, level + 1)
    if types.is_struct(kind):
        inner = [kind.field(at) for at in range(kind.num_fields)]
        names = {field.name for field in inner}
        return len(names) == len(inner) and all(
            _readable(pa, field.type, level + 1) for field in inner
        )
    if types.is_map(kind):
        texts = types.is_string(kind.key_type) or types.is_large_string(kind.key_type)
        return texts and _readable(pa, kind.item_type, level + 1)
    return False


def _plain(value: Any, column: str, flaws: list[tuple[str, str]]) -> Any:
    """Return a value as JSON has it; what is none is noted as a flaw of the row."""
    kind = value.__class__
    if kind is float:
        if math.isfinite(value):
            return value
        if not math.isnan(value):
            flaws.append((column, "is infinite; write null where there is no value"))
        return None  # NaN is how pandas writes a number that is missing
    if kind is dict:
        return {key: _plain(inner, column, flaws) for key, inner in value.items()}
    if kind is list:
        if value and value[0].__class__ is tuple:  # a map
            pairs = dict(value)
            if len(pairs) < len(value):
                flaws.append((column, "a key stands twice in one map"))
            return {key: _plain(inner, column, flaws) for key, inner in pairs.items()}
        return [_plain(inner, column, flaws) for inner in value]
    return value


def _require_same(schema: Any, other: Any, first: Path, path: Path) -> None:
    """Refuse files of one data set that disagree on a column."""
    if schema.remove_metadata() == other.remove_metadata():
        return
    for name in dict.fromkeys([*schema.names, *other.names]):
        here = schema.field(name).type if name in schema.names else None
        there = other.field(name).type if name in other.names else None
        if here != there:
            raise DatasetError(
                f"{path}: the column `{name}` is {there or 'missing'} here and {here or 'missing'}"
                f" in {first.name}; the files of one data set have the same columns"
            )
    if list(schema.names) != list(other.names):
        return  # the order of columns says nothing

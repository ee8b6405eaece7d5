"""What a file is before it is read: refusals that save a person the guessing, and its encoding."""

from __future__ import annotations

import codecs
import io
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from closecall.datasets._strict import not_utf8
from closecall.errors import DatasetError, UsageError
from closecall.there import is_file

FORMATS = {
    "jsonl": (".jsonl", ".ndjson"),
    "json": (".json",),
    "csv": (".csv",),
    "tsv": (".tsv", ".tab"),
    "yaml": (".yaml", ".yml"),
    "parquet": (".parquet",),
}
SUFFIXES = ", ".join(suffix for suffixes in FORMATS.values() for suffix in suffixes)

HEAD = 1 << 16
PARQUET = b"PAR1"
MOST_FILES = 100_000
"""Parquet files of one folder."""

_FOREIGN: tuple[tuple[bytes, str], ...] = (
    (
        b"version https://git-lfs",
        "is a Git LFS pointer, not the data itself. Fetch the data with: git lfs pull",
    ),
    (b"\x1f\x8b", "is compressed with gzip. Unpack it first: gunzip FILE"),
    (b"BZh", "is compressed with bzip2. Unpack it first: bunzip2 FILE"),
    (b"\xfd7zXZ\x00", "is compressed with xz. Unpack it first: unxz FILE"),
    (b"\x28\xb5\x2f\xfd", "is compressed with zstd. Unpack it first: unzstd FILE"),
    (
        b"PK\x03\x04",
        "is a zip archive or an Excel workbook. Unpack it, or save the sheet as CSV (UTF-8)",
    ),
    (b"\xd0\xcf\x11\xe0", "is an old Excel or Word file. Save the sheet as CSV (UTF-8)"),
    (b"SQLite format 3\x00", "is an SQLite database. Export the table as CSV or JSON Lines"),
    (b"ARROW1", "is an Arrow file. Convert it to JSON Lines or CSV"),
    (b"\x93NUMPY", "is a numpy array. Closecall reads texts: JSON Lines, JSON, CSV or YAML"),
    (b"%PDF", "is a PDF document. Closecall reads texts: JSON Lines, JSON, CSV or YAML"),
)

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class Stamp(NamedTuple):
    """What changes when a file is written again."""

    size: int
    modified: int


class TextFile(NamedTuple):
    """A file that can be read as text, again and again.

    ``encoding`` is ``utf-8``, ``utf-16`` or ``utf-32``; ``bom`` says whether a mark comes first;
    ``cr`` whether lines end in a bare carriage return. Of Parquet, which is no text, ``encoding``
    is ``parquet``, and ``path`` may be a folder of files.
    """

    path: Path
    encoding: str
    bom: bool
    cr: bool
    stamp: Stamp

    def lines(self) -> Iterator[bytes]:
        """Yield the lines as UTF-8 bytes with their ends, the byte order mark left out.

        A line that is not UTF-8 comes as it is; for UTF-16 and UTF-32, which lose their step at
        a bad place, it is a ``DatasetError``.
        """
        self.check_unchanged()
        try:
            if self.encoding == "utf-8":
                yield from self._utf8_lines()
            else:
                with self.path.open(encoding=self.encoding, newline="") as file:
                    for line in file:
                        yield line.encode("utf-8", errors="surrogatepass")
        except OSError as error:
            raise unreadable(self.path, error) from error
        except UnicodeError as error:
            raise DatasetError(
                f"{self.path}: is marked as {self.encoding.upper()} but cannot be decoded as "
                "that; save it as UTF-8"
            ) from error
        self.check_unchanged()

    def _utf8_lines(self) -> Iterator[bytes]:
        with self.path.open("rb") as file:
            if self.bom:
                file.seek(len(codecs.BOM_UTF8))
            if not self.cr:
                yield from file
                return
            begun: list[bytes] = []  # pieces, because adding to a long line would copy it
            while chunk := file.read(HEAD):
                *ends, rest = chunk.split(b"\r")
                for end in ends:
                    yield b"".join((*begun, end, b"\n"))
                    begun.clear()
                begun.append(rest)
            if rest := b"".join(begun):
                yield rest

    def text(self) -> str:
        """Return the whole text.

        Raises
        ------
        DatasetError
            It is not UTF-8; the message has the line and the byte.
        """
        parts = []
        for number, line in enumerate(self.lines(), start=1):
            try:
                parts.append(line.decode("utf-8", errors="strict"))
            except UnicodeDecodeError as error:
                raise DatasetError(f"{self.path.name}:{number}: {not_utf8(error)}") from error
        return "".join(parts)

    def check_unchanged(self) -> None:
        """Refuse a file that was written to since it was opened."""
        try:
            now = _stamp(self.path.stat())
        except OSError as error:
            raise unreadable(self.path, error) from error
        if now != self.stamp:
            raise DatasetError(f"{self.path}: changed while it was being read; start again")


def format_of(path: Path, wanted: str | None) -> str:
    """Return the format by name or by the file's suffix.

    Raises
    ------
    UsageError
        ``wanted`` is not a format.
    DatasetError
        The suffix is not one of those known.
    """
    if wanted is not None:
        if wanted not in FORMATS:
            raise UsageError(f"format {wanted!r} is not one of {', '.join(FORMATS)}")
        return wanted
    suffix = path.suffix.lower()
    for name, suffixes in FORMATS.items():
        if suffix in suffixes:
            return name
    what = f"the suffix {path.suffix!r} says" if path.suffix else "a name without a suffix says"
    raise DatasetError(
        f"{path}: {what} nothing about the format. Rename the file to what it holds: {SUFFIXES}"
    )


def inspect(path: Path, wanted: str | None) -> tuple[TextFile, str]:
    """Return the file and its format's name, or refuse it.

    Raises
    ------
    DatasetError
        Missing, a directory, a pipe, unreadable, empty, compressed, a pointer, binary.
    UsageError
        ``wanted`` is not a format.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        raise DatasetError(f"{path}: there is no such file{_nearby(path)}") from None
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error
    if stat.S_ISDIR(status.st_mode) and parquet_files(path) and wanted in {None, "parquet"}:
        return TextFile(path, "parquet", False, False, _stamp(status)), "parquet"  # noqa: FBT003
    if stat.S_ISDIR(status.st_mode):
        raise DatasetError(f"{path}: is a directory{_files_in(path)}")
    if not stat.S_ISREG(status.st_mode):
        raise DatasetError(
            f"{path}: is not a regular file. Cases are read more than once; write them to a file "
            f"first ({SUFFIXES})"
        )
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
    except OSError as error:
        raise unreadable(path, error) from error
    if head.startswith(PARQUET) and wanted in {None, "parquet"}:
        return TextFile(path, "parquet", False, False, _stamp(status)), "parquet"  # noqa: FBT003
    encoding, bom = _encoding(head)
    _refuse_foreign(path, head, encoding=encoding, bom=bom)
    name = format_of(path, wanted)
    if name == "parquet":
        raise DatasetError(f"{path}: is no Parquet file: it does not begin with PAR1")
    cr = encoding == "utf-8" and b"\n" not in head and b"\r" in head[:-1]
    return TextFile(path, encoding, bom, cr, _stamp(status)), name


def parquet_files(folder: Path) -> list[Path]:
    """Return the Parquet files of a folder in the order of their names, none of those hidden.

    Raises
    ------
    DatasetError
        The folder cannot be listed, or holds too many.
    """
    try:
        found = sorted(
            path
            for path in folder.iterdir()
            if path.suffix.lower() == ".parquet"
            and not path.name.startswith((".", "_"))
            and is_file(path)
        )
    except OSError as error:
        raise unreadable(folder, error) from error
    if len(found) > MOST_FILES:
        raise DatasetError(f"{folder}: holds more than {MOST_FILES:,} Parquet files")
    return found


def stamped(path: Path) -> TextFile:
    """Return a Parquet file with what changes when it is written again."""
    try:
        return TextFile(path, "parquet", False, False, _stamp(path.stat()))  # noqa: FBT003
    except OSError as error:
        raise unreadable(path, error) from error


def is_regular(path: Path) -> bool:
    """Whether there is a file of bytes that has an end: no pipe, no device, no folder."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def unreadable(path: Path, error: Exception) -> DatasetError:
    """Return the error for a file the system does not let us read."""
    reason = getattr(error, "strerror", None) or str(error)
    return DatasetError(f"{path}: cannot be read: {reason}")


def _stamp(status: os.stat_result) -> Stamp:
    return Stamp(status.st_size, status.st_mtime_ns)


def _encoding(head: bytes) -> tuple[str, bool]:
    for mark, name in _BOMS:
        if head.startswith(mark):
            return name, True
    return "utf-8", False


def _refuse_foreign(path: Path, head: bytes, *, encoding: str, bom: bool) -> None:
    for magic, message in _FOREIGN:
        if head.startswith(magic):
            raise DatasetError(f"{path}: {message.replace('FILE', str(path))}")
    if encoding == "utf-8":
        start = head.removeprefix(codecs.BOM_UTF8).lstrip()
        if start[:14].lower().startswith((b"<!doctype html", b"<html")):
            raise DatasetError(
                f"{path}: is an HTML page, perhaps of a download that needed a login. Get the "
                "file itself"
            )
        if head.count(0) * 5 >= len(head) > 0:
            raise DatasetError(
                f"{path}: is binary, or UTF-16 without a byte order mark. Save it as UTF-8 text"
            )
    else:
        try:
            start = (
                io.IncrementalNewlineDecoder(
                    codecs.getincrementaldecoder(encoding)(), translate=False
                )
                .decode(head)
                .strip()
                .encode("utf-8", errors="surrogatepass")
            )
        except UnicodeError:
            start = b"?"
    if not start and len(head) < HEAD:
        what = "is empty" if not head or bom else "holds nothing but white space"
        raise DatasetError(f"{path}: {what}. It needs at least one row")


def _nearby(path: Path) -> str:
    """Return a hint naming a file of nearly that name."""
    import difflib

    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except (OSError, ValueError):
        return ""
    found = difflib.get_close_matches(path.name, names[:10_000], n=1)
    return f". Did you mean {path.parent / found[0]}?" if found else ""


def _files_in(path: Path) -> str:
    try:
        names = sorted(e.name for e in path.iterdir() if e.suffix.lower() in SUFFIXES.split(", "))
    except OSError:
        return ""
    return f". Name one of its files: {', '.join(names[:8])}" if names else f" without {SUFFIXES}"

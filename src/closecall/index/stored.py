"""What an index holds: rows, vectors and faiss part, of the folder and as added since.

Nothing here knows of embedders or texts to search for.
"""

from __future__ import annotations

import math
import mmap
import os
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from closecall.errors import IndexFolderError, UsageError, VectorError
from closecall.index.faiss_part import FaissPart, Progress
from closecall.index.filters import Where, compiled
from closecall.index.folder import verify
from closecall.index.lengths import Lengths
from closecall.index.manifest import (
    FAISS,
    OFFSETS,
    RANKS,
    ROWS,
    VECTORS,
    Manifest,
    read_manifest,
)
from closecall.index.products import Block, Floats32, Positions
from closecall.index.rows import Table
from closecall.index.searching import Field
from closecall.index.stack import Stack
from closecall.index.writer import ranks_of
from closecall.instrument import canonical_json
from closecall.plain import open_plain

_TRIES = 3
_FILTERS_KEPT = 8
_SHOWN = 5

_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
"""What reads the head of an array's file, by the version of the format."""


class Stored:
    """Rows by position, some of them removed; ``where`` is what messages call their vectors."""

    def __init__(
        self,
        stack: Stack,
        table: Table,
        ranks: Positions,
        part: FaissPart | None,
        facts: Manifest,
        *,
        where: str = "vectors",
    ) -> None:
        self.stack, self.table, self.part, self.where = stack, table, part, where
        self.length, self.peak = facts.length, facts.peak
        self.alive: NDArray[np.bool_] | None = None
        self._lengths = Lengths(len(table), refuse_zero=facts.similarity == "cosine", name=where)
        self._ranks: Positions | None = ranks
        self._positions: dict[str, int] | None = None
        self._filters: OrderedDict[bytes, NDArray[np.bool_]] = OrderedDict()

    @property
    def rows(self) -> int:
        """Rows that are not removed."""
        return len(self.table) if self.alive is None else int(np.count_nonzero(self.alive))

    @property
    def positions(self) -> dict[str, int]:
        """The position of each id that is not removed; read from the file on first use."""
        if self._positions is None:
            found: dict[str, int] = {}
            for position, identity in enumerate(self.table.ids()):
                if found.setdefault(identity, position) != position:
                    raise IndexFolderError(
                        f"{ROWS}:{position + 1}: id {identity!r:.80} is on line "
                        f"{found[identity] + 1} too; build the index again"
                    )
            self._positions = found
        return self._positions

    def field(self, similarity: Any) -> Field:
        """Return what a search looks at."""
        if self._ranks is None:
            self._ranks = ranks_of(list(self.table.ids()))
        return Field(
            self.stack, self._ranks, similarity, self.part, self.length, self.peak, self._lengths
        )

    def kept(self, where: Where | None) -> NDArray[np.bool_] | None:
        """Return which rows are there and pass a filter; None: all.

        A filter is tried on every row once, and the answer kept for the last 8 filters.
        """
        if where is None or (isinstance(where, Mapping) and not where):
            return self.alive
        test = compiled(where)
        key = canonical_json(
            {field: dict(one) if isinstance(one, Mapping) else one for field, one in where.items()}
        )
        if key not in self._filters:
            self._filters[key] = np.fromiter(
                (test(metadata) for metadata in self.table.metadata()), bool, len(self.table)
            )
            if len(self._filters) > _FILTERS_KEPT:
                self._filters.popitem(last=False)
        self._filters.move_to_end(key)
        passed = self._filters[key]
        return passed if self.alive is None else passed & self.alive

    def append(
        self, ids: Sequence[str], lines: Sequence[bytes], block: Block, *, threads: int
    ) -> None:
        """Add rows at the end, to faiss too."""
        positions = self.positions
        start = len(self.table)
        if self.part is not None:
            self.part.add(block.rows, threads=threads)
        self.stack = self.stack.plus(block.rows)
        for at, (identity, line) in enumerate(zip(ids, lines, strict=True)):
            self.table.append(line)
            positions[identity] = start + at
        if self.alive is not None:
            self.alive = np.concatenate([self.alive, np.ones(len(ids), dtype=bool)])
        self.length = max(self.length, float(np.sqrt(block.squares.max(initial=0.0))))
        self.peak = max(self.peak, block.peak)
        self._lengths = self._lengths.plus(block)
        self._ranks = None
        self._filters.clear()

    def remove(self, ids: Iterable[str]) -> None:
        """Mark rows as removed; each id must be there."""
        if self.alive is None:
            self.alive = np.ones(len(self.table), dtype=bool)
        for identity in ids:
            self.alive[self.positions.pop(identity)] = False

    def require(self, ids: Sequence[str], *, there: bool) -> None:
        """Refuse ids that are given twice, or are not there (or are, where they must be new).

        Raises
        ------
        UsageError
            The message names the first few.
        """
        if len(set(ids)) < len(ids):
            twice = sorted(identity for identity, count in Counter(ids).items() if count > 1)
            raise UsageError(f"ids given twice: {_listed(twice)}")
        bad = [identity for identity in ids if (identity in self.positions) is not there]
        if bad and there:
            raise UsageError(f"no rows with the ids {_listed(bad)}")
        if bad:
            raise UsageError(f"rows with the ids {_listed(bad)} are there; use replace")


def load(
    folder: Path,
    *,
    check: bool,
    rebuild: bool = False,
    part: FaissPart | None = None,
    progress: Progress | None = None,
) -> tuple[Manifest, Stored]:
    """Open the files of an index.

    Parameters
    ----------
    check
        Compare every file's bytes with their sha256; else only their sizes, and the bytes of
        faiss's file, which are always checked before it is read.
    rebuild
        Make the faiss part from the vectors; its file is not looked at, whatever it holds.
    part
        A faiss part that is already in memory, in place of the one in the folder.

    Raises
    ------
    IndexFolderError
        The folder is not a whole index of this version; the message names the file.
    """
    manifest = read_manifest(folder)
    for left in reversed(range(_TRIES)):
        try:
            return manifest, opened(
                folder, manifest, check=check, rebuild=rebuild, part=part, progress=progress
            )
        except IndexFolderError:
            # Another process may have put a new generation in its place meanwhile.
            now = read_manifest(folder)
            if now.generation == manifest.generation or not left:
                raise
            manifest = now
    raise IndexFolderError(f"{folder}: it is replaced again and again; try later")


def opened(
    folder: Path,
    manifest: Manifest,
    *,
    check: bool,
    rebuild: bool,
    part: FaissPart | None,
    progress: Progress | None,
) -> Stored:
    """Open the files that a manifest names, as ``load`` does, once.

    Raises
    ------
    IndexFolderError
        One is missing, damaged, or not what the manifest says; the message names it.
    """
    wants_file = manifest.has_faiss_file and not rebuild and part is None
    names = frozenset({FAISS} if wants_file else ())
    if check:
        names = frozenset(manifest.files) - (set() if wants_file else {FAISS})
    looked_at = manifest
    if rebuild:  # faiss's file need not be there, nor be whole
        files = {name: facts for name, facts in manifest.files.items() if name != FAISS}
        looked_at = msgspec.structs.replace(manifest, files=files)
    verify(folder, looked_at, names=names)
    place = folder / manifest.generation
    rows, width = manifest.rows, manifest.dims
    vectors: Floats32 = _array(place / VECTORS, "<f4", (rows, width))
    offsets = _array(place / OFFSETS, "<i8", (rows + 1,))
    ranks: Positions = _array(place / RANKS, "<i8", (rows,))
    table = Table(str(place / ROWS), _mapped(place / ROWS), offsets)
    if (
        offsets[0] != 0
        or offsets[-1] != manifest.files[ROWS].bytes
        or (np.diff(offsets) < 1).any()
    ):
        raise IndexFolderError(f"{place / OFFSETS}: does not fit {ROWS}; build the index again")
    stack = Stack(width, vectors)
    kind = manifest.resolved
    if wants_file:
        part = FaissPart.read(
            place / FAISS, kind, rows=rows, width=width, similarity=manifest.similarity
        )
    elif part is None and manifest.trained:
        try:
            part = FaissPart.build(
                kind,
                stack,
                similarity=manifest.similarity,
                seed=manifest.seed,
                threads=manifest.threads,
                progress=progress,
            )
        except VectorError as error:
            raise IndexFolderError(f"{place / VECTORS}: {error}; build the index again") from error
    return Stored(stack, table, ranks, part, manifest, where=str(place / VECTORS))


class _Head(NamedTuple):
    """What the beginning of an array's file says, and how large the file is."""

    shape: tuple[int, ...]
    by_columns: bool
    kind: np.dtype[Any]
    start: int
    size: int


def _array(path: Path, dtype: str, shape: tuple[int, ...]) -> Any:
    """Map an array, which must be of just this kind; nothing of it is unpickled or believed."""
    wanted, again = np.dtype(dtype), "build the index again"
    numbers: int = math.prod(shape)
    with _file_of(path) as file:
        head = _head(path, file)
        if head.kind != wanted:
            raise IndexFolderError(f"{path}: not an array of {dtype}; {again}")
        if head.by_columns and numbers:
            raise IndexFolderError(
                f"{path}: holds its columns one after the other, not its rows; {again}"
            )
        if head.shape != shape:
            raise IndexFolderError(f"{path}: shape {head.shape}, expected {shape}; {again}")
        if head.size != head.start + wanted.itemsize * numbers:
            raise IndexFolderError(f"{path}: not an array: it has {head.size:,} bytes; {again}")
        if not numbers:  # an array without numbers cannot be mapped
            return np.empty(shape, wanted)
        return np.memmap(file, wanted, "r", head.start, shape)


@contextmanager
def _file_of(path: Path) -> Iterator[IO[bytes]]:
    try:
        with open_plain(path) as file:
            yield file
    except OSError as error:
        raise IndexFolderError(f"{path}: {error.strerror or error}") from error


def _head(path: Path, file: IO[bytes]) -> _Head:
    try:
        found = _HEADERS[np.lib.format.read_magic(file)](file)
        return _Head(*found, file.tell(), os.fstat(file.fileno()).st_size)
    except Exception as error:  # the header is Python, and numpy raises whatever its parts do
        said = next(iter(str(error).splitlines()), "") or type(error).__name__
        raise IndexFolderError(
            f"{path}: not an array: {said:.120}; build the index again"
        ) from error


def _mapped(path: Path) -> Any:
    with _file_of(path) as file:
        if not os.fstat(file.fileno()).st_size:
            return b""
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _listed(ids: Sequence[str]) -> str:
    rest = len(ids) - _SHOWN
    more = f" and {rest} more" if rest > 0 else ""
    return ", ".join(f"{identity!r:.60}" for identity in ids[:_SHOWN]) + more

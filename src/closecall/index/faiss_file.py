"""faiss's own file, looked through before faiss reads it.

faiss is C++ and believes its files: a length that lies, or a row that links to one that is not
there, ends in memory that is not its own. A checksum only says that nobody changed the file after
somebody wrote it. So every length, number and link of the few kinds that are written here is
compared with what ``index.json`` says and with each other, and a file with anything else in it is
refused. Vectors and codes may be any numbers: they decide what is proposed, and every proposal is
scored from the rows' own vectors.

The layouts are those of faiss's ``impl/index_write.cpp``, all numbers little-endian.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closecall.errors import IndexFolderError
from closecall.index.kinds import Kind

_BLOCK = 1 << 22
"""Numbers that are looked at together."""

_PQ_BITS = 8
_L2 = 1


class _WrongError(ValueError):
    """What is wrong with a file, in words."""


def check_faiss_file(path: Path, kind: Kind, *, rows: int, width: int, metric: int) -> None:
    """Do nothing if the file holds a sound index of this kind, rows, width and metric of faiss.

    Reads the file once where rows link to each other (kind ``hnsw``), otherwise the positions of
    rows and little else.

    Raises
    ------
    IndexFolderError
        It does not; the message names the file and what is wrong.
    """
    try:
        file = _File(np.memmap(path, np.uint8, "r"))
        _CHECKS[kind.name](file, kind, _Facts(rows, width, metric))
        if file.at != len(file.data):
            raise _WrongError("something follows the index")
    except (ValueError, OSError) as error:  # the former also of an empty file
        raise IndexFolderError(
            f"{path}: not a file of faiss {kind.name} as it is written here: {error}; "
            "build the index again"
        ) from error


class _Facts:
    """What every part of the file has to agree with."""

    def __init__(self, rows: int, width: int, metric: int) -> None:
        self.rows, self.width, self.metric = rows, width, metric

    def of_rows(self, rows: int) -> _Facts:
        return _Facts(rows, self.width, self.metric)


class _File:
    """A file's bytes, and how far it has been read."""

    def __init__(self, data: NDArray[np.uint8]) -> None:
        self.data, self.at = data, 0

    def array(self, dtype: str, count: int, what: str) -> NDArray[Any]:
        """Return the next ``count`` numbers."""
        kind = np.dtype(dtype)
        if count > (len(self.data) - self.at) // kind.itemsize:
            raise _WrongError(f"{what}: the file ends before it")
        found: NDArray[Any] = np.frombuffer(self.data, kind, count, self.at) if count else _NONE
        self.at += count * kind.itemsize
        return found

    def number(self, dtype: str, what: str) -> int:
        """Return the next whole number."""
        return int(self.array(dtype, 1, what)[0])

    def expect(self, dtype: str, wanted: int, what: str) -> None:
        """Read a number that has to be this one."""
        found = self.number(dtype, what)
        if found != wanted:
            raise _WrongError(f"{what} is {found}, expected {wanted}")

    def word(self, *wanted: str) -> str:
        """Read the four letters a part begins with."""
        found = self.array("u1", 4, "the kind").tobytes()
        if found.decode("latin-1") not in wanted:
            raise _WrongError(f"a part is {found!r}, expected {' or '.join(wanted)}")
        return found.decode("latin-1")

    def vector(self, dtype: str, count: int, what: str) -> NDArray[Any]:
        """Read how many numbers follow, which have to be so many, and return them."""
        self.expect("<u8", count, f"the length of {what}")
        return self.array(dtype, count, what)


_NONE: NDArray[Any] = np.empty(0, np.uint8)


def _header(file: _File, facts: _Facts) -> None:
    file.expect("<i4", facts.width, "the width")
    file.expect("<i8", facts.rows, "the number of rows")
    file.array("<i8", 2, "the header")  # which nobody reads
    file.expect("u1", 1, "whether it is trained")
    file.expect("<i4", facts.metric, "the metric")


def _flat(file: _File, facts: _Facts) -> None:
    file.word("IxF2" if facts.metric == _L2 else "IxFI")
    _header(file, facts)
    file.vector("<f4", facts.rows * facts.width, "vectors")


def _scalar(file: _File, kind: Kind, facts: _Facts) -> None:
    code = "QT_8bit" if kind.name == "sq8" else "QT_fp16"
    a_row = facts.width * (1 if kind.name == "sq8" else 2)
    file.word("IxSQ")
    _header(file, facts)
    file.expect("<i4", int(getattr(_faiss().ScalarQuantizer, code)), "the type of the codes")
    file.expect("<i4", 0, "how ranges are found")
    file.array("<f4", 1, "how ranges are found")
    file.expect("<u8", facts.width, "the width of what is coded")
    file.expect("<u8", a_row, "the bytes of a code")
    file.vector("<f4", 2 * facts.width if kind.name == "sq8" else 0, "ranges")
    file.vector("u1", facts.rows * a_row, "codes")


def _lists(file: _File, kind: Kind, facts: _Facts) -> None:
    count = kind.options["nlist"]
    coded = kind.name == "ivfpq"
    file.word("IwPQ" if coded else "IwFl")
    _header(file, facts)
    file.expect("<u8", count, "the number of lists")
    if not 1 <= file.number("<u8", "lists to look at") <= count:
        raise _WrongError("it looks at more lists than there are")
    _flat(file, facts.of_rows(count))
    file.expect("u1", 0, "the map of rows")
    file.vector("<i8", 0, "the map of rows")
    a_row = 4 * facts.width
    if coded:
        a_row = kind.options["m"]
        file.expect("u1", 1, "whether what is coded is what is left")
        file.expect("<u8", a_row, "the bytes of a code")
        file.expect("<u8", facts.width, "the width of what is coded")
        file.expect("<u8", a_row, "the parts of a code")
        file.expect("<u8", _PQ_BITS, "the bits of a part")
        file.vector("<f4", facts.width << _PQ_BITS, "centres of the codes")
    file.word("ilar")
    file.expect("<u8", count, "the number of lists")
    file.expect("<u8", a_row, "the bytes of a row")
    seen = np.zeros(facts.rows, np.bool_)
    for size in _sizes(file, count, facts.rows).tolist():
        file.array("u1", size * a_row, "rows of a list")
        _mark(file.array("<i8", size, "positions of a list"), seen)
    if not seen.all():
        raise _WrongError("a row is in no list")


def _sizes(file: _File, count: int, rows: int) -> NDArray[Any]:
    """Return the sizes of the lists, which are written for all or for those with rows."""
    if file.word("full", "sprs") == "full":
        sizes = file.vector("<u8", count, "sizes of lists")
    else:
        length = file.number("<u8", "the length of sizes")
        if length > 2 * count or length % 2:
            raise _WrongError(f"sizes are given of {length / 2:g} lists, and there are {count}")
        pairs = file.array("<u8", length, "sizes of lists").reshape(-1, 2)
        places = pairs[:, 0]
        if len(places) and (places.max() >= count or (places[1:] <= places[:-1]).any()):
            raise _WrongError("sizes are not those of the lists in order")
        sizes = pairs[:, 1]
    if len(sizes) and sizes.max() > rows:
        raise _WrongError("a list has more rows than there are")
    return sizes


def _mark(positions: NDArray[Any], seen: NDArray[np.bool_]) -> None:
    """Note the rows of a list; each is in one."""
    if not len(positions):
        return
    if positions.min() < 0 or positions.max() >= len(seen):
        raise _WrongError("a list holds a row that is not there")
    if seen[positions].any() or len(np.unique(positions)) < len(positions):
        raise _WrongError("a row is in two lists")
    seen[positions] = True


def _graph(file: _File, kind: Kind, facts: _Facts) -> None:
    rows, links = facts.rows, kind.options["m"]
    file.word("IHNf")
    _header(file, facts)
    # What a new graph of so many links has: which levels there are, and the links of each.
    faiss = _faiss()
    new = faiss.IndexHNSWFlat(1, links)  # which owns what is copied out of it
    chances = faiss.vector_to_array(new.hnsw.assign_probas)
    ends = np.array([0, *(links * (level + 2) for level in range(len(chances)))])
    if not np.array_equal(file.vector("<f8", len(chances), "chances of levels"), chances):
        raise _WrongError(f"chances of levels are not those of {links} links")
    if not np.array_equal(file.vector("<i4", len(ends), "links of levels"), ends):
        raise _WrongError(f"links of levels are not those of {links} links")
    levels = file.vector("<i4", rows, "levels").astype(np.int64)
    if rows and not (levels.min() >= 1 and levels.max() <= len(chances)):
        raise _WrongError("a row is on a level that is not there")
    offsets = file.vector("<u8", rows + 1, "places of links")
    if offsets[0] != 0 or not np.array_equal(np.diff(offsets), ends[levels]):
        raise _WrongError("places of links are not those of the levels")
    neighbours = file.vector("<i4", int(offsets[-1]), "links")
    for at in range(0, len(neighbours), _BLOCK):
        some = neighbours[at : at + _BLOCK]
        if some.min() < -1 or some.max() >= rows:
            raise _WrongError("a row links to one that is not there")
    _check_levels(levels, offsets, neighbours, ends)
    entry, top = file.number("<i4", "the entry"), file.number("<i4", "the highest level")
    if not 0 <= entry < rows or not 0 <= top == levels.max() - 1 == levels[entry] - 1:
        raise _WrongError("it is not entered at a row of the highest level")
    file.expect("<i4", kind.options["ef_construction"], "rows held open")
    if file.number("<i4", "rows held open") < 1 or file.number("<i4", "the beam") < 1:
        raise _WrongError("it holds no row open")
    _flat(file, facts)


def _check_levels(
    levels: NDArray[Any], offsets: NDArray[Any], neighbours: NDArray[Any], ends: NDArray[Any]
) -> None:
    """See that links of a level lead to rows that are on it."""
    for level in range(1, int(levels.max(initial=1))):
        there = np.flatnonzero(levels > level)
        step = max(1, _BLOCK // int(ends[level + 1] - ends[level]))
        for at in range(0, len(there), step):
            starts = offsets[there[at : at + step]].astype(np.int64)
            places = starts[:, None] + np.arange(ends[level], ends[level + 1])
            linked = neighbours[places]
            if (levels[linked[linked >= 0]] <= level).any():
                raise _WrongError("a link leads to a row that is not on its level")


def _faiss() -> Any:
    return importlib.import_module("faiss")


_CHECKS: dict[str, Any] = {
    "hnsw": _graph,
    "ivf": _lists,
    "ivfpq": _lists,
    "sq8": _scalar,
    "sqfp16": _scalar,
}

"""``index.json``: what an index is made of, and the sha256 of every file.

The checksums guard against damage. They do not guard against whoever builds a folder to do harm,
who can make them fit: faiss reads its own file in C++ and was not written for hostile input, so
``faiss_file`` looks at every length and position in it first. The kinds ``exact`` and ``flat``
have no such file, and ``open_index(..., rebuild=True)`` makes it again from the vectors.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from closecall.datasets._strict import decode_row
from closecall.errors import IndexFolderError, UsageError
from closecall.index.kinds import EXACT, KINDS, LEAST_A_LIST, Kind, kind_named
from closecall.index.products import Similarity
from closecall.index.recall import Recall
from closecall.instrument import Instrument, canonical_json
from closecall.there import is_dir, is_file

NAME = "index.json"
FORMAT = "closecall-index/"
SCHEMA = f"{FORMAT}1"

VECTORS = "vectors.npy"
ROWS = "rows.jsonl"
OFFSETS = "offsets.npy"
RANKS = "ranks.npy"
FAISS = "index.faiss"
FILES = (VECTORS, ROWS, OFFSETS, RANKS)
"""Files every index has; ``FAISS`` stands beside them where the kind has one."""

GENERATION = re.compile(r"v[1-9][0-9]{0,17}")
MAX_BYTES = 1 << 24
MAX_DIMS = 1 << 16
MOST_THREADS = 1024
"""Threads that link a graph; each takes memory before it does anything."""
_HEX = re.compile(r"[0-9a-f]{64}")


class FileFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Size and sha256 (hex) of one file."""

    bytes: int
    sha256: str


class LeftOut(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rows that were given and have no vector: how many, and the first with their reasons."""

    count: int = 0
    first: tuple[tuple[str, str], ...] = ()


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything in ``index.json`` but the digest over it.

    ``kind`` is what was asked for, ``options`` what it came to, ``trained`` the rows that faiss
    was trained for (0: the rows are searched exactly). ``length`` and ``peak`` are the greatest
    length and the largest component of a vector, ``embedder`` is the name that the builder's
    embedder was loaded by, empty where it is not known.
    """

    schema: str
    generation: str
    kind: str
    options: dict[str, int]
    why: str
    similarity: Similarity
    rows: int
    dims: int
    trained: int
    seed: int
    threads: int
    length: float
    peak: float
    instrument: Instrument | None
    instrument_digest: str
    recall: Recall | None
    left_out: LeftOut
    files: dict[str, FileFacts]
    embedder: str = ""

    @property
    def resolved(self) -> Kind:
        """The kind with every option chosen."""
        return Kind(kind_named(self.kind).name, dict(self.options))

    @property
    def has_faiss_file(self) -> bool:
        """Whether faiss wrote a file of its own."""
        return self.trained > 0 and not KINDS[kind_named(self.kind).name].exact


def written(manifest: Manifest) -> str:
    """Return the text of ``index.json``, with its digest; the same index gives the same text."""
    document = msgspec.to_builtins(manifest)
    lines = [f"  {_text(key)}: {_text(value)}" for key, value in document.items()]
    lines.append(f'  "digest": "{_digest(document)}"')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def read_manifest(folder: Path) -> Manifest:
    """Read and check ``index.json``.

    Raises
    ------
    IndexFolderError
        There is none, it is of another version, was edited, or contradicts itself.
    """
    place = folder / NAME
    document, problems = decode_row(_bytes_of(folder))
    if document is None:
        raise IndexFolderError(f"{place}: damaged: {problems[0][1]}; build the index again")
    _require_version(place, document.get("schema"))
    digest = document.pop("digest", None)
    if digest != _digest(document):
        raise IndexFolderError(
            f"{place}: damaged or edited after it was written: its digest does not fit what it "
            "holds; build the index again"
        )
    try:
        found = msgspec.convert(document, Manifest)
    except (msgspec.ValidationError, ValueError, OverflowError) as error:
        raise IndexFolderError(f"{place}: not an index: {error}") from error
    if flaw := _flaw(found):
        raise IndexFolderError(f"{place}: {flaw}; build the index again")
    return found


def _bytes_of(folder: Path) -> bytes:
    place = folder / NAME
    try:
        if not is_dir(folder):
            raise IndexFolderError(
                f"{folder}: no index: there is no such folder; "
                "make one with: closecall index build"
            )
        if place.is_symlink():
            raise IndexFolderError(
                f"{place}: a link, where a file was written; build the index in a new folder"
            )
        if not is_file(place):
            raise IndexFolderError(f"{folder}: no index: it holds no {NAME}")
        if place.stat().st_size > MAX_BYTES:
            raise IndexFolderError(f"{place}: more than {MAX_BYTES:,} bytes, too large")
        return place.read_bytes()
    except (OSError, ValueError) as error:
        if isinstance(error, IndexFolderError):
            raise
        raise IndexFolderError(f"{place}: {getattr(error, 'strerror', None) or error}") from error


def _require_version(place: Path, schema: Any) -> None:
    if schema == SCHEMA:
        return
    if isinstance(schema, str) and schema.startswith(FORMAT):
        raise IndexFolderError(
            f"{place}: schema {schema!r:.60}: this version of closecall reads {SCHEMA}; "
            "upgrade closecall, or build the index again"
        )
    raise IndexFolderError(f"{place}: not an index of closecall: schema is {schema!r:.60}")


def _flaw(found: Manifest) -> str | None:
    """Return the first thing in which the members contradict each other."""
    return next(_flaws(found), None)


def _flaws(found: Manifest) -> Iterator[str]:
    try:
        name = kind_named(found.kind).name
    except UsageError as error:
        yield f"kind: {error}"
        return
    known = KINDS[name].options
    if set(found.options) != set(known) or any(
        not known[option].least <= value <= known[option].most
        for option, value in found.options.items()
    ):
        yield f"options: not those of {name}"
        return
    if not GENERATION.fullmatch(found.generation):
        yield f"generation: {found.generation!r:.60} is no name of a folder in it"
    if found.rows < 0 or not (1 if found.rows else 0) <= found.dims <= MAX_DIMS:
        yield f"rows {found.rows}, dims {found.dims}: out of range"
    counted = 0 <= found.trained <= found.rows
    if not counted or found.seed < 0 or not 1 <= found.threads <= MOST_THREADS:
        yield "trained, seed or threads: out of range"
    if found.trained:
        yield from _part_flaws(found.options, name, found.trained, found.dims)
    yield from _count_flaws(found)
    yield from _file_flaws(found)
    if (found.instrument.digest if found.instrument else "") != found.instrument_digest:
        yield "instrument: its digest does not fit it"
    if found.instrument and found.rows and found.instrument.dims != found.dims:
        yield f"instrument: dims is {found.instrument.dims}, the vectors have {found.dims}"


def _part_flaws(options: dict[str, int], name: str, rows: int, dims: int) -> Iterator[str]:
    """Yield what faiss cannot make, or only with memory out of proportion to the rows."""
    if name == EXACT or rows < KINDS[name].least_rows:
        yield f"trained: {name} is not made of {rows} rows"
    lists = options.get("nlist", 1)
    if lists > max(1, rows // LEAST_A_LIST) or options.get("nprobe", 1) > lists:
        yield "options: more lists than its rows can have"
    if name == "ivfpq" and dims % options["m"]:
        yield "options: m does not divide its dims"


def _count_flaws(found: Manifest) -> Iterator[str]:
    if found.recall is not None and not found.recall.adds_up:
        yield "recall: its counts do not add up"
    if found.left_out.count < len(found.left_out.first):
        yield "left_out: its counts do not add up"


def _file_flaws(found: Manifest) -> Iterator[str]:
    files = {*FILES, FAISS} if found.has_faiss_file else set(FILES)
    if set(found.files) != files:
        yield f"files: expected {', '.join(sorted(files))}"
    for file, facts in found.files.items():
        if facts.bytes < 0 or not _HEX.fullmatch(facts.sha256):
            yield f"files: {file}: no size and sha256"


def _digest(document: dict[str, Any]) -> str:
    return hashlib.sha256(canonical_json(document)).hexdigest()


def _text(value: Any) -> str:
    return canonical_json(value).decode("utf-8")

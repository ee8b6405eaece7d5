"""The JSON files of a parts folder, read as bounded and strict as those of a run folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from closecall.errors import RunFolderError
from closecall.runs import files, sinks
from closecall.runs.aef import run_document
from closecall.runs.header import RunHeader, ended
from closecall.runs.lines import EXT
from closecall.runs.parts.writing import PART_CASES
from closecall.runs.spent_file import SPENT
from closecall.runs.wire import MAX_FILE, MAX_LINE, Document, dump_document, parse
from closecall.storage import Store

OURS = "closecall"
PARTS = "parts"
"""Under which run.json says, in ``ext``, that its cases lie in parts, and of how many cases."""

MAX_SEAL = MAX_FILE
DOCUMENTS = (files.RUN, files.SUMMARY, files.GATES, files.SEAL, files.ATTESTATION, SPENT)
"""All files beside the parts."""


def run_json(header: RunHeader, size: int, *, ended_at: str | None = None) -> Document:
    """Return run.json of a parts folder, closed where its end is given."""
    facts = {**sinks.run_json(header), "ext": {OURS: {PARTS: {"cases": size}}}}
    return run_document(facts, "running" if ended_at is None else "completed", ended_at=ended_at)


def is_parts(document: Mapping[str, Any]) -> bool:
    """Whether a run.json is that of a parts folder."""
    ext = document.get("ext")
    ours = ext.get(OURS) if isinstance(ext, dict) else None
    return isinstance(ours, dict) and isinstance(ours.get(PARTS), dict)


def read_document(store: Store, name: str, limit: int = MAX_LINE) -> Document:
    """Read a JSON file; ``RunFolderError`` names it and what is wrong."""
    place = f"{store.place}/{name}"
    if store.size(name) > limit:
        raise RunFolderError(f"{place}: is larger than {limit} bytes")
    try:
        return parse(store.read(name))
    except ValueError as error:
        raise RunFolderError(f"{place}: {error}") from error


def read_lines(store: Store, name: str) -> Iterator[tuple[int, Document]]:
    """Yield the lines of a small file with their numbers."""
    place = f"{store.place}/{name}"
    if store.size(name) > MAX_LINE:
        raise RunFolderError(f"{place}: is larger than {MAX_LINE} bytes")
    data = store.read(name)
    if data and not data.endswith(b"\n"):
        raise RunFolderError(f"{place}: ends without a line feed")
    for number, line in enumerate(data.split(b"\n")[:-1], 1):
        try:
            yield number, parse(line)
        except ValueError as error:
            raise RunFolderError(f"{place}:{number}: {error}") from error


def run_document_of(store: Store) -> Document:
    """Return run.json of a parts folder.

    Raises
    ------
    RunFolderError
        There is none, it is that of a run folder, or it cannot be understood.
    """
    if not store.exists(files.RUN):
        raise RunFolderError(
            f"{store.place}: holds no run (there is no {files.RUN}). Start one with: closecall "
            f"eval FILE --parts {store.place}"
        )
    found = read_document(store, files.RUN)
    if not is_parts(found) or found.get("status") not in ("running", "completed"):
        raise RunFolderError(f"{store.place}/{files.RUN}: is not that of a parts folder")
    return found


def header_in(store: Store, document: Document | None = None) -> RunHeader:
    """Return the header of the run that is there, finished or not."""
    found = run_document_of(store) if document is None else document
    try:
        header = RunHeader.from_json(found["config"][EXT])
    except (KeyError, TypeError, msgspec.ValidationError) as error:
        raise RunFolderError(
            f"{store.place}/{files.RUN}: not a run of closecall: {error}"
        ) from error
    return ended(header, found.get("endedAt"), f"{store.place}/{files.RUN}")


def size_in(document: Document) -> int:
    """Return how many cases a part of this run has."""
    size = document["ext"][OURS][PARTS].get("cases")
    sound = isinstance(size, int) and not isinstance(size, bool) and size > 0
    return size if sound else PART_CASES


def begin(store: Store, header: RunHeader, size: int) -> None:
    """Write run.json of a run that begins.

    Raises
    ------
    RunFolderError
        The place holds something already.
    """
    elsewhere = "Choose another place: --parts DIR"
    names = store.names()
    if files.RUN in names:
        raise RunFolderError(
            f"{store.place}: already holds a run. Continue it with: closecall eval --resume "
            f"{store.place}; or choose another place: --parts DIR"
        )
    if names:
        raise RunFolderError(f"{store.place}: is not empty. {elsewhere}")
    if not store.create(files.RUN, dump_document(run_json(header, size))):
        raise RunFolderError(f"{store.place}: another process began a run there. {elsewhere}")

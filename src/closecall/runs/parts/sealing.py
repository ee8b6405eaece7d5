"""Closing a parts folder: summary, gates, header and seal; and whether the seal still holds."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from closecall.errors import RunFolderError, StorageError
from closecall.runs import files
from closecall.runs.aef import FileDigest, seal_document
from closecall.runs.header import RunHeader
from closecall.runs.parts.documents import (
    MAX_SEAL,
    read_document,
    run_document_of,
    run_json,
    size_in,
)
from closecall.runs.parts.ranges import part_named, parts_in, whole
from closecall.runs.values import now_utc
from closecall.runs.wire import SCHEMA_VERSION, Document, dump_document, dump_line
from closecall.storage import Store

_CHUNK = 1024 * 1024
_UNSEALED = frozenset({files.SEAL, files.ATTESTATION})


def close_parts(
    store: Store,
    header: RunHeader,
    *,
    summary: Mapping[str, Any],
    gates: Sequence[Mapping[str, Any]] = (),
    ended_at: str | None = None,
) -> None:
    """Write summary and gates, say in the header that the run ended, and seal all of it.

    Killed half-way, it can be called again. A run that another process has closed meanwhile stays
    as that one sealed it.

    Raises
    ------
    RunFolderError
        Cases are missing.
    StorageError
        The place cannot be written.
    """
    before = run_document_of(store)
    if before["status"] == "completed" and _stands(store, header, before):
        return
    parts = whole(parts_in(store), header.first, header.first + header.cases, store.place)
    wanted = {part.name for part in parts}
    for part in parts_in(store):
        if part.name not in wanted:  # two processes went on with the run, and one sufficed
            store.remove(part.name)
    store.write(
        files.SUMMARY,
        dump_document({"schemaVersion": SCHEMA_VERSION, "runId": header.run_id, **summary}),
    )
    if gates:
        store.write(files.GATES, b"".join(map(dump_line, gates)))
    else:
        store.remove(files.GATES)
    run = run_json(header, size_in(before), ended_at=ended_at or now_utc())
    store.remove(files.SEAL)
    store.write(files.RUN, dump_document(run))
    seal(store, run)


def _stands(store: Store, header: RunHeader, run: Document) -> bool:
    """Whether a closed run holds as it was sealed, once parts that came after that are gone."""
    if run.get("runId") != header.run_id or not store.exists(files.SEAL):
        return False
    every = parts_in(store)
    try:
        subject = read_document(store, files.SEAL, MAX_SEAL)["subject"]
        sealed = {str(one["name"]) for one in subject}
        whole(
            [part for part in every if part.name in sealed],
            header.first,
            header.first + header.cases,
            store.place,
        )
    except (RunFolderError, KeyError, TypeError):
        return False
    for part in every:
        if part.name not in sealed:
            store.remove(part.name)
    return not any(seal_problems(store, run))


def seal(store: Store, run: Document) -> None:
    """Write the seal of a closed run."""
    digests = {name: digest_in(store, name) for name in sealed_names(store)}
    store.write(files.SEAL, dump_document(seal_document(run, digests)))


def sealed_names(store: Store) -> list[str]:
    """Return the files that a seal covers."""
    return [name for name in store.names() if name not in _UNSEALED]


def digest_in(store: Store, name: str) -> FileDigest:
    """Return sha256 and size of a file, read in pieces."""
    hashed, size = hashlib.sha256(), 0
    with store.open(name) as file:
        while chunk := file.read(_CHUNK):
            hashed.update(chunk)
            size += len(chunk)
    return FileDigest(hashed.hexdigest(), size)


def seal_problems(store: Store, run: Document) -> Iterator[str]:
    """Yield what is no longer as it was sealed; nothing for a folder without a seal."""
    place = f"{store.place}/{files.SEAL}"
    if not store.exists(files.SEAL):
        return
    from closecall.runs.verify import predicate_of, spelling_problems, told_otherwise

    if run["status"] == "running":
        yield f"{place}: seals a run that {files.RUN} says is still being written"
        return
    try:
        stated = read_document(store, files.SEAL, MAX_SEAL)
        digests = {str(s["name"]): str(s["digest"]["sha256"]) for s in stated["subject"]}
        predicate = predicate_of(stated)
        actual = {name: digest_in(store, name) for name in sealed_names(store)}
        expected = seal_document(run, actual, predicate["sealedAt"])
    except (RunFolderError, StorageError) as error:
        yield str(error)
        return
    except (KeyError, TypeError, AttributeError, ValueError):
        yield f"{place}: is not laid out as a seal of this run"
        return
    yield from _changed(store.place, digests, actual)
    yield from told_otherwise(place, stated, expected)
    yield from spelling_problems(place, store.read(files.SEAL), expected, predicate)


def _changed(
    place: str, sealed: Mapping[str, str], actual: Mapping[str, FileDigest]
) -> Iterator[str]:
    for name in sorted({*sealed, *actual}):
        if name not in actual:
            yield f"{place}/{name}: is missing, the seal names it"
        elif name not in sealed:
            yield f"{place}/{name}: was added after sealing"
        elif sealed[name] != actual[name].sha256:
            yield f"{place}/{name}: was changed after sealing"


def repair(store: Store) -> None:
    """Seal a closed run whose writer was killed before its last move."""
    run = run_document_of(store)
    if run["status"] == "completed" and not store.exists(files.SEAL):
        seal(store, run)


def reopened(store: Store) -> None:
    """Take away what a killed close left of a run that goes on."""
    for name in (files.SEAL, files.SUMMARY, files.GATES):
        store.remove(name)


def strangers(names: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return the files that belong to no run in parts."""
    return [name for name in names if name not in known and part_named(name) is None]

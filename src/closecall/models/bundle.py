"""A model in one file, to be carried to a machine without a network."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from closecall._version import __version__
from closecall.errors import ModelError, ModelIntegrityError, UsageError
from closecall.models import store
from closecall.models.bundle_format import (
    BLOCK,
    CACHE,
    CALIBRATIONS,
    COMPILED,
    MANIFEST,
    MODEL,
    PUBLISHED,
    Manifest,
    Member,
    header,
    manifest_bytes,
    new_manifest,
    padding,
)
from closecall.models.cards import CARD_FILE
from closecall.models.hashing import hash_file
from closecall.models.published import RECORD_FILE, find_published
from closecall.models.verifying import verify_named
from closecall.plain import open_plain
from closecall.there import exists, is_file

BESIDE = ("LICENSE", "NOTICE", "README.md")
"""Files that are carried along with a compiled model where they stand in its folder."""

_CHUNK = 1 << 20


class Source(NamedTuple):
    """A model's folder, what is in it, and what it says of itself."""

    name: str
    kind: str
    source: str
    revision: str
    folder: Path
    files: tuple[str, ...]


def find_source(name: str) -> Source:
    """Return the model of that name, compiled or as it was published, every file verified.

    Raises
    ------
    UnknownNameError, ModelError
        If there is none, or its card cannot be used.
    ModelIntegrityError
        If a file is not the one recorded.
    """
    bad = [check for check in verify_named(name) if not check.ok]
    if bad:
        raise ModelIntegrityError(f"{bad[0].problem}. Nothing was bundled")
    published = find_published(store.store_folder(), name)
    if published is not None:
        model = published.model
        files = (RECORD_FILE, *(entry.path for entry in model.files))
        return Source(model.name, PUBLISHED, model.repo, model.revision, published.folder, files)
    found = store.find_model(name)
    card = found.card
    # No hash covers these, so one that is a link would carry whatever it leads to.
    beside = [one for one in BESIDE if _is_own_file(found.folder / one)]
    files = (CARD_FILE, *(entry.name for entry in card.files), *beside)
    return Source(card.name, COMPILED, card.source, card.revision, found.folder, files)


def bundle(
    source: Source,
    output: Path,
    *,
    calibrations: Sequence[Path] = (),
    cache: Path | None = None,
    force: bool = False,
) -> Manifest:
    """Write a model to one file; the same model gives the same bytes.

    Parameters
    ----------
    source
        The model.
    output
        The file; it appears whole or not at all.
    calibrations
        Files to carry along, under their own names.
    cache
        A file of vectors to carry along.
    force
        Whether to replace a file that is there.

    Raises
    ------
    UsageError
        If the file is there, or two calibrations have one name or a name no bundle may hold.
    ModelError
        If something cannot be read or written.
    """
    if exists(output) and (not is_file(output) or not force):
        raise UsageError(f"{output}: already there; name another file, or replace it with --force")
    places = {f"{MODEL}{name}": source.folder / name for name in source.files}
    for path in calibrations:
        place = f"{CALIBRATIONS}{path.name}"
        if place in places:
            raise UsageError(f"two calibrations are called {path.name}; rename one")
        places[place] = path
    if cache is not None:
        places[CACHE] = cache
    members = []
    for place, path in places.items():
        hashed = hash_file(path)
        members.append(Member(place, hashed.sha256, hashed.size))
    try:
        manifest = new_manifest(
            producer=f"closecall {__version__}",
            name=source.name,
            kind=source.kind,
            source=source.source,
            revision=source.revision,
            members=members,
        )
    except ValueError as error:
        raise UsageError(f"cannot be bundled: {error}") from None
    with _whole(output) as stream:
        data = manifest_bytes(manifest)
        stream.write(header(MANIFEST, len(data)) + data + bytes(padding(len(data))))
        for member in manifest.members:
            _add(stream, member, places[member.path])
        stream.write(bytes(2 * BLOCK))
    return manifest


def _is_own_file(path: Path) -> bool:
    return not path.is_symlink() and is_file(path)


def _add(stream: IO[bytes], member: Member, path: Path) -> None:
    """Write one file, and refuse it if it is no longer what the manifest says."""
    stream.write(header(member.path, member.size))
    digest, size = hashlib.sha256(), 0
    try:
        opened = open_plain(path)
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror or error}") from error
    with opened as file:
        while data := file.read(_CHUNK):
            size += len(data)
            digest.update(data)
            stream.write(data)
    if (digest.hexdigest(), size) != (member.sha256, member.size):
        raise ModelError(f"{path}: changed while it was read; start again")
    stream.write(bytes(padding(size)))


@contextmanager
def _whole(output: Path) -> Iterator[IO[bytes]]:
    """Open a file that takes the place of ``output`` once the block ends without an error."""
    temporary: Path | None = None
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=output.parent, prefix=".closecall-")
        temporary = Path(name)
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        mask = os.umask(0o077)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(output)
        temporary = None
    except OSError as error:
        raise ModelError(f"{output}: cannot be written: {error.strerror or error}") from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)

"""A model out of one file: everything is checked before anything is put into place.

The file may come from anywhere, so its members are read by what the manifest allows and no more:
no links, no devices, no path but a plain one, no byte that no hash covers.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from closecall.errors import ModelError, ModelIntegrityError, UsageError
from closecall.models import store
from closecall.models.bundle import BESIDE
from closecall.models.bundle_format import (
    BLOCK,
    CACHE,
    CALIBRATIONS,
    COMPILED,
    MANIFEST,
    MODEL,
    MOST_BYTES,
    MOST_MANIFEST,
    Manifest,
    Member,
    padding,
    parse_manifest,
    read_header,
)
from closecall.models.cards import CARD_FILE, read_card
from closecall.models.choosing import is_allowed
from closecall.models.hashing import hash_file
from closecall.models.placing import UNBUNDLING, placing, working
from closecall.models.published import RECORD_FILE, read_published
from closecall.there import exists, is_dir, is_file

_CHUNK = 1 << 20


class Unpacked(NamedTuple):
    """A bundle, read and checked, in a folder of its own that goes away again."""

    manifest: Manifest
    folder: Path

    @property
    def calibrations(self) -> list[Path]:
        """The calibrations it carries."""
        return [
            self.folder / member.path
            for member in self.manifest.members
            if member.path.startswith(CALIBRATIONS)
        ]

    @property
    def cache(self) -> Path | None:
        """The file of vectors it carries, or None."""
        path = self.folder / CACHE
        return path if is_file(path) else None

    @property
    def names(self) -> tuple[str, ...]:
        """The names its model answers to."""
        if self.manifest.kind != COMPILED:
            return (self.manifest.name,)
        card = read_card(self.folder / MODEL / CARD_FILE)
        return (card.name, *card.aliases)


@contextmanager
def unpacked(path: Path, beside: Path, *, most: int = MOST_BYTES) -> Iterator[Unpacked]:
    """Yield a bundle's content, checked in full, in a folder made in ``beside``.

    Raises
    ------
    ModelIntegrityError
        If a byte of it is not what the manifest says.
    ModelError
        If it cannot be read, is not a bundle, holds what no bundle may, or is larger than
        ``most``; or if ``beside`` cannot be written.
    """
    with working(beside, UNBUNDLING) as work:
        try:
            manifest = _unpack(path, work, most)
            _check_model(manifest, work / MODEL)
        except ModelIntegrityError as error:
            raise ModelIntegrityError(f"{path}: {error}") from None
        except ModelError as error:
            raise ModelError(f"{path}: {error}") from None
        yield Unpacked(manifest, work)


def same_as_here(found: Unpacked) -> Path | None:
    """Return the folder of a model on this machine with the very files of the bundle, or None."""
    members = {
        member.path.removeprefix(MODEL): (member.sha256, member.size)
        for member in found.manifest.members
        if member.path.startswith(MODEL)
    }
    record = CARD_FILE if found.manifest.kind == COMPILED else RECORD_FILE
    for _, root in store.places():
        folder = root / found.manifest.name
        try:
            if is_file(folder / record) and all(
                _hashed(folder / name) == expected for name, expected in members.items()
            ):
                return folder
        except (OSError, ModelError):
            continue
    return None


def _hashed(path: Path) -> tuple[str, int]:
    found = hash_file(path)
    return found.sha256, found.size


def install(found: Unpacked, *, to: Path | None = None, force: bool = False) -> Path:
    """Move the model of an unpacked bundle into the store, or to a folder; return its place.

    Raises
    ------
    UsageError
        If its name is taken or the folder is there, and ``force`` does not allow to replace it.
    ModelError
        If the place cannot be written.
    """
    if to is None:
        place = store.place_for(found.manifest.name)
        store.require_free(found.names, place, force=force)
    else:
        place = to
        if place.is_symlink() or (exists(place) and not force):
            raise UsageError(f"--to {place}: already there; name another, or replace it: --force")
        if exists(place) and not _holds_model(place):
            raise UsageError(
                f"--to {place}: something is there, and no model; name another folder"
            )
    with placing(place) as new:
        shutil.move(found.folder / MODEL, new)
    return place


def _holds_model(place: Path) -> bool:
    """Return whether a folder may give way: it holds a model, or nothing at all."""
    if not is_dir(place):
        return False
    return is_file(place / CARD_FILE) or is_file(place / RECORD_FILE) or not any(place.iterdir())


def _unpack(path: Path, work: Path, most: int) -> Manifest:
    try:
        if not is_file(path):
            raise ModelError("no such file" if not exists(path) else "not a file")
        size = path.stat().st_size
        if size > most:
            raise ModelError(f"{size:,} bytes, more than the {most:,} that are allowed")
        with path.open("rb") as stream:
            manifest = _manifest(stream)
            total = sum(member.size for member in manifest.members)
            if total > size:
                raise ModelError("holds fewer bytes than its manifest says: not copied whole")
            if total > shutil.disk_usage(work).free:
                raise ModelError(f"{total / 1e9:.2f} GB have no room in {work.parent}")
            for member in manifest.members:
                _take(stream, member, work)
            _require_end(stream)
    except OSError as error:
        raise ModelError(f"cannot be read or unpacked: {error.strerror or error}") from error
    return manifest


def _manifest(stream: IO[bytes]) -> Manifest:
    entry = read_header(stream)
    if entry is None or entry.name != MANIFEST:
        raise ModelError(f"not a bundle: it does not begin with {MANIFEST}")
    if entry.size > MOST_MANIFEST:
        raise ModelError(f"{MANIFEST}: {entry.size:,} bytes are too many")
    data = stream.read(entry.size)
    _skip(stream, entry.size)
    return parse_manifest(data)


def _take(stream: IO[bytes], member: Member, work: Path) -> None:
    """Write the next file, which has to be the one the manifest names next."""
    entry = read_header(stream)
    name = "the end" if entry is None else repr(entry.name[:100])
    if entry is None or entry.name != member.path:
        raise ModelError(f"expected {member.path!r} next, as in {MANIFEST}; found {name}")
    if entry.size != member.size:
        raise ModelIntegrityError(
            f"{member.path}: expected {member.size:,} bytes, found {entry.size:,}"
        )
    target = work / member.path
    target.parent.mkdir(parents=True, exist_ok=True)
    digest, left = hashlib.sha256(), member.size
    with target.open("xb") as file:
        while left:
            data = stream.read(min(_CHUNK, left))
            if not data:
                raise ModelError(f"ends in the middle of {member.path}: it was not copied whole")
            digest.update(data)
            file.write(data)
            left -= len(data)
    if digest.hexdigest() != member.sha256:
        raise ModelIntegrityError(
            f"{member.path}: damaged or changed: expected sha256 {member.sha256}, found "
            f"{digest.hexdigest()}"
        )
    _skip(stream, member.size)


def _skip(stream: IO[bytes], size: int) -> None:
    """Pass over the filling after a file, which hides nothing."""
    filling = stream.read(padding(size))
    if len(filling) < padding(size) or any(filling):
        raise ModelError("a file is followed by something that is neither a file nor filling")


def _require_end(stream: IO[bytes]) -> None:
    if stream.read(2 * BLOCK) != bytes(2 * BLOCK) or stream.read(1):
        raise ModelError(f"holds more than {MANIFEST} names")


def _check_model(manifest: Manifest, folder: Path) -> None:
    """Hold the card in the bundle against the manifest, and refuse files no model has."""
    members = {
        member.path.removeprefix(MODEL): member
        for member in manifest.members
        if member.path.startswith(MODEL)
    }
    beside: tuple[str, ...]
    if manifest.kind == COMPILED:
        card = read_card(folder / CARD_FILE)
        name, beside = card.name, (CARD_FILE, *BESIDE)
        recorded = {entry.name: (entry.sha256, entry.size) for entry in card.files}
    else:
        model = read_published(folder).model
        name, beside = model.name, (RECORD_FILE,)
        recorded = {entry.path: (entry.sha256, entry.size) for entry in model.files}
        odd = [path for path in recorded if not is_allowed(path)]
        if odd:
            raise ModelError(f"{MODEL}{odd[0]}: not a file that a model is made of")
    if name != manifest.name:
        raise ModelError(f"the card is of {name}, {MANIFEST} of {manifest.name}")
    for path, member in members.items():
        if path in beside:
            continue
        if recorded.get(path) != (member.sha256, member.size):
            raise ModelIntegrityError(f"{MODEL}{path}: not the file that the card records")
    missing = sorted(set(recorded) - set(members))
    if missing:
        raise ModelError(f"{MODEL}{missing[0]}: missing")

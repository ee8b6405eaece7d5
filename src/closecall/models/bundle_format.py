"""One file that carries a model: an uncompressed tar with a manifest, read by its 512-byte blocks.

Plain files only, each named in the manifest with its size and sha256; sorted, without times,
owners or links. The same model gives the same bytes. The headers are read one by one, so that
nothing of a hostile file is believed or kept in memory before it was looked at.
"""

from __future__ import annotations

import re
import tarfile
from typing import IO, Any

import msgspec

from closecall.errors import ModelError
from closecall.models.cards import is_model_name
from closecall.models.published import is_inner_path

MANIFEST = "MANIFEST.json"
MODEL, CALIBRATIONS, CACHE = "model/", "calibrations/", "cache/vectors.sqlite3"
COMPILED, PUBLISHED = "compiled", "published"

MOST_BYTES = 100_000_000_000
"""Largest bundle that is read; more can be allowed."""

BLOCK = 512
MOST_MANIFEST = 4_000_000
_MOST_MEMBERS = 2_000
_SCHEMA = "closecall-bundle/1"
_SHA256 = re.compile(r"[0-9a-f]{64}")
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")


class Member(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file of a bundle: where it stands, its sha256 (hex) and size in bytes."""

    path: str
    sha256: str
    size: int


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a bundle holds. ``kind`` of a model is ``compiled`` or ``published``.

    ``name``, ``source`` and ``revision`` are the model's; ``producer`` is the program that made
    the file.
    """

    schema: str
    producer: str
    name: str
    kind: str
    source: str
    revision: str
    members: tuple[Member, ...]

    def __post_init__(self) -> None:
        problems = _problems(self)
        if problems:
            raise ValueError("; ".join(problems[:5]))


def new_manifest(
    *, producer: str, name: str, kind: str, source: str, revision: str, members: list[Member]
) -> Manifest:
    """Return the manifest of a bundle to be written."""
    return Manifest(
        schema=_SCHEMA,
        producer=producer,
        name=name,
        kind=kind,
        source=source,
        revision=revision,
        members=tuple(sorted(members, key=lambda member: member.path)),
    )


def manifest_bytes(manifest: Manifest) -> bytes:
    """Return the manifest as it is written."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"


def parse_manifest(data: bytes) -> Manifest:
    """Return the manifest that a bundle begins with.

    Raises
    ------
    ModelError
        If it is none, of another version, or names something no bundle may hold.
    """
    try:
        raw: Any = msgspec.json.decode(data)
        schema = raw.get("schema") if isinstance(raw, dict) else None
        if schema != _SCHEMA:
            raise ModelError(f"{MANIFEST}: schema: expected {_SCHEMA!r}, got {schema!r:.80}")
        return msgspec.convert(raw, Manifest, strict=True)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise ModelError(f"{MANIFEST}: {str(error)[:300]}") from None


def header(path: str, size: int) -> bytes:
    """Return the block that stands before a file in the tar."""
    entry = tarfile.TarInfo(path)
    entry.size, entry.mode, entry.mtime = size, 0o644, 0
    # GNU's spelling of numbers, for files of 8 GiB and more; names are short by construction.
    return entry.tobuf(tarfile.GNU_FORMAT)


def padding(size: int) -> int:
    """Return the bytes between a file's end and the next block."""
    return -size % BLOCK


def read_header(stream: IO[bytes]) -> tarfile.TarInfo | None:
    """Return the next file's header, None at the end of the archive.

    Raises
    ------
    ModelError
        If it is no header of a plain file.
    """
    block = stream.read(BLOCK)
    if len(block) < BLOCK:
        raise ModelError("ends in the middle: it was not copied whole")
    if not any(block):
        return None
    try:
        entry = tarfile.TarInfo.frombuf(block, "utf-8", "strict")
    except (tarfile.HeaderError, UnicodeDecodeError, ValueError) as error:
        raise ModelError(f"not a bundle: {error}") from None
    # Not isreg(): that counts sparse files and other kinds in, and reads the name to tell.
    if entry.type != tarfile.REGTYPE or entry.linkname:
        raise ModelError(f"{entry.name[:100]!r}: not a plain file, and a bundle holds no other")
    if entry.size < 0:
        raise ModelError(f"{entry.name[:100]!r}: a file of negative size")
    return entry


def _problems(manifest: Manifest) -> list[str]:
    found = []
    if not is_model_name(manifest.name):
        found.append(f"name: {manifest.name[:100]!r} is not a name")
    if manifest.kind not in (COMPILED, PUBLISHED):
        found.append(f"kind: must be {COMPILED} or {PUBLISHED}, got {manifest.kind[:100]!r}")
    if len(manifest.members) > _MOST_MEMBERS:
        found.append(f"members: {len(manifest.members)} are too many")
    for number, member in enumerate(manifest.members):
        if not _is_place(member.path):
            found.append(f"members[{number}].path: {member.path[:100]!r} is not allowed")
        if not _SHA256.fullmatch(member.sha256):
            found.append(f"members[{number}].sha256: must be 64 hexadecimal digits")
        if member.size < 0:
            found.append(f"members[{number}].size: must not be negative")
    paths = [member.path.casefold() for member in manifest.members]
    if len(set(paths)) < len(paths):
        found.append("members: a path stands there twice")
    return found


def _is_place(path: str) -> bool:
    """Return whether a bundle may hold a file of that path."""
    if len(path) > 100:  # noqa: PLR2004 - what fits a header without an extension
        return False
    if path == CACHE:
        return True
    if path.startswith(CALIBRATIONS):
        return _PLAIN.fullmatch(path.removeprefix(CALIBRATIONS)) is not None and is_inner_path(
            path
        )
    return path.startswith(MODEL) and is_inner_path(path.removeprefix(MODEL))

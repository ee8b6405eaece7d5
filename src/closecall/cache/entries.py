"""The records that looking after the cache returns."""

from __future__ import annotations

import msgspec

from closecall.records import JSON, Tokens


class StoredInstrument(msgspec.Struct, frozen=True, kw_only=True):
    """One instrument in the cache: ``rows`` vectors of ``bytes`` in all; days as 2031-01-31."""

    digest: str
    model: str
    provider: str
    rows: int
    bytes: int
    first_used: str
    last_used: str


class CacheInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The cache file: ``bytes`` on disk with its log; ``set_aside`` files are not counted."""

    path: str
    exists: bool
    bytes: int
    rows: int
    instruments: tuple[StoredInstrument, ...] = ()
    set_aside: tuple[str, ...] = ()


class Pruned(msgspec.Struct, frozen=True, kw_only=True):
    """What a pruning or clearing removed, and the bytes on disk around it."""

    path: str
    rows: int
    rows_left: int
    bytes_before: int
    bytes_after: int
    files: tuple[str, ...] = ()


class Difference(msgspec.Struct, frozen=True):
    """A field of the identity (``prefixes.query`` for a part of one) and both its values."""

    field: str
    stored: JSON
    asked: JSON


class OtherEntry(msgspec.Struct, frozen=True, kw_only=True):
    """The same text stored under another identity or role."""

    digest: str
    model: str
    provider: str
    role: str
    last_used: str
    differences: tuple[Difference, ...]


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a text's vector is stored, and if not, what stands there for the same text."""

    hit: bool
    key: str
    digest: str
    model: str
    role: str
    tokens: Tokens | None = None
    others: tuple[OtherEntry, ...] = ()

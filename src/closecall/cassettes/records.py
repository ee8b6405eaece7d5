"""The records that looking after a cassette returns."""

from __future__ import annotations

import msgspec


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """What a cassette holds of one embedder, model or subject.

    ``tokens`` adds up what the recordings say of theirs (seen by an embedder, or of prompt and
    completion together), ``untold`` counts those that say nothing. ``latency_ms`` adds up what
    the requests took when they were recorded; None where no recording says. Times are UTC.
    """

    file: str
    kind: str
    name: str
    digest: str
    names: tuple[str, ...]
    entries: int
    bytes: int
    tokens: int
    untold: int
    latency_ms: float | None
    oldest: str
    newest: str


class Stats(msgspec.Struct, frozen=True, kw_only=True):
    """A cassette: its files, what they hold, and journals of recordings that were cut short."""

    folder: str
    files: int
    entries: int
    bytes: int
    held: tuple[Held, ...]
    journals: tuple[str, ...] = ()


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One request whose recording is ``added``, ``removed`` or ``changed``.

    ``about`` is the beginning of its texts; ``difference`` the first field of the reply that
    differs, empty where a vector does.
    """

    what: str
    file: str
    kind: str
    name: str
    key: str
    about: str
    difference: str = ""


class Pruned(msgspec.Struct, frozen=True, kw_only=True):
    """What a pruning removed, or would remove, and the bytes around it."""

    folder: str
    entries: int
    entries_left: int
    bytes_before: int
    bytes_after: int


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """What was found wrong, each with its place; nothing when the cassette is sound."""

    folder: str
    files: int
    entries: int
    problems: tuple[str, ...]
    more: int = 0


class Like(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded text like one that was looked for; ``likeness`` from 0 to 1, 1 for the same."""

    place: str
    kind: str
    name: str
    field: str
    likeness: float
    difference: str

"""What stands in the cache file: tables, and rows that prove they are what was stored."""

from __future__ import annotations

import hashlib
import json
import struct
import time
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from closecall.embedders.base import Embedded, TextKey, Vector
from closecall.errors import NonFiniteError, ShapeError, UsageError, ZeroVectorError
from closecall.instrument import Instrument, cache_key, canonical_json, text_fingerprint
from closecall.records import Tokens

APPLICATION_ID = 0x43434C56
"""``CCLV`` in the file's header: this SQLite file is a closecall vector cache."""

SCHEMA_VERSION = 1

MAX_DIMS = 1 << 22
"""The width that the longest value read from the file holds."""

PAGE_SIZE = 8192
"""A row of a 384-dimensional model takes 1.7 kB; pages of 4096 bytes would waste a fifth."""

# The day a vector was last used stands apart from the vector, so that noting it once a day
# rewrites a few bytes a row and not the vector's whole page.
TABLES = {
    "instruments": (
        "CREATE TABLE instruments(id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, "
        "identity TEXT NOT NULL, first_used INTEGER NOT NULL)"
    ),
    "vectors": (
        "CREATE TABLE vectors(id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, "
        "instrument INTEGER NOT NULL, fingerprint BLOB NOT NULL, role TEXT NOT NULL, "
        "dims INTEGER NOT NULL, vector BLOB NOT NULL, seen INTEGER, total INTEGER, "
        "windows INTEGER, own INTEGER, unknown INTEGER, checksum BLOB NOT NULL)"
    ),
    "uses": (
        "CREATE TABLE uses(vector INTEGER PRIMARY KEY, instrument INTEGER NOT NULL, "
        "day INTEGER NOT NULL)"
    ),
}
INDEXES = {
    "vectors_fingerprint": "CREATE INDEX vectors_fingerprint ON vectors(fingerprint)",
}
STATEMENTS = (*TABLES.values(), *INDEXES.values())

EXPECTED = frozenset(
    {
        *(("table", name, sql) for name, sql in TABLES.items()),
        *(("index", name, sql) for name, sql in INDEXES.items()),
        ("index", "sqlite_autoindex_instruments_1", None),
        ("index", "sqlite_autoindex_vectors_1", None),
    }
)
"""Every (type, name, sql) the schema may hold. A trigger, a view or another table in the file
means that somebody else wrote to it."""

INSERT_INSTRUMENT = (
    "INSERT OR IGNORE INTO instruments(digest, identity, first_used) VALUES (?, ?, ?)"
)
INSERT_VECTOR = (
    "INSERT OR IGNORE INTO vectors(key, fingerprint, role, dims, vector, seen, total, windows, "
    "own, unknown, checksum, instrument) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
INSERT_USES = (
    "INSERT OR REPLACE INTO uses(vector, instrument, day) "
    "SELECT id, instrument, ? FROM vectors WHERE id > ?"
)
SELECT_VECTORS = (
    "SELECT v.key, i.digest, v.fingerprint, v.role, v.dims, v.vector, v.seen, v.total, "
    "v.windows, v.own, v.unknown, v.checksum, v.id, u.day FROM vectors v "
    "LEFT JOIN instruments i ON i.id = v.instrument LEFT JOIN uses u ON u.vector = v.id "
    "WHERE v.key IN ({})"
)
ROW_ID, LAST_USED = -2, -1
"""Where these two stand in a row of ``SELECT_VECTORS``."""

PreparedRow = tuple[
    bytes,
    bytes,
    str,
    int,
    bytes,
    int | None,
    int | None,
    int | None,
    int | None,
    int | None,
    bytes,
]


class DamagedRowError(Exception):
    """A stored row is not what was once written."""


def today() -> int:
    """Return the day, counted from 1970-01-01 in UTC."""
    return int(time.time() // 86_400)


def day_text(day: int) -> str:
    """Return a stored day as ``2031-01-31``."""
    if not isinstance(day, int):
        raise DamagedRowError("a day is not a day")
    try:
        return time.strftime("%Y-%m-%d", time.gmtime(day * 86_400))
    except (ValueError, OverflowError, OSError) as error:
        raise DamagedRowError("a day is not a day") from error


def identity_text(instrument: Instrument) -> str:
    """Return the instrument's identity as JSON in ASCII: SQLite takes no lone surrogates."""
    return json.dumps(msgspec.to_builtins(instrument), sort_keys=True, allow_nan=False)


def read_identity(digest: str, identity: str) -> dict[str, Any]:
    """Return an instrument's identity as it was stored.

    Raises
    ------
    DamagedRowError
        It is not the identity that gives ``digest``, or lacks what every identity has.
    """
    try:
        fields = json.loads(identity)
        right = hashlib.sha256(canonical_json(fields)).hexdigest() == digest
    except (TypeError, ValueError, RecursionError) as error:
        raise DamagedRowError("an instrument's identity is not JSON") from error
    if not right or not isinstance(fields, dict):
        raise DamagedRowError("an instrument's identity does not give its digest")
    dims = fields.get("dims")
    if (
        not all(isinstance(fields.get(name), str) for name in ("model", "provider"))
        or type(dims) is not int
        or not 0 < dims <= MAX_DIMS
        or not isinstance(fields.get("prefixes", {}), dict)
    ):
        raise DamagedRowError("an instrument's identity is not one of an embedder")
    return fields


def prepare(instrument: Instrument, key: bytes, text: TextKey, value: Embedded) -> PreparedRow:
    """Return the row for one vector, ready to insert.

    Raises
    ------
    UsageError
        ``key`` is not this text's key under this instrument, or a count of tokens is negative.
    VectorError
        The vector is not float32 of shape (dims,), finite and not zero.
    """
    if key != cache_key(instrument, text.role, text.text):
        raise UsageError("a vector's key must come from instrument.cache_key for the same text")
    vector = value.vector
    if vector.shape != (instrument.dims,) or vector.dtype != np.float32:
        raise ShapeError(
            f"a vector of {instrument.model} is float32 of shape ({instrument.dims},); "
            f"got {vector.dtype} of shape {vector.shape}"
        )
    if not np.isfinite(vector).all():
        raise NonFiniteError("a vector with NaN or infinity is never stored")
    if not vector.any():
        raise ZeroVectorError("a zero vector is never stored")
    blob = vector.astype("<f4", copy=False).tobytes()
    role = instrument.effective_role(text.role).value
    fingerprint = text_fingerprint(text.text)
    tokens = value.tokens
    seen = total = windows = own = unknown = None
    if tokens is not None:
        seen, total, windows = tokens.seen, tokens.total, tokens.windows
        own, unknown = tokens.own, tokens.unknown
        if min(seen, total, windows, own, unknown) < 0:
            raise UsageError(f"counts of tokens are never negative, got {tokens}")
    row = (
        key, fingerprint, role, instrument.dims, blob, seen, total, windows, own, unknown,
    )  # fmt: skip
    return (*row, checksum(instrument.digest, row))


def restore(instrument: Instrument, row: tuple[Any, ...]) -> tuple[bytes, Embedded]:
    """Return the key and the value of one row of ``SELECT_VECTORS``, checked.

    The vector is read-only and shares the row's bytes: nothing is copied.

    Raises
    ------
    DamagedRowError
        Something in the row is not what was written, or it is another instrument's.
    """
    key, digest, _, _, dims, blob, *counts, check, _, day = row
    if digest != instrument.digest:
        raise DamagedRowError("a row belongs to another instrument than its key says")
    try:
        expected = checksum(digest, (key, *row[2:-3]))
    except (TypeError, AttributeError, ValueError, struct.error) as error:
        raise DamagedRowError("a row holds a value of the wrong type") from error
    if check != expected:
        raise DamagedRowError("a row's checksum is wrong")
    if dims != instrument.dims or len(blob) != 4 * dims:
        raise DamagedRowError(f"a vector is {len(blob) // 4} wide, not {instrument.dims}")
    if not isinstance(day, int):
        raise DamagedRowError("a vector has no day of last use")
    vector = as_vector(blob)
    vector.flags.writeable = False
    require_sound(vector, counts)
    return key, Embedded(vector, None if counts[0] is None else Tokens(*counts))


def require_sound(vector: Vector, counts: Sequence[int | None]) -> None:
    """Refuse what ``prepare`` never writes; a checksum may fit it all the same.

    Parameters
    ----------
    vector
        float32, (dims,).
    counts
        Seen, total, windows, own and unknown tokens: all of them, from 0, or all None.

    Raises
    ------
    DamagedRowError
        The vector is zero or not finite, or the counts are none.
    """
    # One pass, a tenth of the exact check: with a NaN, an infinity or only zeros, it lies outside
    # these bounds. It may also overflow or vanish for sound vectors of extreme numbers.
    square = np.vdot(vector, vector)
    if not 0.0 < square < np.inf and not (np.isfinite(vector).all() and vector.any()):
        raise DamagedRowError("a vector is zero or not finite")
    told = [count for count in counts if count is not None]
    if told and (len(told) < len(counts) or min(told) < 0):
        raise DamagedRowError("a row's counts of tokens are none")


def as_vector(blob: bytes) -> Vector:
    """Return a stored vector, which shares its bytes where the machine orders them alike."""
    return np.frombuffer(blob, dtype=_STORED).astype(np.float32, copy=False)


def checksum(digest: str, row: tuple[Any, ...]) -> bytes:
    """Return 8 bytes over all that a row says. Guards against damage, not against forgery."""
    key, fingerprint, role, dims, vector, *counts = row
    numbers = [-1 if count is None else count for count in counts] if None in counts else counts
    spelt = role.encode()
    said = (
        digest.encode(),
        _NUMBERS(dims, *numbers),
        _LENGTH(len(key)),
        key,
        _LENGTH(len(fingerprint)),
        fingerprint,
        _LENGTH(len(spelt)),
        spelt,
        _LENGTH(len(vector)),
        vector,
    )
    return hashlib.blake2b(b"".join(said), digest_size=8).digest()


_STORED = np.dtype("<f4")
_NUMBERS = struct.Struct("<6q").pack
_LENGTH = struct.Struct("<q").pack

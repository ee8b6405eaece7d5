"""Vectors of one model from the cache to a file of its own, and from such a file to the cache.

The file is a vector cache like any other. What comes from one that somebody else made is taken
row by row: of the models asked for, with a checksum that fits, and nothing else. As with the
model itself, whether the vectors are right is a matter of where the file comes from: a checksum
guards against damage, not against forgery.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from closecall.cache import schema
from closecall.cache.database import transaction
from closecall.cache.maintenance import present, require
from closecall.cache.vectors import VectorCache
from closecall.errors import ConfigurationError, ModelError

T = TypeVar("T")

_ROWS = (
    "SELECT key, fingerprint, role, dims, vector, seen, total, windows, own, unknown, checksum "
    "FROM vectors WHERE instrument = ?"
)


class Files(NamedTuple):
    """The sha256 of a model's weights and tokenizer: what all its instruments have in common."""

    weights: str
    tokenizer: str


def export_vectors(cache: VectorCache, files: Files, output: Path) -> int:
    """Write the vectors of a model, under every policy they were made with, to a new file.

    Returns
    -------
    int
        How many there are; the file is made where there are none as well.

    Raises
    ------
    ConfigurationError
        A file cannot be used, or a vector of the cache is damaged; the cache is left as it is.
    """
    if not present(cache.path):
        return _copy(iter(()), output)

    def copy(connection: sqlite3.Connection) -> int:
        found = _instruments(connection, files)
        told = (one._replace(rows=_told(one.rows, cache)) for one in _told(found, cache))
        return _copy(told, output)

    return require(cache, copy)


def import_vectors(source: Path, files: Files, cache: VectorCache) -> int:
    """Add the vectors of a model to the cache; one that is there already is left as it is.

    Returns
    -------
    int
        How many were new.

    Raises
    ------
    ConfigurationError
        The cache cannot be used.
    ModelError
        The file is not a vector cache, or a row of it is damaged: none of it is taken.
    """
    with VectorCache(source) as other:

        def take(connection: sqlite3.Connection) -> int:
            with transaction(connection):
                found = other.attempt(
                    lambda there: _insert(connection, _instruments(there, files))
                )
                if found is None or other.notices:
                    raise ModelError(f"{source.name}: its vectors cannot be used")
                return found

        return require(cache, take, writes=True)


class _Instrument(NamedTuple):
    digest: str
    identity: str
    rows: Iterator[tuple[Any, ...]]


def _instruments(connection: sqlite3.Connection, files: Files) -> Iterator[_Instrument]:
    found = connection.execute("SELECT id, digest, identity FROM instruments").fetchall()
    for number, digest, identity in found:
        fields = schema.read_identity(digest, identity)
        if (fields.get("weights"), fields.get("tokenizer")) != files:
            continue
        yield _Instrument(
            digest, identity, _checked(digest, fields, connection.execute(_ROWS, (number,)))
        )


def _checked(
    digest: str, fields: dict[str, Any], rows: Iterator[tuple[Any, ...]]
) -> Iterator[tuple[Any, ...]]:
    """Yield rows whose checksum fits, with a sound vector of the instrument's width."""
    for row in rows:
        *content, check = row
        try:
            right = schema.checksum(digest, tuple(content)) == check
        except Exception as error:  # a value of the wrong type, in any of many ways
            raise schema.DamagedRowError("a row holds a value of the wrong type") from error
        dims, vector = content[3], content[4]
        if not right or dims != fields.get("dims") or len(vector) != 4 * dims:
            raise schema.DamagedRowError("a row is not what was written")
        schema.require_sound(schema.as_vector(vector), content[5:])
        yield row


def _told(found: Iterator[T], cache: VectorCache) -> Iterator[T]:
    """Yield what comes of a cache; its damage is not that of the file that is written from it."""
    try:
        yield from found
    except (sqlite3.Error, UnicodeDecodeError, schema.DamagedRowError) as error:
        raise ConfigurationError(
            f"cannot copy the vectors of {cache.path}: {error}; leave out --cache, or begin a new "
            "cache with 'closecall cache clear'"
        ) from error


def _copy(instruments: Iterator[_Instrument], output: Path) -> int:
    with VectorCache(output) as target:
        copied = require(target, lambda connection: _in_one(connection, instruments), writes=True)
        # One file and no log beside it: it is going to be carried.
        require(target, lambda connection: connection.execute("PRAGMA journal_mode=DELETE"))
    return copied


def _in_one(connection: sqlite3.Connection, instruments: Iterator[_Instrument]) -> int:
    with transaction(connection):
        return _insert(connection, instruments)


def _insert(connection: sqlite3.Connection, instruments: Iterator[_Instrument]) -> int:
    day, before = schema.today(), connection.total_changes
    added = 0
    for one in instruments:
        connection.execute(schema.INSERT_INSTRUMENT, (one.digest, one.identity, day))
        (number,) = connection.execute(
            "SELECT id FROM instruments WHERE digest = ?", (one.digest,)
        ).fetchone()
        (last,) = connection.execute("SELECT COALESCE(MAX(id), 0) FROM vectors").fetchone()
        before = connection.total_changes
        connection.executemany(schema.INSERT_VECTOR, ((*row, number) for row in one.rows))
        added += connection.total_changes - before
        connection.execute(schema.INSERT_USES, (day, last))
    return added

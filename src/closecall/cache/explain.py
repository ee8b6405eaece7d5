"""Why a text's vector was found in the cache, or was not."""

from __future__ import annotations

import sqlite3
from typing import Any

import msgspec

from closecall.cache import schema
from closecall.cache.entries import Difference, Explanation, OtherEntry
from closecall.cache.maintenance import present, require
from closecall.cache.vectors import VectorCache
from closecall.instrument import Instrument, cache_key, text_fingerprint
from closecall.records import JSON, Role


def explain(cache: VectorCache, instrument: Instrument, role: Role, text: str) -> Explanation:
    """Return whether a text's vector is stored under this instrument and role.

    On a miss ``others`` lists the entries for this very text, with the fields of the identity
    that keep each from being used, those with the fewest first.

    Raises
    ------
    ConfigurationError
        The file cannot be used.
    """
    key = cache_key(instrument, role, text)
    effective = instrument.effective_role(role)
    stored = None
    others: tuple[OtherEntry, ...] = ()
    if present(cache.path):
        stored = cache.get_many(instrument, [key]).get(key)
        if stored is None:
            # Within ``require``, as what a row says may turn out not to be readable.
            entries = require(
                cache,
                lambda connection: [
                    _other(row, instrument, role)
                    for row in _same_text(connection, text_fingerprint(text))
                ],
            )
            others = tuple(sorted(entries, key=lambda e: (len(e.differences), e.digest, e.role)))
    return Explanation(
        hit=stored is not None,
        key=key.hex(),
        digest=instrument.digest,
        model=instrument.model,
        role=effective.value,
        tokens=stored.tokens if stored is not None else None,
        others=others,
    )


def _same_text(connection: sqlite3.Connection, fingerprint: bytes) -> list[tuple[Any, ...]]:
    rows = connection.execute(
        "SELECT i.digest, i.identity, v.role, u.day FROM vectors v "
        "JOIN instruments i ON i.id = v.instrument JOIN uses u ON u.vector = v.id "
        "WHERE v.fingerprint = ?",
        (fingerprint,),
    ).fetchall()
    return [
        (digest, schema.read_identity(digest, identity), role, day)
        for digest, identity, role, day in rows
    ]


def _other(row: tuple[Any, ...], asked: Instrument, role: Role) -> OtherEntry:
    digest, stored, stored_role, day = row
    if not isinstance(stored_role, str):
        raise schema.DamagedRowError("a role is not a text")
    ours, theirs = _flat(msgspec.to_builtins(asked)), _flat(stored)
    differences = [
        Difference(name, theirs.get(name), ours.get(name))
        for name in sorted(ours.keys() | theirs.keys())
        if theirs.get(name) != ours.get(name)
    ]
    # Roles with the same prefix share an entry, so a role only counts as another one where the
    # entry's own model gives it another prefix.
    prefixes = stored.get("prefixes", {})
    if prefixes.get(stored_role, "") != prefixes.get(role.value, ""):
        differences.append(Difference("role", stored_role, role.value))
    return OtherEntry(
        digest=digest,
        model=stored["model"],
        provider=stored["provider"],
        role=stored_role,
        last_used=schema.day_text(day),
        differences=tuple(differences),
    )


def _flat(fields: dict[str, Any]) -> dict[str, JSON]:
    flat: dict[str, JSON] = {}
    for name, value in fields.items():
        if isinstance(value, dict):
            flat.update((f"{name}.{part}", inner) for part, inner in value.items())
        else:
            flat[name] = value
    return flat

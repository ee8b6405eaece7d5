"""Rows whose checksum fits, of vectors and counts that are never stored, are not believed."""

import hashlib
import json
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from cache_data import DIMS, TEXTS, check, instrument, rows

from closecall.cache import VectorCache, schema
from closecall.cache.carry import Files, import_vectors
from closecall.cache.explain import explain
from closecall.cache.maintenance import info, prune
from closecall.errors import ModelError, UsageError
from closecall.instrument import cache_key, canonical_json
from closecall.records import Role, Tokens

COLUMNS = (
    "key", "fingerprint", "role", "dims", "vector", "seen", "total", "windows", "own", "unknown",
)  # fmt: skip


def forge(path, **changes):
    """Change the first row and make its checksum fit, as a hostile hand would."""
    listed = ", ".join(COLUMNS)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        found = connection.execute(f"SELECT {listed} FROM vectors WHERE id = 1").fetchone()  # noqa: S608
        row = dict(zip(COLUMNS, found, strict=True)) | changes
        values = [*row.values(), schema.checksum(instrument().digest, tuple(row.values()))]
        sets = ", ".join(f"{name} = ?" for name in (*COLUMNS, "checksum"))
        connection.execute(f"UPDATE vectors SET {sets} WHERE id = 1", values)  # noqa: S608


def numbers(*first):
    return np.array([*first, *[0.25] * (DIMS - len(first))], "<f4").tobytes()


FORGED = {
    "NaN": {"vector": numbers(np.nan)},
    "infinity": {"vector": numbers(0.5, -np.inf)},
    "overflow and NaN": {"vector": numbers(3e38, 3e38, np.nan)},
    "zero": {"vector": bytes(4 * DIMS)},
    "seen of nothing": {"seen": 5, "total": None},
    "total of nothing": {"seen": None},
    "negative": {"seen": -5, "total": -9, "windows": -1, "own": -3, "unknown": -3},
}


@pytest.mark.parametrize("changes", FORGED.values(), ids=FORGED)
def test_a_forged_row_is_not_served(filled, changes):
    forge(filled, **changes)
    with VectorCache(filled) as cache:
        assert check(cache, instrument(), TEXTS) == 0
        assert "a vector is zero or" in cache.notices[0] or "counts" in cache.notices[0]


@pytest.mark.parametrize("changes", FORGED.values(), ids=FORGED)
def test_a_forged_row_is_not_carried_in(filled, tmp_path, changes):
    forge(filled, **changes)
    with VectorCache(tmp_path / "own.sqlite3") as cache:
        with pytest.raises(ModelError, match="cannot be used"):
            import_vectors(filled, Files("", ""), cache)
        assert check(cache, instrument(), TEXTS) == 0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [3e38, 1e-30, 1e-44])
def test_extreme_but_sound_vectors_come_back(filled, size):
    forge(filled, vector=np.full(DIMS, size, "<f4").tobytes())
    key = cache_key(instrument(), Role.TEXT, TEXTS[0])
    with VectorCache(filled) as cache:
        (found,) = cache.get_many(instrument(), [key]).values()
        assert np.array_equal(found.vector, np.full(DIMS, size, np.float32))
        assert cache.notices == []


def test_negative_counts_are_not_stored(cache):
    ((key, text, value),) = rows(instrument(), ["a"])
    with pytest.raises(UsageError, match="never negative"):
        cache.put_many(instrument(), [(key, text, value._replace(tokens=Tokens(1, 2, own=-1)))])


IDENTITIES = {
    "nothing": {"a": 1},
    "no dims": {"model": "m", "provider": "p", "dims": None},
    "dims in words": {"model": "m", "provider": "p", "dims": "x"},
    "dims of nothing": {"model": "m", "provider": "p", "dims": 0},
    "dims beyond all": {"model": "m", "provider": "p", "dims": 10**4000},
    "a list for a name": {"model": ["a"], "provider": "p", "dims": 3},
    "a list of prefixes": {"model": "m", "provider": "p", "dims": 3, "prefixes": [1]},
}


@pytest.mark.parametrize("identity", IDENTITIES.values(), ids=IDENTITIES)
@pytest.mark.parametrize(
    "look",
    [
        lambda cache: info(cache).rows,
        lambda cache: prune(cache, older_than_days=3).rows,
        lambda cache: len(explain(cache, instrument(model="m2"), Role.TEXT, TEXTS[0]).others),
    ],
    ids=["info", "prune", "explain"],
)
def test_an_identity_of_no_embedder_is_damage(filled, identity, look):
    digest = hashlib.sha256(canonical_json(identity)).hexdigest()
    with closing(sqlite3.connect(filled, isolation_level=None)) as connection:
        connection.execute(
            "UPDATE instruments SET digest = ?, identity = ?", (digest, json.dumps(identity))
        )
    with VectorCache(filled) as cache:
        assert look(cache) == 0
        assert "identity is not one of an embedder" in cache.notices[0]


@pytest.mark.parametrize(
    "change", ["uses SET day = 1 << 60", "uses SET day = 'x'", "vectors SET role = x'00'"]
)
def test_explain_meets_damage_of_other_entries(filled, change):
    with closing(sqlite3.connect(filled, isolation_level=None)) as connection:
        connection.execute(f"UPDATE {change}")
    with VectorCache(filled) as cache:
        assert explain(cache, instrument(model="m2"), Role.TEXT, TEXTS[0]).others == ()
        assert "damaged" in cache.notices[0]

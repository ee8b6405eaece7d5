"""What is stored comes back bit for bit, and only to who may have it."""

import sqlite3
import stat
import threading

import msgspec
import numpy as np
import pytest
from cache_data import DIMS, OTHER_VALUE, TEXTS, check, instrument, rows, vector

from closecall.cache import VectorCache, vectors
from closecall.embedders.base import Embedded, TextKey, VectorStore
from closecall.errors import NonFiniteError, ShapeError, UsageError, ZeroVectorError
from closecall.instrument import Instrument, cache_key
from closecall.records import Role


def test_round_trip_is_exact_after_reopening(filled):
    with VectorCache(filled) as cache:
        assert check(cache, instrument(), TEXTS) == len(TEXTS)
        assert check(cache, instrument(), ["never stored"]) == 0
        assert cache.notices == []


def test_tokens_unknown_stay_unknown(cache):
    cache.put_many(instrument(), rows(instrument(), ["a"], tokens=False))
    (value,) = cache.get_many(instrument(), [cache_key(instrument(), Role.TEXT, "a")]).values()
    assert value.tokens is None


def test_it_is_a_vector_store(cache):
    store: VectorStore = cache
    assert store.get_many(instrument(), []) == {}
    store.put_many(instrument(), [])
    assert not cache.path.exists(), "nothing asked, nothing made"


def test_every_field_of_the_identity_is_covered():
    assert OTHER_VALUE.keys() == {field.name for field in msgspec.structs.fields(Instrument)}


@pytest.mark.parametrize("field", OTHER_VALUE)
def test_another_identity_is_a_miss(filled, field):
    other = instrument(**{field: OTHER_VALUE[field]})
    with VectorCache(filled) as cache:
        assert check(cache, other, TEXTS) == 0
        # Even for somebody who asks with the first instrument's keys, nothing is served.
        keys = [cache_key(instrument(), Role.TEXT, text) for text in TEXTS]
        assert cache.get_many(other, keys) == {}


def test_a_role_with_another_prefix_is_a_miss_and_one_without_is_a_hit(filled):
    with VectorCache(filled) as cache:
        assert check(cache, instrument(), TEXTS, Role.QUERY) == 0
        assert check(cache, instrument(), TEXTS, Role.DOCUMENT) == len(TEXTS)


def test_the_first_vector_of_a_key_stays(cache):
    cache.put_many(instrument(), rows(instrument(), ["a"]))
    ((key, text, _),) = rows(instrument(), ["a"])
    later = Embedded(np.ones(DIMS, np.float32))
    cache.put_many(instrument(), [(key, text, later)])
    assert check(cache, instrument(), ["a"]) == 1


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (np.ones(DIMS + 1, np.float32), ShapeError),
        (np.ones((1, DIMS), np.float32), ShapeError),
        (np.ones(DIMS, np.float64), ShapeError),
        (np.full(DIMS, np.nan, np.float32), NonFiniteError),
        (np.full(DIMS, np.inf, np.float32), NonFiniteError),
        (np.zeros(DIMS, np.float32), ZeroVectorError),
    ],
)
def test_an_unsound_vector_is_refused_with_all_its_batch(cache, bad, error):
    ((key, text, _),) = rows(instrument(), ["bad"])
    with pytest.raises(error):
        cache.put_many(instrument(), [*rows(instrument(), ["good"]), (key, text, Embedded(bad))])
    assert check(cache, instrument(), ["good", "bad"]) == 0


def test_a_key_of_another_text_is_refused(cache):
    ((_, text, value),) = rows(instrument(), ["a"])
    wrong = cache_key(instrument(), Role.TEXT, "b")
    with pytest.raises(UsageError, match="cache_key"):
        cache.put_many(instrument(), [(wrong, text, value)])


def test_vectors_cannot_be_written_to(filled):
    with VectorCache(filled) as cache:
        key = cache_key(instrument(), Role.TEXT, TEXTS[0])
        value = cache.get_many(instrument(), [key])[key]
        with pytest.raises(ValueError, match="read-only"):
            value.vector[0] = 1.0


def test_long_batches_are_asked_for_in_parts(filled, monkeypatch):
    monkeypatch.setattr(vectors, "QUERY_KEYS", 7)
    with VectorCache(filled) as cache:
        assert check(cache, instrument(), TEXTS) == len(TEXTS)


def test_one_query_a_batch(filled):
    with VectorCache(filled) as cache:
        cache.open()
        seen = []
        cache.attempt(lambda connection: connection.set_trace_callback(seen.append))
        check(cache, instrument(), TEXTS)
        assert len(seen) == 1


def test_one_transaction_a_put(cache):
    cache.open()
    seen = []
    cache.attempt(lambda connection: connection.set_trace_callback(seen.append))
    cache.put_many(instrument(), rows(instrument(), TEXTS))
    assert [line for line in seen if line.startswith(("BEGIN", "COMMIT"))] == [
        "BEGIN IMMEDIATE",
        "COMMIT",
    ]


def test_no_text_is_in_the_file(tmp_path):
    private = "Die Kundin heißt Zanzibarova und zahlt 4711 Kronen."
    path = tmp_path / "cache" / "vectors.sqlite3"
    cache = VectorCache(path)
    cache.put_many(instrument(), rows(instrument(), [private]))
    content = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert cache_key(instrument(), Role.TEXT, private) in content
    for word in private.split():
        for encoding in ("utf-8", "utf-16-le"):
            assert word.strip(".").encode(encoding) not in content or len(word) < 5
    cache.close()


def test_lone_surrogates_in_texts_and_names(cache):
    odd = instrument(model="folder-\udcff")
    ((_, _, value),) = rows(instrument(), ["x"])
    text = TextKey("broken \ud800 text")
    key = cache_key(odd, text.role, text.text)
    cache.put_many(odd, [(key, text, value)])
    assert np.array_equal(cache.get_many(odd, [key])[key].vector, value.vector)


def test_a_new_folder_is_its_owners_alone(tmp_path):
    with VectorCache(tmp_path / "deep" / "cache" / "v.sqlite3") as cache:
        assert cache.open()
    assert stat.S_IMODE((tmp_path / "deep" / "cache").stat().st_mode) == 0o700


def test_a_closed_cache_says_so(cache):
    cache.close()
    cache.close()
    with pytest.raises(UsageError, match="closed"):
        cache.get_many(instrument(), [b"0" * 32])


def test_threads_share_one_cache(path):
    errors = []
    with VectorCache(path) as cache:

        def work(number):
            try:
                for step in range(20):
                    texts = [f"text {n}" for n in range(step, step + 10)]
                    cache.put_many(instrument(), rows(instrument(), texts))
                    assert check(cache, instrument(), texts) == 10
            except BaseException as error:  # noqa: BLE001
                errors.append((number, error))

        threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert cache.notices == []
        assert check(cache, instrument(), [f"text {n}" for n in range(29)]) == 29


def test_last_use_is_noted_once_a_day(filled):
    now = 30_000
    statements = []

    def days():
        with sqlite3.connect(filled) as connection:
            found = [day for (day,) in connection.execute("SELECT day FROM uses ORDER BY vector")]
        connection.close()
        return found

    for day in (now, now, now + 1):
        with VectorCache(filled, today=lambda day=day: day) as cache:
            cache.open()
            before = len(statements)
            cache.attempt(lambda connection: connection.set_trace_callback(statements.append))
            check(cache, instrument(), TEXTS[:10])
            check(cache, instrument(), TEXTS[:10])
        assert days()[:10] == [day] * 10
        assert max(days()[10:]) < now
        updates = [line for line in statements[before:] if line.startswith("UPDATE")]
        assert len(updates) == (0 if statements and day == now and before else 10)


def test_the_file_is_as_promised(filled):
    with sqlite3.connect(filled) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
        assert connection.execute("PRAGMA application_id").fetchone() == (0x43434C56,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        key = cache_key(instrument(), Role.TEXT, TEXTS[3])
        (blob,) = connection.execute("SELECT vector FROM vectors WHERE key=?", (key,)).fetchone()
    connection.close()
    assert blob == vector(instrument(), TEXTS[3]).astype("<f4").tobytes()


def test_it_knows_the_instruments_it_had_vectors_of(filled):
    with VectorCache(filled) as cache:
        assert cache.knows(instrument())
        assert not cache.knows(instrument(model="another"))

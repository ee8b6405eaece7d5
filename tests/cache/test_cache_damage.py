"""A file that cannot be trusted is set aside with one message, and never believed."""

import random
import sqlite3
from contextlib import closing

import pytest
from cache_data import TEXTS, check, instrument, rows

from closecall.cache import VectorCache, schema
from closecall.instrument import cache_key
from closecall.records import Role


def alter(path, *statements):
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def assert_rebuilt(path, what, label="damaged", texts=TEXTS):
    """Nothing is served, one notice says why, the old file stands aside, the new one works."""
    with VectorCache(path) as cache:
        assert check(cache, instrument(), texts) == 0
        assert len(cache.notices) == 1
        assert what in cache.notices[0]
        assert str(path) in cache.notices[0]
        cache.put_many(instrument(), rows(instrument(), texts))
        assert check(cache, instrument(), texts) == len(texts)
    aside = [p for p in path.parent.iterdir() if f".{label}-" in p.name]
    assert len(aside) >= 1
    assert min(aside, key=lambda p: len(p.name)).name in cache.notices[0]
    with VectorCache(path) as cache:
        assert check(cache, instrument(), texts) == len(texts)
        assert cache.notices == []


def test_not_a_database(path):
    path.write_bytes(b"these are not the pages of a database\n" * 400)
    assert_rebuilt(path, "not a database")
    aside = next(p for p in path.parent.iterdir() if ".damaged-" in p.name)
    assert aside.read_bytes().startswith(b"these are")


def test_an_empty_file_is_a_fresh_one(path):
    path.write_bytes(b"")
    with VectorCache(path) as cache:
        cache.put_many(instrument(), rows(instrument(), TEXTS))
        assert check(cache, instrument(), TEXTS) == len(TEXTS)
        assert cache.notices == []


def test_a_newer_schema(filled):
    alter(filled, "PRAGMA user_version=2")
    assert_rebuilt(filled, "newer closecall", "newer")
    assert (filled.parent / f"{filled.name}.newer-2").exists()


def test_two_newer_files_both_stay(filled):
    for _ in range(2):
        alter(filled, "PRAGMA user_version=2")
        with VectorCache(filled) as cache:
            cache.open()
    names = {p.name for p in filled.parent.iterdir()}
    assert {f"{filled.name}.newer-2", f"{filled.name}.newer-2-2"} <= names


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("PRAGMA user_version=0", "schema version"),
        ("PRAGMA user_version=-3", "schema version"),
        ("PRAGMA application_id=77", "not a vector cache"),
        ("CREATE TABLE extra(a)", "table extra"),
        ("CREATE VIEW peek AS SELECT * FROM vectors", "view peek"),
        (
            "CREATE TRIGGER nosy AFTER INSERT ON vectors BEGIN DELETE FROM uses; END",
            "trigger nosy",
        ),
        ("CREATE INDEX more ON vectors(role)", "index more"),
        ("ALTER TABLE vectors ADD COLUMN note", "table vectors"),
        ("DROP TABLE uses", "table uses"),
    ],
)
def test_a_schema_that_is_not_ours(filled, statement, what):
    alter(filled, statement)
    assert_rebuilt(filled, what)


def test_a_database_of_somebody_else(path):
    alter(path, "CREATE TABLE cookies(name, value)", "INSERT INTO cookies VALUES('a', 'b')")
    assert_rebuilt(path, "not a vector cache")
    (aside,) = (p for p in path.parent.iterdir() if ".damaged-" in p.name)
    with closing(sqlite3.connect(aside)) as connection:
        assert connection.execute("SELECT * FROM cookies").fetchall() == [("a", "b")]


@pytest.mark.parametrize(
    "change",
    [
        "vector = zeroblob(96)",
        "vector = substr(vector, 1, 92)",
        "vector = vector || x'00000000'",
        "vector = 'text'",
        "vector = 7",
        "dims = dims + 1",
        "dims = 'wide'",
        "seen = seen + 1",
        "seen = NULL, total = NULL, windows = NULL",
        "role = 'query'",
        "role = x'00'",
        "fingerprint = zeroblob(16)",
        "checksum = zeroblob(8)",
        "checksum = ''",
        "instrument = 99",
        "vector = (SELECT vector FROM vectors WHERE id = 2)",
    ],
)
def test_a_row_that_was_changed(filled, change):
    alter(filled, "UPDATE vectors SET " + change + " WHERE id = 1")  # noqa: S608
    assert_rebuilt(filled, "damaged")


def test_rows_of_two_models_swapped(path):
    other = instrument(model="other")
    with VectorCache(path) as cache:
        cache.put_many(instrument(), rows(instrument(), ["a"]))
        cache.put_many(other, rows(other, ["a"]))
    alter(path, "UPDATE vectors SET instrument = 3 - instrument")
    assert_rebuilt(path, "another instrument", texts=["a"])


def test_a_row_claimed_by_anothers_key_with_a_recomputed_digest(path):
    other = instrument(model="other")
    with VectorCache(path) as cache:
        cache.put_many(other, rows(other, ["a"]))
    key = cache_key(instrument(), Role.TEXT, "a")
    alter(
        path,
        f"UPDATE instruments SET digest = '{instrument().digest}'",  # noqa: S608
        f"UPDATE vectors SET key = x'{key.hex()}'",  # noqa: S608
    )
    assert_rebuilt(path, "checksum", texts=["a"])


def test_an_index_that_leads_to_other_rows(filled):
    """Take two entries of the key index in the file's bytes and swap what they point to."""
    content = filled.read_bytes()
    first, second = (cache_key(instrument(), Role.TEXT, text) for text in TEXTS[10:12])

    def entry(key, number):
        return key + bytes([number])

    assert content.count(entry(first, 11)) == content.count(entry(second, 12)) == 1
    filled.write_bytes(
        content.replace(entry(first, 11), entry(first, 12)).replace(
            entry(second, 12), entry(second, 13)
        )
    )
    assert_rebuilt(filled, "damaged")


def test_rows_that_nobody_asked_for(filled, monkeypatch):
    monkeypatch.setattr(schema, "SELECT_VECTORS", schema.SELECT_VECTORS + " OR v.id < 9")
    with VectorCache(filled) as cache:
        assert check(cache, instrument(), TEXTS[30:]) == 0
        assert "leads to other rows" in cache.notices[0]


def test_damage_in_the_middle_of_a_life(filled):
    with VectorCache(filled) as cache:
        assert check(cache, instrument(), TEXTS) == len(TEXTS)
        alter(filled, "UPDATE vectors SET vector = zeroblob(96)")
        assert check(cache, instrument(), TEXTS) == 0
        cache.put_many(instrument(), rows(instrument(), TEXTS))
        assert check(cache, instrument(), TEXTS) == len(TEXTS)
        assert len(cache.notices) == 1


def test_who_comes_second_does_not_set_the_fresh_file_aside(filled):
    with VectorCache(filled) as first, VectorCache(filled) as second:
        for cache in (first, second):
            assert check(cache, instrument(), TEXTS) == len(TEXTS)
        alter(filled, "UPDATE vectors SET vector = zeroblob(96)")
        assert check(first, instrument(), TEXTS) == 0
        first.put_many(instrument(), rows(instrument(), TEXTS))
        # The second still holds the old file; it notices, and finds the fresh one.
        assert check(second, instrument(), TEXTS) == len(TEXTS)
        assert len(first.notices) == 1
        assert second.notices == []
    assert (
        sum(
            ".damaged-" in p.name and "-wal" not in p.name and "-shm" not in p.name
            for p in filled.parent.iterdir()
        )
        == 1
    )
    with closing(sqlite3.connect(filled)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_file_that_is_damaged_again_and_again_is_left_alone(filled):
    with VectorCache(filled) as cache:
        for _ in range(4):
            cache.put_many(instrument(), rows(instrument(), TEXTS))
            if cache.notices and "again and again" in cache.notices[-1]:
                break
            alter(filled, "UPDATE vectors SET vector = zeroblob(96)")
            assert check(cache, instrument(), TEXTS) == 0
        assert [("again and again" in notice) for notice in cache.notices] == [False, False, True]
        assert check(cache, instrument(), TEXTS) == 0
        assert len(cache.notices) == 3


@pytest.mark.parametrize("seed", range(120))
def test_random_damage_never_gives_a_wrong_vector(filled, seed):
    """Right, or a miss: whatever bytes are flipped, cut or overwritten.

    A single key lost from the index is a quiet miss; that nothing is left is always told.
    """
    random_ = random.Random(seed)
    content = bytearray(filled.read_bytes())
    kind = seed % 4
    if kind == 0:  # single bits
        for _ in range(random_.choice([1, 3, 40])):
            content[random_.randrange(len(content))] ^= 1 << random_.randrange(8)
    elif kind == 1:  # the header and the schema
        content[random_.randrange(0, 2200)] ^= random_.randrange(1, 256)
    elif kind == 2:  # cut short
        del content[random_.randrange(1, len(content)) :]
    else:  # a block of noise
        start = random_.randrange(len(content))
        content[start : start + 600] = random_.randbytes(min(600, len(content) - start))
    filled.write_bytes(content)
    more = [f"later {n}" for n in range(40)]
    with VectorCache(filled) as cache:
        came = check(cache, instrument(), TEXTS)
        cache.put_many(instrument(), rows(instrument(), more))
        check(cache, instrument(), more)
        assert came or cache.notices, "everything was lost without a word"
    with VectorCache(filled) as cache:
        check(cache, instrument(), TEXTS + more)


@pytest.mark.parametrize("seed", range(20))
def test_a_damaged_log_never_gives_a_wrong_vector(path, seed):
    random_ = random.Random(seed)
    writer = VectorCache(path)
    writer.put_many(instrument(), rows(instrument(), TEXTS[:30]))
    writer.put_many(instrument(), rows(instrument(), TEXTS[30:]))
    log = path.with_name(path.name + "-wal").read_bytes()
    main = path.read_bytes()
    writer.close()
    copy = path.with_name("copy.sqlite3")
    broken = bytearray(log)
    for _ in range(random_.choice([1, 10])):
        broken[random_.randrange(len(broken))] ^= 1 << random_.randrange(8)
    copy.write_bytes(main)
    copy.with_name(copy.name + "-wal").write_bytes(broken[: random_.randrange(1, len(broken))])
    with VectorCache(copy) as cache:
        check(cache, instrument(), TEXTS)
        cache.put_many(instrument(), rows(instrument(), TEXTS))
        assert check(cache, instrument(), TEXTS) in (0, len(TEXTS))

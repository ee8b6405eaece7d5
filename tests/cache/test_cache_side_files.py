"""What lies beside a cache has SQLite touch no file elsewhere: whoever made it may be a stranger."""

import os
import struct

import pytest
from cache_data import TEXTS, check, instrument, rows

from closecall.cache import VectorCache, database, schema

MAGIC = bytes.fromhex("d9d505f920a163d7")


@pytest.fixture
def victim(tmp_path):
    found = tmp_path / "elsewhere" / "letters.txt"
    found.parent.mkdir()
    found.write_bytes(b"Dear Ada,\n")
    return found


def journal_naming(path, name):
    """A journal of nothing that names a super-journal, laid out as SQLite reads it."""
    pages = path.stat().st_size // schema.PAGE_SIZE
    head = MAGIC + struct.pack(">5I", 0, 1, pages, 512, schema.PAGE_SIZE)
    page = 0x40000000 // schema.PAGE_SIZE + 1
    check_sum = sum(byte - 256 if byte > 127 else byte for byte in name) & 0xFFFFFFFF
    tail = struct.pack(">I", page) + name + struct.pack(">II", len(name), check_sum) + MAGIC
    return head.ljust(512, b"\0") + tail


def used(path):
    """Use the cache as runs do; return its notices."""
    with VectorCache(path) as cache:
        check(cache, instrument(), TEXTS)
        cache.put_many(instrument(), rows(instrument(), TEXTS))
        assert check(cache, instrument(), TEXTS) == len(TEXTS)
        return cache.notices


def test_a_journal_that_names_another_file_removes_nothing(filled, victim):
    journal = filled.with_name(f"{filled.name}-journal")
    journal.write_bytes(journal_naming(filled, str(victim).encode()))
    (notice,) = used(filled)
    assert "its journal names a file that is not its own" in notice
    assert victim.read_bytes() == b"Dear Ada,\n"
    assert used(filled) == []


@pytest.mark.skipif(os.name == "nt", reason="links take rights there")
@pytest.mark.parametrize("suffix", database.SIDE_FILES)
def test_a_side_file_that_is_a_link_is_not_followed(filled, victim, suffix):
    side = filled.with_name(f"{filled.name}{suffix}")
    side.unlink(missing_ok=True)
    side.symlink_to(victim)
    (notice,) = used(filled)
    assert f"its {suffix} file is a link or no file" in notice
    assert victim.read_bytes() == b"Dear Ada,\n"
    assert used(filled) == []


@pytest.mark.skipif(os.name == "nt", reason="there are no pipes with names there")
def test_a_side_file_that_is_a_pipe_is_not_waited_for(filled):
    os.mkfifo(f"{filled}-journal")
    (notice,) = used(filled)
    assert "its -journal file is a link or no file" in notice


def test_an_own_journal_is_played_back(filled):
    """One that a killed process left, without a super-journal, is as good as ever."""
    filled.with_name(f"{filled.name}-journal").write_bytes(journal_naming(filled, b"x")[:512])
    assert used(filled) == []


def test_a_value_larger_than_any_vector_is_damage(filled, monkeypatch):
    monkeypatch.setattr(database, "_LARGEST", 100)
    with VectorCache(filled) as cache:
        assert check(cache, instrument(), TEXTS) == 0
        assert cache.notices


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="links are followed there")
def test_a_lock_that_is_a_link_is_not_followed(path, tmp_path):
    path.with_name(f"{path.name}.lock").symlink_to(tmp_path / "made elsewhere")
    with VectorCache(path) as cache:
        assert check(cache, instrument(), TEXTS) == 0
        assert f"cannot use {path}" in cache.notices[0]
    assert not (tmp_path / "made elsewhere").exists()

"""Where no cache can be had the run goes on without it: one notice, no error, no second try."""

import os
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path

import pytest
from cache_data import TEXTS, check, instrument, rows

from closecall.cache import VectorCache, cache_path, open_cache, vectors
from closecall.cache.database import opening_lock
from closecall.errors import ConfigurationError

HERE = Path(__file__).parent


def guarded():
    """Variables that let a child import what this process can, under the guard of the suite."""
    path = [str(HERE), os.environ["PYTHONPATH"], *(p for p in sys.path if p)]
    guard = {k: v for k, v in os.environ.items() if k.startswith("CLOSECALL_TEST_GUARD")}
    return guard | {"PYTHONPATH": os.pathsep.join(path)}


def python(code, **environment):
    """Run code in a process of its own with nothing but these variables; return its output."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        env=guarded() | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def assert_gone_on_without(cache, what):
    assert check(cache, instrument(), TEXTS) == 0
    cache.put_many(instrument(), rows(instrument(), TEXTS))
    assert check(cache, instrument(), TEXTS) == 0
    (notice,) = cache.notices
    assert what in notice
    assert "--cache-dir" in notice
    assert "\n" not in notice


def test_a_file_where_the_folder_should_be(tmp_path):
    (tmp_path / "occupied").write_text("x", encoding="utf-8")
    with VectorCache(tmp_path / "occupied" / "v.sqlite3") as cache:
        assert_gone_on_without(cache, "occupied")


def test_a_folder_where_the_file_should_be(path):
    path.mkdir()
    with VectorCache(path) as cache:
        assert_gone_on_without(cache, "unable to open")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder nobody can write to")
def test_a_folder_nobody_can_write_to():
    with VectorCache("/proc/closecall/v.sqlite3") as cache:
        assert_gone_on_without(cache, "/proc/closecall")


def test_after_the_first_failure_nothing_is_tried(tmp_path, monkeypatch):
    (tmp_path / "occupied").write_text("x", encoding="utf-8")
    tries = []
    real = vectors.open_database
    monkeypatch.setattr(vectors, "open_database", lambda *a: tries.append(a) or real(*a))
    with VectorCache(tmp_path / "occupied" / "v.sqlite3") as cache:
        assert_gone_on_without(cache, "occupied")
    assert len(tries) == 1


def test_a_full_disk_ends_writing_not_reading(filled):
    with VectorCache(filled) as cache:
        cache.attempt(lambda c: c.execute("PRAGMA max_page_count=10").fetchone())
        assert check(cache, instrument(), TEXTS) == len(TEXTS)
        for n in range(3):
            cache.put_many(instrument(), rows(instrument(), [f"{n} {m}" for m in range(500)]))
        assert check(cache, instrument(), TEXTS) == len(TEXTS)
        (notice,) = cache.notices
        assert "full" in notice
        assert "not kept" in notice
    with closing(sqlite3.connect(filled)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.skipif(sys.platform == "win32", reason="sets a limit of POSIX processes")
def test_a_file_that_may_not_grow(filled):
    out = python(
        f"""
        import resource
        from cache_data import TEXTS, check, instrument, rows
        from closecall.cache import VectorCache
        with VectorCache({str(filled)!r}) as cache:
            resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
            for n in range(3):
                some = [f"{{n}} {{m}}" for m in range(3000)]
                cache.put_many(instrument(), rows(instrument(), some))
            print(check(cache, instrument(), TEXTS), len(cache.notices))
        """
    )
    assert out == f"{len(TEXTS)} 1\n"


def test_locked_by_another_process_for_too_long(filled):
    with closing(sqlite3.connect(filled, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with VectorCache(filled, timeout=0.05) as cache:
            cache.put_many(instrument(), rows(instrument(), ["new"]))
            cache.put_many(instrument(), rows(instrument(), ["newer"]))
            assert check(cache, instrument(), TEXTS) == len(TEXTS)
            (notice,) = cache.notices
            assert "locked" in notice


def test_locked_while_it_is_opened(filled):
    with closing(sqlite3.connect(filled, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode=EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        other.execute("DELETE FROM uses WHERE vector = -1")
        with VectorCache(filled, timeout=0.05) as cache:
            assert_gone_on_without(cache, "locked")
    with VectorCache(filled) as cache:
        assert check(cache, instrument(), TEXTS) == len(TEXTS)


def test_nobody_opens_while_the_file_is_being_set_aside(filled):
    with opening_lock(filled, 1.0), VectorCache(filled, timeout=0.05) as cache:
        assert_gone_on_without(cache, "another process keeps it locked")


def test_a_file_deleted_while_in_use_is_made_anew(filled):
    with VectorCache(filled) as cache:
        assert check(cache, instrument(), TEXTS) == len(TEXTS)
        for file in filled.parent.iterdir():
            file.unlink()
        cache.put_many(instrument(), rows(instrument(), ["x"]))
        check(cache, instrument(), [*TEXTS, "x"])
    with VectorCache(filled) as cache:
        check(cache, instrument(), TEXTS)
        assert cache.notices == []


def test_open_cache_returns_none_and_says_so_once(tmp_path):
    (tmp_path / "occupied").write_text("x", encoding="utf-8")
    said = []
    assert open_cache(tmp_path / "occupied" / "sub", on_notice=said.append) is None
    assert len(said) == 1


def test_open_cache_prefers_its_argument_then_the_variable(tmp_path, monkeypatch):
    monkeypatch.setenv("CLOSECALL_CACHE_DIR", str(tmp_path / "variable"))
    with open_cache() as cache:
        assert cache.path.parent == tmp_path / "variable"
    with open_cache(tmp_path / "argument") as cache:
        assert cache.path.parent == tmp_path / "argument"
    monkeypatch.chdir(tmp_path)
    assert cache_path("relative").parent == tmp_path / "relative"
    assert cache_path("~/x", {}).is_absolute()


@pytest.mark.parametrize("value", ["off", "0", "No", "FALSE"])
def test_switched_off(value, monkeypatch):
    monkeypatch.setenv("CLOSECALL_CACHE", value)
    assert open_cache() is None
    assert not cache_path().exists()


def test_switched_off_by_argument():
    assert open_cache(enabled=False) is None


def test_a_switch_that_is_neither_on_nor_off(monkeypatch):
    monkeypatch.setenv("CLOSECALL_CACHE", "maybe")
    with pytest.raises(ConfigurationError, match="'maybe'"):
        open_cache()


OPEN_AND_TELL = """
import os
from closecall.cache import open_cache
said = []
cache = open_cache(on_notice=said.append)
print(None if cache is None else cache.path.is_absolute(), len(said), *said, sep="|")
if cache is not None:
    cache.close()
"""


def test_home_unset(tmp_path):
    assert python(OPEN_AND_TELL, XDG_CACHE_HOME=str(tmp_path)) == "True|0\n"


@pytest.mark.skipif(sys.platform == "win32", reason="homes of POSIX users")
def test_home_unset_and_the_user_unknown(tmp_path):
    code = (
        "import pwd, os\n"
        "def getpwuid(uid):\n    raise KeyError(uid)\n"
        "pwd.getpwuid = getpwuid\n"
        f"os.chdir({str(tmp_path)!r})\n" + OPEN_AND_TELL
    )
    out = python(code)
    assert out.startswith("None|1|vector cache: there is no home folder")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder nobody can write to")
def test_a_home_nobody_can_write_to():
    out = python(OPEN_AND_TELL, HOME="/proc/nobody")
    assert out.startswith("None|1|vector cache: cannot use /proc/nobody")

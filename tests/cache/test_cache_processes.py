"""Several processes on one file, one killed in the middle of it, one forked."""

import os
import signal
import sqlite3
import subprocess
import sys
import warnings
from contextlib import closing
from pathlib import Path

import pytest
from cache_data import TEXTS, check, instrument, rows

from closecall.cache import VectorCache

HERE = Path(__file__).parent

WORKER = """
import sys
from cache_data import check, instrument, rows
from closecall.cache import VectorCache

path, number = sys.argv[1], int(sys.argv[2])
with VectorCache(path) as cache:
    print("ready", flush=True)
    sys.stdin.readline()
    for step in range(30):
        # Every text is written by two processes, and read by whoever comes later.
        texts = [f"text {(number // 2) * 300 + step * 10 + n}" for n in range(10)]
        cache.put_many(instrument(), rows(instrument(), texts))
        assert check(cache, instrument(), texts) == 10
        check(cache, instrument(), [f"text {n}" for n in range(0, 600, 7)])
    assert not [n for n in cache.notices if "set aside" not in n], cache.notices
    print(len(cache.notices))
"""

ENDLESS = """
import itertools, sys
from cache_data import instrument, rows
from closecall.cache import VectorCache

cache = VectorCache(sys.argv[1])
for step in itertools.count():
    cache.put_many(instrument(), rows(instrument(), [f"text {step * 50 + n}" for n in range(50)]))
    print(step, flush=True)
"""


def start(script, path, *arguments):
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(
            [str(HERE), os.environ["PYTHONPATH"], *(p for p in sys.path if p)]
        )
    }
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", script, str(path), *map(str, arguments)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def hammer(path):
    """Four processes at once; return how many notices they gave together."""
    workers = [start(WORKER, path, number) for number in range(4)]
    for worker in workers:
        assert worker.stdout.readline() == "ready\n", worker.stderr.read()
    for worker in workers:
        worker.stdin.write("\n")
        worker.stdin.flush()
    notices = 0
    for worker in workers:
        out, err = worker.communicate(timeout=120)
        assert worker.returncode == 0, err
        assert err == ""
        notices += int(out)
    return notices


def assert_sound(path, count):
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        for query in ("SELECT COUNT(*) FROM vectors", "SELECT COUNT(*) FROM uses"):
            assert connection.execute(query).fetchone() == (count,)


def test_four_processes_on_one_new_file(path):
    assert hammer(path) == 0
    assert_sound(path, 600)
    with VectorCache(path) as cache:
        assert check(cache, instrument(), [f"text {n}" for n in range(600)]) == 600


def test_four_processes_find_one_damaged_file(filled):
    filled.write_bytes(b"no database" + filled.read_bytes()[11:])
    assert hammer(filled) == 1, "the file is set aside once, and told once"
    assert_sound(filled, 600)
    aside = [p.name for p in filled.parent.iterdir() if ".damaged-" in p.name]
    assert len([name for name in aside if not name.endswith(("-wal", "-shm"))]) == 1


@pytest.mark.parametrize("batches", [1, 3, 9])
def test_killed_while_writing(path, batches):
    writer = start(ENDLESS, path)
    for _ in range(batches):
        assert writer.stdout.readline(), writer.stderr.read()
    writer.send_signal(signal.SIGKILL)
    writer.communicate()
    with VectorCache(path) as cache:
        came = check(cache, instrument(), [f"text {n}" for n in range(batches * 50)])
        assert came == batches * 50, "what was put is there"
        cache.put_many(instrument(), rows(instrument(), TEXTS))
        assert check(cache, instrument(), TEXTS) == len(TEXTS)
        assert cache.notices == []
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        (count,) = connection.execute("SELECT COUNT(*) FROM vectors").fetchone()
        assert (count - len(TEXTS)) % 50 == 0, "a batch is there whole or not at all"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_uses_a_connection_of_its_own(filled):
    with VectorCache(filled) as cache:
        assert check(cache, instrument(), TEXTS) == len(TEXTS)
        inherited = cache._opened.connection
        with warnings.catch_warnings():  # newer Pythons warn of a fork beside threads
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            try:
                cache.put_many(instrument(), rows(instrument(), ["from the child"]))
                good = check(cache, instrument(), [*TEXTS, "from the child"]) == len(TEXTS) + 1
                good = good and cache._opened.connection is not inherited
                cache.close()
                os._exit(0 if good and not cache.notices else 1)
            except BaseException:  # noqa: BLE001
                os._exit(2)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        assert check(cache, instrument(), [*TEXTS, "from the child"]) == len(TEXTS) + 1
        assert cache.notices == []

"""Stores on moto's S3 and on Azurite, with connections that are lost half-way."""

import functools
import random

import pytest

from closecall.errors import StorageError
from closecall.storage import fetched, open_store
from closecall.storage.ranges import PIECE

pytestmark = [
    pytest.mark.loopback,
    # aiohttp, about bytes of more than a megabyte; Azure's package hands them over so.
    pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning"),
]


def noise(size, seed=7):
    return random.Random(seed).randbytes(size)


def test_a_store_holds_what_it_was_given(server):
    store = open_store(f"{server.url}/a/b")
    assert store.names() == []
    store.write("deep/er.bin", b"one")
    store.write("top", b"two")
    assert store.names() == ["deep/er.bin", "top"]
    assert store.names("deep") == ["deep/er.bin"]
    assert (store.exists("top"), store.exists("deep"), store.exists("none")) == (
        True,
        False,
        False,
    )
    assert (store.size("top"), store.read("top")) == (3, b"two")
    with store.open("deep/er.bin") as file:
        file.seek(-2, 2)
        assert file.read() == b"ne"
    store.remove("top")
    store.remove("top")
    assert store.names() == ["deep/er.bin"]
    with pytest.raises(StorageError, match=f"{server.url}/a/b/none: there is no such object"):
        store.read("none")


def test_only_one_creates_an_object(server):
    first, second = open_store(server.url), open_store(server.url)
    assert first.create("claim", b"first")
    assert not second.create("claim", b"second")
    assert first.read("claim") == b"first"


def test_a_fetch_goes_on_where_the_connection_was_lost(server):
    data = noise(2 * PIECE + 1000)
    open_store(server.url).write("big.bin", data)
    server.proxy.requests.clear()
    server.proxy.lose("GET", "big.bin", "answer", PIECE // 2, times=2)
    with fetched(f"{server.url}/big.bin") as path:
        assert path.read_bytes() == data
        assert path.name == "big.bin"
    assert server.proxy.lost == 2
    assert not path.exists()
    gets = [path for method, path in server.proxy.requests if method == "GET"]
    # Each piece once, and again where it broke off; aiohttp may have a try of its own.
    assert 3 + 2 <= len(gets) <= 3 + 2 * 2


def test_ranges_read_only_what_is_asked_for(server):
    data = noise(4 * PIECE)
    store = open_store(server.url)
    store.write("big.bin", data)
    with store.open("big.bin") as file:
        file.seek(PIECE + 5)
        server.proxy.lose("GET", "big.bin", "answer", 900)
        assert file.read(1000) == data[PIECE + 5 : PIECE + 1005]
        assert file.tell() == PIECE + 1005


def test_an_object_that_is_replaced_while_it_is_read_is_refused(server):
    store = open_store(server.url)
    store.write("big.bin", noise(3 * PIECE))
    with store.open("big.bin") as file:
        file.read(PIECE)
        open_store(server.url).write("big.bin", noise(3 * PIECE, seed=8))
        with pytest.raises(StorageError, match="changed while it was being read"):
            file.read(PIECE)


def test_a_write_that_breaks_off_is_tried_again(server):
    data = noise(3_000_000)
    store = open_store(server.url)
    server.proxy.lose("PUT", "big.bin", "upload", 1_000_000, times=2)
    store.write("big.bin", data)
    assert server.proxy.lost == 2
    assert store.read("big.bin") == data


def test_a_write_that_never_gets_through_leaves_what_was_there(server, tmp_path):
    store = open_store(server.url)
    store.write("kept.bin", b"before")
    big = tmp_path / "big.bin"
    big.write_bytes(noise(3_000_000))
    server.proxy.rule = lambda _number, method, _path: (
        ("upload", 1_000_000) if method in {"PUT", "POST"} else None
    )
    for name in ("kept.bin", "new.bin"):
        with pytest.raises(StorageError, match=r"writing failed 7 times: .*\. Try again"):
            store.write(name, big)
    server.proxy.heal()
    assert store.read("kept.bin") == b"before"
    assert store.names() == ["kept.bin"]


def test_a_large_write_in_several_parts_is_whole_or_not_at_all(s3, tmp_path):
    big = tmp_path / "big.bin"
    big.write_bytes(noise(11 * 1024 * 1024))
    store = open_store(s3.url)
    files = store._files
    files.put_file = functools.partial(files.put_file, chunksize=5 * 1024 * 1024)
    s3.proxy.lose("PUT", "partNumber=2", "upload", 1_000_000)
    store.write("big.bin", big)
    assert s3.proxy.lost == 1
    with fetched(f"{s3.url}/big.bin") as path:
        assert path.read_bytes() == big.read_bytes()
    s3.proxy.rule = lambda _number, _method, path: (
        ("upload", 1_000_000) if "partNumber=2" in path else None
    )
    with pytest.raises(StorageError, match="writing failed"):
        store.write("new.bin", big)
    s3.proxy.heal()
    assert store.names() == ["big.bin"]


def test_a_creation_whose_answer_is_lost_is_known_by_its_bytes(server):
    store = open_store(server.url)
    server.proxy.lose("PUT", "claim", "answer", 0)
    assert store.create("claim", b"mine")
    assert server.proxy.lost == 1
    server.proxy.lose("PUT", "claim", "answer", 0)
    assert not store.create("claim", b"another's")
    assert store.read("claim") == b"mine"


def test_a_place_that_cannot_be_reached_is_told_with_what_was_tried(server):
    store = open_store(server.url)
    server.proxy.lose_all()
    with pytest.raises(
        StorageError, match=f"{server.url}/x: .* failed 7 times: .*Try again"
    ) as caught:
        store.read("x")
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    assert caught.value.exit_code == 4


def test_a_bucket_that_is_not_there_is_told(server):
    store = open_store(f"{server.url.partition('://')[0]}://nowhere-bucket/x")
    assert store.names() == []
    with pytest.raises(StorageError, match="there is no such bucket"):
        store.write("a", b"1")


def test_keys_that_are_refused_name_the_variables_to_set(s3, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    with pytest.raises(StorageError, match=r"no credentials were found.*AWS_ACCESS_KEY_ID"):
        open_store(s3.url).read("x")

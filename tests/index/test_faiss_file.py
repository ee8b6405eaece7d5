"""faiss's own file is looked through before faiss reads it: a stranger's hash fits anything."""

import struct

import numpy as np
import pytest
from made_rows import D, made, vectors
from test_index_folder import fit

from closecall.errors import IndexFolderError
from closecall.index.building import open_index

N = 300
QUERY = vectors(1, seed=8)[0]
KINDS = ("hnsw", "hnsw:m=3", "ivf", "ivf:nlist=3", "ivfpq", "ivfpq:m=4", "sq8", "sqfp16")
ROW = 4 * D
HEAD = 37
"""Bytes of what every index begins with: its kind, width, rows and metric."""


@pytest.fixture
def place(tmp_path):
    return tmp_path / "index"


def file_of(place):
    return place / "v1" / "index.faiss"


def changed(place, at, value):
    """Put bytes into the file of faiss, and make index.json fit."""
    data = bytearray(file_of(place).read_bytes())
    at %= len(data)
    data[at : at + len(value)] = value
    file_of(place).write_bytes(data)
    fit(place)


def refused(place, words):
    with pytest.raises(IndexFolderError, match=rf"index\.faiss: not a file of faiss .*{words}"):
        open_index(place)


@pytest.mark.parametrize("similarity", ["cosine", "dot", "euclidean"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_here_is_read(place, kind, similarity):
    made(kind, N, path=place, similarity=similarity)
    index = open_index(place)
    before = index.search(QUERY, 5)
    index.add([("new", "new")], vectors=vectors(N + 1)[-1:])
    index.save()
    index = open_index(place)
    assert len(index) == N + 1
    assert len(index.search(QUERY, 5)[0]) == len(before[0]) == 5


@pytest.mark.parametrize("kind", KINDS)
def test_a_byte_more_or_less_is_refused(place, kind):
    made(kind, N, path=place)
    whole = file_of(place).read_bytes()
    for data in (whole + b"\0", whole[:-1], whole[:40], b""):
        file_of(place).write_bytes(data)
        fit(place)
        refused(place, "")


def links(place):
    """Where the links of a graph begin, and how many there are."""
    data = file_of(place).read_bytes()
    at = HEAD
    for size in (8, 4, 4, 8):
        (length,) = struct.unpack_from("<Q", data, at)
        at += 8 + size * length
    (length,) = struct.unpack_from("<Q", data, at)
    return at + 8, length


def test_a_link_to_a_row_that_is_not_there(place):
    made("hnsw", N, path=place)
    at, _ = links(place)
    for row in (N, 2**31 - 1, -2):
        changed(place, at, struct.pack("<i", row))
        refused(place, "a row links to one that is not there")


def test_a_link_to_a_row_that_is_not_on_its_level(place):
    made("hnsw:m=3", N, path=place)
    data = file_of(place).read_bytes()
    (count,) = struct.unpack_from("<Q", data, HEAD)
    at_levels = HEAD + 8 + 8 * count + 8 + 4 * (count + 1) + 8
    levels = np.frombuffer(data, "<i4", N, at_levels)
    offsets = np.frombuffer(data, "<u8", N + 1, at_levels + 4 * N + 8)
    high, low = int(np.flatnonzero(levels > 1)[0]), int(np.flatnonzero(levels == 1)[0])
    at, _ = links(place)
    changed(place, at + 4 * (int(offsets[high]) + 2 * 3), struct.pack("<i", low))
    refused(place, "not on its level")


def test_an_entry_that_is_no_row(place):
    made("hnsw", N, path=place)
    at, count = links(place)
    changed(place, at + 4 * count, struct.pack("<i", N))
    refused(place, "not entered at a row of the highest level")


def test_lengths_that_lie(place):
    made("hnsw", N, path=place)
    at, count = links(place)
    sizes = (HEAD, at - 8, -(N * ROW + 8))
    whole = file_of(place).read_bytes()
    for where in sizes:
        for length in (0, 1, 2**40, 2**64 - 1):
            file_of(place).write_bytes(whole)
            changed(place, where, struct.pack("<Q", length))
            refused(place, "expected|the file ends|links|chances")
    assert count


def test_lists_with_rows_that_are_not_there_or_twice(place):
    made("ivf:nlist=1", N, path=place)
    for row, words in (
        (N, "not there"),
        (2**40, "not there"),
        (-1, "not there"),
        (5, "two lists"),
    ):
        changed(place, -8 * N, struct.pack("<q", row))
        refused(place, words)


def test_sizes_of_lists_that_lie(place):
    made("ivf:nlist=3", N, path=place)
    whole = file_of(place).read_bytes()
    at = whole.index(b"full") + 12
    for size in (0, N + 1, 2**63):
        file_of(place).write_bytes(whole)
        changed(place, at, struct.pack("<Q", size))
        refused(place, "more rows than there are|ends before|not there|two lists|in no list")


def test_lists_of_which_few_have_rows_are_read(place):
    """faiss writes the sizes of such lists in another way."""
    one = np.tile(vectors(1), (N, 1)) + np.linspace(0, 1e-3, N, dtype=np.float32)[:, None]
    from closecall.index.building import build_index

    rows = [(f"p{at}", f"passage {at}") for at in range(N)]
    build_index(rows, place, vectors=one, kind="ivf:nlist=9:nprobe=9", similarity="dot")
    data = file_of(place).read_bytes()
    assert b"full" in data or b"sprs" in data
    assert len(open_index(place)) == N


@pytest.mark.parametrize(("kind", "after"), [("sq8", D), ("sqfp16", 2 * D), ("ivfpq:m=4", 4)])
def test_codes_of_another_width(place, kind, after):
    made(kind, N, path=place)
    data = file_of(place).read_bytes()
    wide = data.index(struct.pack("<QQ", D, after), HEAD)
    changed(place, wide, struct.pack("<Q", 1 << 20))
    refused(place, "expected")


def test_a_part_of_another_kind(place):
    made("hnsw", N, path=place)
    whole = file_of(place).read_bytes()
    for word in (b"IxPT", b"IHNs", b"IwFl", b"\xff\xff\xff\xff"):
        changed(place, 0, word)
        refused(place, "a part is")
    file_of(place).write_bytes(whole)
    changed(place, -(N * ROW + 8 + HEAD), b"IxPq")
    refused(place, "a part is")

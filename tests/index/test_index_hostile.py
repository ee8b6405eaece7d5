"""An index whose folder, options or vectors somebody chose to do harm, or that two change at once."""

import multiprocessing
import os
import signal
import warnings

import numpy as np
import pytest
from made_rows import files, made, rows, vectors
from test_index_folder import fit, rewrite

from closecall.errors import (
    DataError,
    IndexFolderError,
    NonFiniteError,
    ShapeError,
    UsageError,
)
from closecall.index import rebuilding, stored
from closecall.index.building import build_index, open_index
from closecall.index.exact import top_k
from closecall.index.rebuilding import rebuild_index

QUERY = vectors(1, seed=8)[0]


def options_of(place):
    return open_index(place, rebuild=True).kind.options


def grown(place):
    """Add a row as another process would."""
    index = open_index(place)
    index.add([("theirs", "a row of another process")], vectors=vectors(1))
    index.save()


def test_what_another_process_added_meanwhile_is_not_written_over(tmp_path):
    place = tmp_path / "ix"
    made(n=5, path=place)
    mine = open_index(place)
    grown(place)
    mine.add([("mine", "a row")], vectors=vectors(1))
    with pytest.raises(IndexFolderError, match="another process changed this index since it was"):
        mine.save()
    assert open_index(place).get("theirs").text == "a row of another process"
    assert len(open_index(place)) == 6
    mine.save(tmp_path / "elsewhere")  # nothing is lost of these either
    assert open_index(tmp_path / "elsewhere").get("mine").text == "a row"


def test_what_another_process_adds_to_what_is_rebuilt_is_kept(tmp_path, monkeypatch):
    place = tmp_path / "ix"
    made(n=5, path=place)
    real = rebuilding.building

    def late(folder):
        grown(place)
        return real(folder)

    monkeypatch.setattr(rebuilding, "building", late)
    with pytest.raises(IndexFolderError, match="another process changed this index"):
        rebuild_index(place)
    assert len(open_index(place)) == 6


@pytest.mark.parametrize("name", ["v1", "v2", ".building"])
@pytest.mark.parametrize("indexed", [False, True])
def test_folders_of_somebody_that_are_named_as_ours_are_left_alone(tmp_path, name, indexed):
    place = tmp_path / "api"
    if indexed:
        made(n=3, path=place)
    (place / name).mkdir(parents=True, exist_ok=True)
    (place / name / "notes.txt").write_text("mine")
    before = files(place)
    with pytest.raises(UsageError, match=rf"holds other things \('{name}/notes\.txt'\)"):
        made(n=4, path=place)
    assert files(place) == before


def test_a_link_or_file_of_somebody_that_is_named_as_ours_is_left_alone(tmp_path):
    place, theirs = tmp_path / "api", tmp_path / "theirs"
    place.mkdir()
    theirs.mkdir()
    (place / "v1").symlink_to(theirs)
    with pytest.raises(UsageError, match=r"holds other things \('v1'\)"):
        made(n=4, path=place)
    assert (place / "v1").is_symlink()
    (place / "v1").unlink()
    (place / "v1").write_text("mine")
    with pytest.raises(UsageError, match=r"holds other things \('v1'\)"):
        made(n=4, path=place)


def test_no_index_is_written_through_a_link(tmp_path):
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    made(n=5, path=mine)
    made(n=5, path=theirs)
    opened = open_index(theirs)
    opened.add([("new", "a row")], vectors=vectors(1))
    (theirs / "index.json").unlink()
    (theirs / "index.json").symlink_to(mine / "index.json")
    before = files(mine)
    with pytest.raises(IndexFolderError, match=r"index\.json: a link, where a file was written"):
        open_index(theirs)
    for write in (opened.save, lambda: made(n=5, path=theirs), lambda: rebuild_index(theirs)):
        with pytest.raises((UsageError, IndexFolderError), match="a link"):
            write()
    assert files(mine) == before
    (theirs / "index.json").unlink()
    (theirs / "index.json").symlink_to(tmp_path / "made elsewhere")
    with pytest.raises(UsageError, match=r"its index\.json is a link; choose a new folder"):
        made(n=5, path=theirs)
    assert not (tmp_path / "made elsewhere").exists()


@pytest.mark.parametrize("width", [0, 65_537])
def test_vectors_that_could_not_be_read_back_leave_the_old_index(tmp_path, width):
    place = tmp_path / "ix"
    made(n=5, path=place)
    before = files(place)
    wide = np.ones((2, width), dtype=np.float32)
    with pytest.raises(ShapeError, match="an index takes 1 to 65,536"):
        build_index(rows(2), place, vectors=wide, similarity="dot")
    assert files(place) == before


@pytest.mark.parametrize(
    ("kind", "changes", "told"),
    [
        ("hnsw", {"m": 0}, "options: not those of hnsw"),
        ("hnsw", {"m": 1}, "options: not those of hnsw"),
        ("hnsw", {"ef": 0}, "options: not those of hnsw"),
        ("ivf", {"nlist": 0, "nprobe": 0}, "options: not those of ivf"),
        ("ivf", {"nlist": 1 << 20}, "more lists than its rows can have"),
        ("ivf", {"nprobe": 13}, "more lists than its rows can have"),
        ("ivfpq", {"m": 0}, "options: not those of ivfpq"),
        ("ivfpq", {"m": 3}, "m does not divide its dims"),
    ],
)
def test_options_with_which_faiss_ends_the_process_never_reach_it(tmp_path, kind, changes, told):
    place = tmp_path / "ix"
    made(kind, path=place)
    rewrite(place, options={**options_of(place), **changes})
    for rebuild in (False, True):
        with pytest.raises(IndexFolderError, match=told):
            open_index(place, rebuild=rebuild)


def test_contradictions_of_numbers(tmp_path):
    place = tmp_path / "ix"
    made("hnsw", path=place)
    data = (place / "index.json").read_bytes()
    counts = {"found": 50, "wanted": 10, "k": 10, "queries": 1, "source": "x", "seed": None}
    for changes, told in (
        ({"threads": 2**31 - 1}, "trained, seed or threads"),
        ({"recall": counts}, "recall: its counts do not add up"),
        ({"left_out": {"count": 0, "first": [["a", "b"]]}}, "left_out: its counts"),
        ({"dims": 0}, "dims 0: out of range"),
    ):
        (place / "index.json").write_bytes(data)
        rewrite(place, **changes)
        with pytest.raises(IndexFolderError, match=told):
            open_index(place)


@pytest.mark.parametrize(("kind", "trained"), [("exact", 1), ("ivfpq", 255)])
def test_a_part_that_its_kind_does_not_have_is_never_made(tmp_path, kind, trained):
    place = tmp_path / "ix"
    made(kind, path=place)
    rewrite(place, trained=trained)
    for rebuild in (False, True):
        with pytest.raises(IndexFolderError, match="trained: "):
            open_index(place, rebuild=rebuild)


def test_a_graph_of_one_link_is_refused_before_faiss_sees_it():
    with pytest.raises(UsageError, match="m must be a whole number from 2 to 512, got '1'"):
        made("hnsw:m=1", n=9)
    with pytest.raises(UsageError, match="the option m is given twice"):
        made("hnsw:m=8:m=16", n=9)
    assert len(made("hnsw:m=2", n=90)) == 90


@pytest.mark.parametrize("similarity", ["dot", "euclidean"])
@pytest.mark.parametrize("kind", ["ivf", "ivfpq", "hnsw", "sq8", "sqfp16"])
def test_vectors_of_any_length_are_searched_or_refused(kind, similarity):
    """k-means of faiss ends the process where a square is beyond float32."""
    big = vectors(300) * np.float32(1e25)
    if kind in {"ivf", "ivfpq"}:
        with pytest.raises(NonFiniteError, match=rf"its length is \S+, and the kind {kind} takes"):
            build_index(rows(300), vectors=big, kind=kind, similarity=similarity)
        index = made(kind, similarity=similarity)
        with pytest.raises(NonFiniteError, match="row 0: its length"):
            index.replace([(rows()[0][0], "changed")], vectors=big[:1])
        assert index.get(rows()[0][0]).text == "passage 0"  # nothing was changed
        assert len(index.search(QUERY, 3)[0]) == 3
    elif similarity == "euclidean":  # a dot product of these is no float32
        index = build_index(rows(300), vectors=big, kind=kind, similarity=similarity)
        assert [hit.id for hit in index.search(big[7], 1)[0]] == [rows()[7][0]]


@pytest.mark.parametrize("kind", ["ivf", "hnsw"])
def test_a_vector_that_is_no_number_is_found_when_the_part_is_made_again(tmp_path, kind):
    place = tmp_path / "ix"
    made(kind, path=place, similarity="dot")
    path = place / "v1" / "vectors.npy"
    data = bytearray(path.read_bytes())
    data[-4:] = np.float32("nan").tobytes()
    path.write_bytes(data)
    fit(place)
    with pytest.raises(IndexFolderError, match=r"vectors\.npy: vectors\[399, 15\] is nan"):
        open_index(place, rebuild=True)
    with pytest.raises(DataError, match=r"vectors\.npy\[399, 15\] is nan"):
        made_to_look(place)


def made_to_look(place):
    import shutil

    exact = place.parent / "exact"
    made("exact", path=exact, similarity="dot")
    shutil.copy(place / "v1" / "vectors.npy", exact / "v1" / "vectors.npy")
    fit(exact)
    open_index(exact).require_sound()


def test_a_row_that_lacks_its_text_is_found_without_a_search(tmp_path):
    place = tmp_path / "ix"
    made(n=3, path=place)
    assert open_index(place).require_sound() == 3
    path = place / "v1" / "rows.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b'{"id": "x"'.ljust(len(lines[1]) - 2) + b"}\n" + lines[2])
    fit(place)
    with pytest.raises(IndexFolderError, match=r"rows\.jsonl:2: not a row"):
        open_index(place).require_sound()
    path.write_bytes(b"".join(lines))
    np.save(place / "v1" / "ranks.npy", np.zeros(3, "<i8"))
    fit(place)
    with pytest.raises(IndexFolderError, match=r"ranks\.npy: not the order of the ids"):
        open_index(place).require_sound()


def test_a_file_that_goes_while_it_is_opened_is_named(tmp_path, monkeypatch):
    place = tmp_path / "ix"
    made(n=3, path=place)
    real = stored._mapped

    def gone(path):
        path.unlink()
        return real(path)

    monkeypatch.setattr(stored, "_mapped", gone)
    with pytest.raises(IndexFolderError, match=r"rows\.jsonl: No such file"):
        open_index(place)


def _write_within(place, limit):
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    try:
        made("hnsw", path=place)
    except UsageError as error:
        os._exit(7 if "faiss could not write index.faiss whole" in str(error) else 8)


@pytest.mark.skipif(os.name != "posix", reason="limits as POSIX has them")
@pytest.mark.parametrize("missing", [100, 60_000], ids=["the last bytes", "most"])
def test_what_faiss_cannot_write_whole_is_no_index(tmp_path, missing):
    """faiss throws where a write fails, and only prints where the last one does."""
    made("hnsw", path=tmp_path / "whole")
    size = (tmp_path / "whole" / "v1" / "index.faiss").stat().st_size
    place = tmp_path / "ix"
    made(n=5, path=place)
    before = files(place)
    writer = multiprocessing.get_context("fork").Process(
        target=_write_within, args=(place, size - missing)
    )
    with warnings.catch_warnings():  # newer Pythons warn of a fork beside threads
        warnings.simplefilter("ignore", DeprecationWarning)
        writer.start()
    writer.join(120)
    assert writer.exitcode == 7
    assert files(place) == before


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"seed": 2**70}, "seed must be"),
        ({"seed": -1}, "seed must be"),
        ({"recall_goal": "x"}, "recall_goal must be"),
        ({"memory": -5, "kind": "auto"}, "memory must be"),
        ({"kind": 5}, "kind must be a text"),
    ],
)
def test_a_rebuild_with_wrong_options_leaves_the_index(tmp_path, options, told):
    made("ivf", path=tmp_path / "ix")
    before = files(tmp_path / "ix")
    with pytest.raises(UsageError, match=told):
        rebuild_index(tmp_path / "ix", **options)
    assert files(tmp_path / "ix") == before


@pytest.mark.parametrize(
    ("error", "told", "act"),
    [
        (UsageError, "no row at position -1", lambda index: index.ids([0, -1])),
        (UsageError, "no row at position 50", lambda index: index.ids([50])),
        (ShapeError, "different lengths", lambda index: index.search([[1.0, 2.0], [1.0]], 2)),
        (UsageError, "at most 1,000,000", lambda index: index.nearest(vectors(1), 2**60)),
        (UsageError, "at most 1,000,000", lambda _: top_k(vectors(1), vectors(3), 2**60)),
        (UsageError, "at most 1,000,000", lambda index: index.measure_recall(k=2**60)),
        (UsageError, "k must be", lambda index: index.measure_recall(k=0)),
        (UsageError, "count must be", lambda index: index.measure_recall(count=-1)),
        (UsageError, "seed must be", lambda index: index.measure_recall(seed=-1)),
        (UsageError, "expected an object", lambda index: index.search(QUERY, 1, where=[])),
        (UsageError, "year: eq: .* too large a number",
         lambda index: index.search(QUERY, 1, where={"year": 10**5000})),
        (DataError, "row 1: metadata: a field's name is a text, got 1",
         lambda index: index.add([("new", "text", {1: "x", "1": "y"})], vectors=vectors(1))),
        (ShapeError, "different lengths", lambda _: build_index(rows(1), vectors=[[[1.0], [1, 2]]])),
        (UsageError, "vectors: expected a matrix", lambda _: build_index(rows(1), vectors=5)),
        (UsageError, "rows: expected an iterable", lambda _: build_index(5, vectors=vectors(1))),
        (UsageError, "a name holds no NUL", lambda _: made(n=3, path="a\0b")),
        (UsageError, "threads must be", lambda _: made("hnsw", n=9, threads=2**40)),
        (UsageError, "embedder_name must be a text", lambda _: made(n=3, embedder_name=5)),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_in_words(error, told, act):
    index = made("hnsw", n=50)
    with pytest.raises(error, match=told):
        act(index)
    assert len(index.search(QUERY, 2**60)[0]) == 50  # a search has no room for more than there are


def test_rows_that_cannot_be_read_are_no_fault_of_the_folder(tmp_path):
    def broken():
        yield from rows(2)
        raise FileNotFoundError(2, "No such file or directory", "corpus.jsonl")

    with pytest.raises(DataError, match=r"rows after row 0: cannot be read: .*corpus\.jsonl"):
        build_index(broken(), tmp_path / "ix", vectors=vectors(3))


def test_a_last_block_without_vectors_is_no_vector_too_many():
    assert len(build_index(rows(3), vectors=iter([vectors(3), vectors(3)[:0]]))) == 3
    with pytest.raises(ShapeError, match="more vectors than the 3 rows"):
        build_index(rows(3), vectors=iter([vectors(3), vectors(3)[:0], vectors(1)]))

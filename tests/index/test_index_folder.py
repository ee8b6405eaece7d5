"""Index folders that were killed, cut short, edited, made by others, or are in use."""

import hashlib
import json
import os
import random
import time
from pathlib import Path

import numpy as np
import pytest
from forked import Forks
from made_rows import KINDS, N, files, made, rows, vectors

from closecall.errors import ClosecallError, IndexFolderError, UsageError
from closecall.index import folder as folders
from closecall.index.building import build_index, open_index
from closecall.instrument import canonical_json

QUERY = vectors(1, seed=8)[0]
WRITER = Path(__file__).parent / "slow_writer.py"


def rewrite(place, **changes):
    """Change members of index.json and make its digest fit, as a hostile hand would."""
    document = json.loads((place / "index.json").read_text())
    document.update(changes)
    document.pop("digest", None)
    document["digest"] = hashlib.sha256(canonical_json(document)).hexdigest()
    (place / "index.json").write_text(json.dumps(document))


def fit(place):
    """Make index.json fit whatever lies in the generation now."""
    facts = {
        p.name: {"bytes": p.stat().st_size, "sha256": hashlib.sha256(p.read_bytes()).hexdigest()}
        for p in (place / "v1").iterdir()
    }
    rewrite(place, files=facts)


def test_a_generation_that_lies_elsewhere_is_refused(tmp_path):
    place = tmp_path / "ix"
    made("exact", path=place)
    (place / "v1").rename(tmp_path / "elsewhere")
    (place / "v1").symlink_to(tmp_path / "elsewhere")
    for check in (True, False):
        with pytest.raises(IndexFolderError, match="v1: a link"):
            open_index(place, check=check)


def test_at_the_last_generation_nothing_is_written(tmp_path):
    place, last = tmp_path / "ix", f"v{10**18 - 1}"
    index = made("exact", path=place)
    (place / "v1").rename(place / last)
    rewrite(place, generation=last)
    before = files(place)
    found = open_index(place)
    found.add([("one more", "a text")], vectors=vectors(1))
    for save in (found.save, lambda: made("exact", path=place)):
        with pytest.raises(IndexFolderError, match="no generation is left; build the index in a"):
            save()
    assert files(place) == before
    assert open_index(place).search(QUERY, 9) == index.search(QUERY, 9)


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="links are followed there")
def test_a_lock_that_is_a_link_is_not_followed(tmp_path):
    place = tmp_path / "ix"
    place.mkdir()
    (place / ".lock").symlink_to(tmp_path / "made elsewhere")
    with pytest.raises(UsageError, match=r"cannot write .*ix: .*choose another folder"):
        made("exact", path=place)
    assert not (tmp_path / "made elsewhere").exists()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_saved_is_what_is_opened(kind, tmp_path):
    index = made(kind, path=tmp_path / "ix", similarity="euclidean", seed=4)
    again = open_index(tmp_path / "ix")
    assert again.search(QUERY, 9) == index.search(QUERY, 9)
    assert (len(again), again.kind, again.recall, again.why, again.similarity, again.dims) == (
        N, index.kind, index.recall, index.why, "euclidean", 16,
    )  # fmt: skip
    names = {"vectors.npy", "rows.jsonl", "offsets.npy", "ranks.npy"}
    assert {p.name for p in (tmp_path / "ix" / "v1").iterdir()} == names | (
        set() if kind in {"exact", "flat"} else {"index.faiss"}
    )
    index.save(tmp_path / "copy")
    assert {k: v for k, v in files(tmp_path / "copy").items() if k != ".lock"} == {
        k: v for k, v in files(tmp_path / "ix").items() if k != ".lock"
    }


def test_vectors_and_texts_are_mapped_and_not_read(tmp_path):
    made(path=tmp_path / "ix")
    opened = open_index(tmp_path / "ix")
    (part,) = opened._stored.stack._parts
    assert isinstance(part, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        part[0, 0] = 1


def test_every_damaged_file_is_refused_by_name(tmp_path):
    place = tmp_path / "ix"
    made("ivfpq", path=place)
    whole, chance = files(place), random.Random(5)
    for name, data in whole.items():
        if name == ".lock":
            continue
        hurt = [data[: len(data) // 2], data[:-1], b"", data + b"x"]
        for _ in range(12):
            at = chance.randrange(len(data))
            hurt.append(
                data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]
            )
        for number, bad in enumerate(hurt):
            (place / name).write_bytes(bad)
            if name == "index.json" and bad.split() == data.split():
                assert len(open_index(place)) == N  # white space says nothing
                continue
            with pytest.raises(IndexFolderError) as caught:
                open_index(place)
            assert Path(name).name in str(caught.value), (name, number)
            assert caught.value.exit_code == 4
        (place / name).unlink()
        with pytest.raises(IndexFolderError, match=r"no index|missing"):
            open_index(place)
        (place / name).write_bytes(data)
    assert len(open_index(place)) == N


def test_unchecked_it_still_looks_at_sizes_and_at_the_file_of_faiss(tmp_path):
    place = tmp_path / "ix"
    made("hnsw", path=place)
    whole = files(place)
    for name in ("v1/vectors.npy", "v1/rows.jsonl"):
        (place / name).write_bytes(whole[name][:-1])
        with pytest.raises(IndexFolderError, match=f"{Path(name).name}: cut short"):
            open_index(place, check=False)
        (place / name).write_bytes(whole[name])
    bad = bytearray(whole["v1/index.faiss"])
    bad[100] ^= 1
    (place / "v1" / "index.faiss").write_bytes(bad)
    with pytest.raises(IndexFolderError, match=r"index\.faiss: damaged"):
        open_index(place, check=False)


def test_the_file_of_faiss_is_not_read_before_its_bytes_are_checked(tmp_path, monkeypatch):
    import faiss

    place = tmp_path / "ix"
    expected = made("hnsw", path=place).search(QUERY, 5)
    (place / "v1" / "index.faiss").write_bytes(b"IxFI" + b"\xff" * 200)
    monkeypatch.setattr(faiss, "read_index", lambda *_: pytest.fail("faiss read a damaged file"))
    with pytest.raises(IndexFolderError, match=r"index\.faiss"):
        open_index(place)
    size = len((place / "v1" / "index.faiss").read_bytes())
    facts = json.loads((place / "index.json").read_text())["files"]
    facts["index.faiss"] = {"bytes": size, "sha256": "0" * 64}
    rewrite(place, files=facts)
    assert open_index(place, rebuild=True).search(QUERY, 5) == expected


def test_a_rebuild_needs_no_whole_file_of_faiss(tmp_path):
    place = tmp_path / "ix"
    expected = made("hnsw", path=place).search(QUERY, 5)
    file = place / "v1" / "index.faiss"
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(IndexFolderError, match=r"index\.faiss: cut short"):
        open_index(place)
    for check in (True, False):
        assert open_index(place, rebuild=True, check=check).search(QUERY, 5) == expected
    file.unlink()
    assert open_index(place, rebuild=True).search(QUERY, 5) == expected
    (place / "v1" / "ranks.npy").unlink()
    with pytest.raises(IndexFolderError, match=r"ranks\.npy: missing"):
        open_index(place, rebuild=True)


@pytest.mark.parametrize("kind", KINDS)
def test_rebuilt_from_the_vectors_it_finds_the_same(kind, tmp_path):
    index = made(kind, path=tmp_path / "ix")
    again = open_index(tmp_path / "ix", rebuild=True)
    assert again.search(vectors(20, seed=6), 10) == index.search(vectors(20, seed=6), 10)


def test_a_hostile_folder_whose_sums_fit_is_refused_all_the_same(tmp_path):
    place = tmp_path / "ix"
    made("hnsw", path=place)
    whole = files(place)
    offsets = np.load(place / "v1" / "offsets.npy")
    backwards = offsets.copy()
    backwards[5] = backwards[4] - 1

    def as_npy(array):
        path = tmp_path / "made.npy"
        np.save(path, array)
        return path.read_bytes()

    objects = tmp_path / "objects.npy"
    np.save(objects, np.array([{}] * 3, dtype=object), allow_pickle=True)
    bad = {
        "v1/offsets.npy": [as_npy(backwards), as_npy(offsets + 1), as_npy(offsets[:-1]), as_npy(offsets.astype("<i4"))],
        "v1/vectors.npy": [
            objects.read_bytes(), b"\x93NUMPY\x01\x00\xff\xff", as_npy(vectors(N + 1)), as_npy(vectors().astype("<f8")),
            as_npy(np.asfortranarray(vectors())), b"PK\x03\x04" + b"\0" * 60, b"",
        ],
        "v1/ranks.npy": [as_npy(np.zeros(N)), as_npy(np.zeros(3, "<i8"))],
        "v1/index.faiss": [b"", b"IxFI" + b"\xff" * 300, whole["v1/index.faiss"][:200]],
    }  # fmt: skip
    for name, contents in bad.items():
        for content in contents:
            (place / name).write_bytes(content)
            fit(place)
            with pytest.raises(IndexFolderError, match=Path(name).name.replace(".", r"\.")):
                open_index(place)
        (place / name).write_bytes(whole[name])
    fit(place)
    assert len(open_index(place)) == N


def test_another_index_of_faiss_than_the_one_spoken_of_is_refused(tmp_path):
    import faiss

    place = tmp_path / "ix"
    made("hnsw", path=place)
    other = faiss.IndexHNSWFlat(16, 32, faiss.METRIC_L2)
    other.add(vectors())
    fewer = faiss.IndexHNSWFlat(16, 32, faiss.METRIC_INNER_PRODUCT)
    fewer.add(vectors()[:-1])
    flat = faiss.IndexFlatIP(16)
    flat.add(vectors())
    for index, fact in (
        (other, "the metric is 1"),
        (fewer, "the number of rows is 399"),
        (flat, "a part is b'IxFI'"),
    ):
        faiss.write_index(index, str(place / "v1" / "index.faiss"))
        fit(place)
        with pytest.raises(
            IndexFolderError, match=f"not a file of faiss hnsw as it is written here: {fact}"
        ):
            open_index(place)


def test_rows_that_a_hostile_hand_wrote(tmp_path):
    place = tmp_path / "ix"
    made(n=3, path=place)
    lines = (place / "v1" / "rows.jsonl").read_bytes().splitlines(keepends=True)
    for bad in (b"{" + b"x" * (len(lines[1]) - 2) + b"\n", b"[" * (len(lines[1]) - 1) + b"\n"):
        (place / "v1" / "rows.jsonl").write_bytes(lines[0] + bad + lines[2])
        fit(place)
        opened = open_index(place)
        with pytest.raises(IndexFolderError, match=r"rows\.jsonl:2: not a row"):
            opened.search(QUERY, 3)
        with pytest.raises(IndexFolderError, match=r"rows\.jsonl:2: not a row"):
            opened.search(QUERY, 3, where={"lang": "de"})
    twice = lines[1].replace(lines[1][8:15], lines[0][8:15])
    (place / "v1" / "rows.jsonl").write_bytes(lines[0] + twice + lines[2])
    fit(place)
    with pytest.raises(IndexFolderError, match=r"rows\.jsonl:2: id 'p000000' is on line 1 too"):
        open_index(place).remove(["p000000"])


def test_contradictions_in_the_manifest_are_refused(tmp_path):
    place = tmp_path / "ix"
    made("ivf", path=place)
    data = (place / "index.json").read_bytes()
    document = json.loads(data)
    bad = [
        (
            {"schema": "closecall-index/2"},
            "this version of closecall reads closecall-index/1; upgrade",
        ),
        ({"schema": "other"}, "not an index of closecall: schema is 'other'"),
        ({"schema": None}, "not an index of closecall"),
        ({"kind": "annoy"}, "kind: index kind 'annoy'"),
        ({"kind": "exact"}, "options: not those of exact"),
        ({"options": {"nlist": 2, "nprobe": 1 << 30}}, "options"),
        ({"generation": "../../etc"}, "generation"),
        ({"rows": -1}, "out of range"),
        ({"rows": N + 1}, "expected"),
        ({"dims": 1 << 20}, "out of range"),
        ({"trained": N + 1}, "trained"),
        ({"trained": 0}, "files: expected"),
        ({"seed": -1}, "seed"),
        ({"similarity": "manhattan"}, "not an index: Invalid enum value"),
        ({"length": "x"}, "length"),
        ({"more": 1}, "unknown field"),
        ({"instrument_digest": "0" * 64}, "its digest does not fit it"),
        (
            {"files": {**document["files"], "evil.so": {"bytes": 1, "sha256": "0" * 64}}},
            "files: expected",
        ),
        (
            {"files": {**document["files"], "rows.jsonl": {"bytes": -1, "sha256": "0" * 64}}},
            "no size and sha256",
        ),
    ]
    for changes, message in bad:
        (place / "index.json").write_bytes(data)
        rewrite(place, **changes)
        with pytest.raises(IndexFolderError, match=message):
            open_index(place)
    for text in (
        "",
        "[]",
        "{",
        "null",
        '{"schema": "closecall-index/1"}',
        '{"a": NaN}',
        "\xff",
        "[" * 9999,
    ):
        (place / "index.json").write_text(text, encoding="latin-1")
        with pytest.raises(IndexFolderError, match=r"index\.json"):
            open_index(place)


def test_places_without_an_index_are_named(tmp_path):
    with pytest.raises(
        IndexFolderError, match="there is no such folder; make one with: closecall index build"
    ):
        open_index(tmp_path / "no")
    with pytest.raises(IndexFolderError, match=r"holds no index\.json"):
        open_index(tmp_path)
    with pytest.raises(IndexFolderError, match="no such folder"):
        open_index(WRITER)
    with pytest.raises(IndexFolderError):
        open_index("a\0b")


def test_a_folder_with_other_things_is_left_alone(tmp_path):
    (tmp_path / "letters.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"holds other things \('letters.txt'\)"):
        made(path=tmp_path)
    (tmp_path / "letters.txt").unlink()
    (tmp_path / "index.json").write_text('{"name": "a web page"}')
    with pytest.raises(UsageError, match=r"its index.json is not of closecall"):
        made(path=tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["index.json"]
    file = tmp_path / "index.json"
    with pytest.raises(UsageError, match="cannot write"):
        made(path=file)


def test_a_damaged_or_older_index_may_be_built_again(tmp_path):
    place = tmp_path / "ix"
    made(path=place)
    data = (place / "index.json").read_bytes()
    for bad in (data[: len(data) // 2], data.replace(b"closecall-index/1", b"closecall-index/9")):
        (place / "index.json").write_bytes(bad)
        made(n=7, path=place)
        assert len(open_index(place)) == 7


def test_a_build_that_fails_leaves_the_old_index_and_nothing_else(tmp_path):
    place = tmp_path / "ix"
    made(path=place)
    before = files(place)

    def breaks():
        yield from rows(1500)
        raise RuntimeError("the source went away")

    with pytest.raises(RuntimeError, match="went away"):
        build_index(breaks(), place, vectors=vectors(1600))
    with pytest.raises(ClosecallError):
        build_index(rows(3), place, vectors=vectors(2))
    assert files(place) == before


@pytest.fixture
def writers():
    with Forks(WRITER) as forks:
        yield forks


@pytest.mark.skipif(os.name != "posix", reason="kills as POSIX does")
@pytest.mark.parametrize("kind", ["exact", "ivf"])
def test_killed_at_any_moment_it_leaves_the_old_index_or_the_new_one(kind, writers, tmp_path):
    place, n = tmp_path / "ix", 6000
    old = made(path=place)
    before = open_index(place).search(QUERY, 5)
    new = build_index(rows(n), vectors=vectors(n) * np.float32(-1), kind=kind).search(QUERY, 5)
    chance, killed = random.Random(11), 0

    def started(folder):
        writer = writers.start(folder, kind, n)
        assert writer.stdout.readline() == b"writing\n"
        return writer

    with started(tmp_path / "whole") as writer:
        began = time.monotonic()
        assert writer.wait() == 0
        takes = time.monotonic() - began
    for round_number in range(80):
        if round_number >= 8 and killed >= 3:
            break
        with started(place) as writer:
            time.sleep(chance.random() * takes)
            writer.kill()
        killed += writer.returncode != 0
        takes *= 1.0 if writer.returncode else 0.5  # a machine may be less busy than it was
        found = open_index(place).search(QUERY, 5)
        assert found in (before, new)
    assert killed >= 3
    assert old.search(QUERY, 5) == before  # who has it open reads on
    made(n=5, path=place)
    left = {p.name for p in place.iterdir()} - {".lock", "index.json"}
    assert len(left) == 1
    assert len(open_index(place)) == 5


def test_killed_between_any_two_steps_of_the_commit(tmp_path, monkeypatch):
    """The process stops at each call that changes the folder, one after the other."""

    class Stopped(BaseException):
        pass

    steps = 0
    for stop in range(60):
        place = tmp_path / str(stop)
        made(n=9, path=place)
        count = 0

        def step(real, stop=stop):
            def call(*args, **options):
                nonlocal count
                if count == stop:
                    raise Stopped
                count += 1
                return real(*args, **options)

            return call

        with monkeypatch.context() as patch:
            for name in ("_sync", "_remove"):
                patch.setattr(folders, name, step(getattr(folders, name)))
            patch.setattr(Path, "rename", step(Path.rename))
            patch.setattr(Path, "replace", step(Path.replace))
            try:
                made(n=4, path=place)
            except Stopped:
                steps += 1
            else:
                break
        assert len(open_index(place)) in (9, 4)
        made(n=5, path=place)
        assert len(open_index(place)) == 5
        assert len(list(place.iterdir())) == 3
    assert steps >= 8


def test_two_writers_do_not_write_at_once(tmp_path):
    place = tmp_path / "ix"
    made(n=5, path=place)

    def rows_while_another_writes():
        with pytest.raises(IndexFolderError, match="another process is writing this index"):
            made(n=3, path=place)
        yield from rows(4)

    build_index(rows_while_another_writes(), place, vectors=vectors(4))
    assert len(open_index(place)) == 4


def test_a_reader_that_comes_while_a_new_one_takes_its_place(tmp_path, monkeypatch):
    from closecall.index import stored

    place = tmp_path / "ix"
    made(n=5, path=place)
    real, calls = stored.verify, []

    def verify(*args, **options):
        calls.append(1)
        if len(calls) == 1:
            made(n=8, path=place)
        return real(*args, **options)

    monkeypatch.setattr(stored, "verify", verify)
    assert len(open_index(place)) == 8


def test_a_temporary_index_goes_with_its_last_reference():
    index = made(n=5)
    path = index.path
    assert path.is_dir()
    del index
    assert not path.exists()


HEADS = (
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (400, 16), ",
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (" + b"(" * 300,
    b"{'descr': 'O', 'fortran_order': False, 'shape': (400, 16)}\n",
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (1 << 60, 16)}\n",
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (400, 1152921504606846992)}\n",
    b"\x00\xff",
    b"",
)


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("file", ["vectors.npy", "offsets.npy", "ranks.npy"])
def test_an_array_whose_head_is_not_python_or_lies(tmp_path, file, head):
    place = tmp_path / "index"
    made(path=place)
    path = place / "v1" / file
    magic = b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little")
    path.write_bytes(magic + head + path.read_bytes()[128:])
    fit(place)
    with pytest.raises(IndexFolderError, match=file.replace(".", r"\.")):
        open_index(place)


def test_an_empty_index_with_an_array_that_claims_to_be_endless(tmp_path):
    """An array without rows is not mapped; one that lies is not made room for, either."""
    place = tmp_path / "index"
    build_index([], place, vectors=np.empty((0, 16), dtype=np.float32))
    head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776, 16)}".ljust(117)
    data = b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + head + b"\n"
    (place / "v1" / "vectors.npy").write_bytes(data)
    fit(place)
    with pytest.raises(IndexFolderError, match=r"vectors\.npy: shape"):
        open_index(place)


def test_a_vector_that_is_no_number_is_told_with_its_file(tmp_path):
    place = tmp_path / "index"
    made(path=place)
    path = place / "v1" / "vectors.npy"
    data = bytearray(path.read_bytes())
    data[-4:] = np.float32("nan").tobytes()
    path.write_bytes(data)
    fit(place)
    with pytest.raises(ClosecallError, match=r"vectors\.npy\[399, 15\] is nan"):
        open_index(place).search(QUERY, 3)

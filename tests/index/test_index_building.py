"""Rows from texts and arrays, larger than memory, and the embedder that belongs to an index."""

import subprocess
import sys

import numpy as np
import pytest
from made_rows import N, made, rows, vectors

from closecall import Role
from closecall.errors import (
    DataError,
    EmbeddingError,
    InstrumentMismatchError,
    ShapeError,
    UsageError,
    ZeroVectorError,
)
from closecall.index.building import build_index, open_index
from closecall.index.recall import Recall
from closecall.testing import HashEmbedder

TEXTS = [
    ("bread", "Knead the dough and let it rest", {"kind": "recipe"}),
    ("tyre", "Let the air out of the tyre", {"kind": "manual"}),
    ("soup", "Boil the carrots and the leeks", {"kind": "recipe"}),
]


class Roles(HashEmbedder):
    """Remembers the role of each text."""

    def __init__(self, **options):
        super().__init__(**options)
        self.roles = []

    def embed_counted(self, texts, role=Role.TEXT):
        self.roles += [role] * len(texts)
        return super().embed_counted(texts, role)


def test_texts_are_embedded_as_documents_and_queries_as_queries(tmp_path):
    embedder = Roles()
    index = build_index(TEXTS, tmp_path / "ix", embedder=embedder)
    assert embedder.roles == [Role.DOCUMENT] * 3
    assert index.instrument == embedder.instrument
    opened = open_index(tmp_path / "ix")
    assert opened.instrument == embedder.instrument
    hits = opened.search(["let the dough rest", "leeks"], 2, embedder=embedder)
    assert embedder.roles[3:] == [Role.QUERY] * 2
    assert [one[0].id for one in hits] == ["bread", "soup"]
    assert opened.search("leeks", 1, embedder=embedder)[0] == hits[1][:1]
    opened.add([("cat", "Feed the cat", {})], embedder=embedder)
    opened.replace([("tyre", "Pump the tyre up", {})], embedder=embedder)
    assert opened.search("the cat", 1, embedder=embedder)[0][0].id == "cat"
    assert opened.search("pump up", 1, embedder=embedder)[0][0].text == "Pump the tyre up"


def test_queries_of_another_embedder_are_refused_by_the_field_that_differs(tmp_path):
    index = build_index(TEXTS, tmp_path / "ix", embedder=HashEmbedder())
    other = HashEmbedder(model="hash-other")
    for call in (
        lambda: index.search("x", embedder=other),
        lambda: index.search(np.ones(64), instrument=other.instrument),
        lambda: index.add([("n", "x")], embedder=other),
        lambda: index.replace([("tyre", "x")], embedder=other),
    ):
        with pytest.raises(
            InstrumentMismatchError, match="model hash-words then, hash-other now"
        ) as caught:
            call()
        assert caught.value.exit_code == 6
    assert len(index) == 3
    assert index.search(np.ones(64), instrument=HashEmbedder().instrument)
    with pytest.raises(UsageError, match="texts need the embedder of the index"):
        index.search("x")
    with pytest.raises(UsageError, match="either texts or vectors"):
        index.search(["x", [1.0]], embedder=HashEmbedder())
    with pytest.raises(UsageError, match="does not say what embedded its rows"):
        made().search("x", embedder=HashEmbedder())


def test_vectors_may_come_with_their_instrument():
    embedder = HashEmbedder(dims=16)
    index = build_index(rows(), vectors=vectors(), instrument=embedder.instrument)
    assert len(index.search("x", 3, embedder=embedder)[0]) == 3
    with pytest.raises(ShapeError, match="vectors of 16 numbers; their instrument makes 64"):
        build_index(rows(), vectors=vectors(), instrument=HashEmbedder().instrument)
    with pytest.raises(UsageError, match="give one of the two"):
        build_index(TEXTS, embedder=embedder, instrument=embedder.instrument)
    for given in ({}, {"vectors": vectors(), "embedder": embedder}):
        with pytest.raises(UsageError, match="either vectors or an embedder"):
            build_index(rows(), **given)


def failing(texts):
    bad = [at for at, text in enumerate(texts) if "tyre" in text]
    if bad:
        raise EmbeddingError("no tyres please", indices=bad)


def test_a_text_without_a_vector_stops_the_build_or_is_left_out_and_told(tmp_path):
    embedder = HashEmbedder(on_embed=failing)
    with pytest.raises(
        EmbeddingError, match=r"no vector for 1 of the texts:\n  row tyre: .*no tyres please"
    ):
        build_index(TEXTS, tmp_path / "ix", embedder=embedder)
    assert not (tmp_path / "ix" / "index.json").exists()
    index = build_index(TEXTS, tmp_path / "ix", embedder=embedder, skip_failed=True)
    assert (len(index), index.left_out.count) == (2, 1)
    assert index.left_out.first == (("tyre", "hash-words (local): no tyres please"),)
    assert open_index(tmp_path / "ix").left_out == index.left_out
    with pytest.raises(EmbeddingError, match=r"query 2: .*no tyres please"):
        index.search(["a", "tyre"], embedder=embedder)
    none = build_index(TEXTS[1:2], embedder=embedder, skip_failed=True)
    assert (len(none), none.left_out.count) == (0, 1)


def test_zero_vectors_are_refused_by_their_row_or_left_out():
    given = vectors(2000)
    given[[7, 1500]] = 0
    with pytest.raises(ZeroVectorError, match="vectors, row 7, is a zero vector"):
        build_index(rows(2000), vectors=given)
    index = build_index(rows(2000), vectors=given, skip_failed=True)
    assert len(index) == 1998
    assert [name for name, _ in index.left_out.first] == [rows(2000)[7][0], rows(2000)[1500][0]]


def test_rows_and_vectors_may_come_bit_by_bit(tmp_path):
    seen = []
    n = 3000

    def blocks():
        for start in range(0, n, 700):
            seen.append(start)
            yield vectors(n)[start : start + 700]

    def one_by_one():
        for number, row in enumerate(rows(n)):
            # Never far ahead of what was asked for.
            assert number <= 1024 * (max(0, number // 1024) + 1)
            yield row

    stages = []
    index = build_index(
        one_by_one(),
        tmp_path / "ix",
        vectors=blocks(),
        kind="ivf",
        progress=lambda *told: stages.append(told),
    )
    assert seen == [0, 700, 1400, 2100, 2800]
    whole = build_index(rows(n), tmp_path / "whole", vectors=vectors(n), kind="ivf")
    assert index.search(vectors(9, seed=4), 9) == whole.search(vectors(9, seed=4), 9)
    assert (tmp_path / "ix" / "index.json").read_bytes() == (
        tmp_path / "whole" / "index.json"
    ).read_bytes()
    assert [told for told in stages if told[0] == "read"] == [
        ("read", 1024, None),
        ("read", 2048, None),
        ("read", n, None),
    ]
    assert {"train", "index"} < {told[0] for told in stages}
    assert stages[-1] == ("index", n, n)
    listed = build_index(rows(n), vectors=[vectors(n)[:1000], vectors(n)[1000:]], kind="exact")
    assert len(listed) == n


def test_a_build_holds_blocks_and_not_the_vectors(tmp_path):
    """40,000 rows of 512 numbers are 82 MB; what numpy holds of them stays far below."""
    code = f"""
import tracemalloc
import numpy as np
from closecall.index.building import build_index
def rows():
    for i in range(40000):
        yield f"{{i}}", "text " * 20
def blocks():
    chance = np.random.default_rng(0)
    for _ in range(80):
        yield chance.standard_normal((500, 512), dtype=np.float32)
next(blocks())
tracemalloc.start()
index = build_index(rows(), {str(tmp_path / "ix")!r}, vectors=blocks(), kind="exact")
print(tracemalloc.get_traced_memory()[1])
"""
    said = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=120
    )
    assert int(said.stdout) < 40e6


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("text", "row 1: expected \\(id, text\\)"),
        ((), "row 1: expected"),
        (("a", "b", {}, 1), "row 1: expected"),
        ((1, "b"), "row 1: id: expected a text of 1 to 1024 characters, got 1"),
        (("", "b"), "row 1: id"),
        (("a" * 1025, "b"), "row 1: id"),
        (("a\ud800", "b"), "row 1: id"),
        (("a", None), "row 1: text: expected a text, got None"),
        (("a", "\udc00"), "row 1: text"),
        (("a", "b", [1]), "row 1: metadata: expected an object"),
        (("a", "b", {"x": float("nan")}), "row 1: metadata: not a JSON object"),
        (("a", "b", {"x": {1, 2}}), "row 1: metadata: not a JSON object"),
        (("a", "b", {"x": "\ud800"}), "row 1: metadata: not a JSON object"),
    ],
    ids=repr,
)
def test_what_is_no_row_is_refused_by_number_and_field(bad, message):
    with pytest.raises(DataError, match=message):
        build_index([bad], vectors=vectors(1))


def test_an_id_that_comes_twice_is_refused_with_both_places():
    with pytest.raises(DataError, match="row 1500: id 'p000000' is that of row 1 too"):
        build_index([*rows(1499), ("p000000", "again")], vectors=vectors(1500))


@pytest.mark.parametrize("given", [vectors(N - 1), iter([vectors(N - 1)]), []])
def test_fewer_vectors_than_rows(given):
    with pytest.raises(ShapeError, match="vectors for more rows than that: give one vector a row"):
        build_index(rows(), vectors=given)


@pytest.mark.parametrize(
    "given", [vectors(N + 1), iter([vectors(N), vectors(1)]), iter([vectors(N + 1)])]
)
def test_more_vectors_than_rows(given):
    with pytest.raises(ShapeError, match="more vectors than the 400 rows"):
        build_index(rows(), vectors=given)


def test_vectors_of_two_widths():
    with pytest.raises(ShapeError, match="blocks of different widths"):
        build_index(rows(), vectors=iter([vectors(N - 1), vectors(1, 5)]))
    with pytest.raises(ShapeError, match="expected a matrix"):
        build_index(rows(1), vectors=np.ones(3))


def test_texts_of_every_kind_come_back_as_they_were(tmp_path):
    odd = [
        ("a\nb", 'line\r\n"quoted"\u2028\0', {"ключ": ["значение", 1.5, None, {"x": True}]}),
        ("é", "", {}),
    ]
    build_index(odd, tmp_path / "ix", vectors=vectors(2))
    hits = {hit.id: hit for hit in open_index(tmp_path / "ix").search(vectors(1)[0], 2)[0]}
    assert [(h.id, h.text, h.metadata) for h in (hits["a\nb"], hits["é"])] == odd


def test_recall_is_measured_told_and_kept(tmp_path):
    chance = np.random.default_rng(0).normal(size=(N, 16)).astype(np.float32)
    index = build_index(
        rows(), tmp_path / "ix", vectors=chance, kind="ivf:nlist=12:nprobe=1", seed=5
    )
    found = index.recall
    assert (found.k, found.queries, found.wanted, found.seed) == (10, 200, 2000, 5)
    assert 0.1 < found.rate < 0.95
    assert str(found) == (
        f"recall@10 {found.rate:.4f} ({found.found:,} of 2,000 neighbours, 200 queries: "
        "rows of the index, each without itself)"
    )
    opened = open_index(tmp_path / "ix")
    assert opened.recall == found == opened.measure_recall()
    given = build_index(
        rows(), vectors=chance, kind="ivf:nlist=12:nprobe=1", recall_queries=vectors(30, seed=3)
    )
    assert (given.recall.queries, given.recall.source, given.recall.seed) == (
        30,
        "queries given",
        None,
    )
    truth = build_index(rows(), vectors=chance).nearest(vectors(30, seed=3), 10)
    got = given.nearest(vectors(30, seed=3), 10)
    by_hand = sum(
        len(set(a) & set(b))
        for a, b in zip(got.positions.tolist(), truth.positions.tolist(), strict=True)
    )
    assert given.recall.found == by_hand
    opened.remove([rows()[0][0]])
    with pytest.raises(UsageError, match="rows were removed; save the index first"):
        opened.measure_recall()
    opened.save()
    assert opened.recall.wanted == 2000
    lone = build_index(rows(1), vectors=vectors(1), kind="hnsw")
    assert lone.recall.rate is None
    assert str(lone.recall) == "recall@10: not measured, no query has a neighbour"


def test_recall_counts_one_as_close_as_the_last_of_the_truth():
    from closecall.index.exact import Neighbours
    from closecall.index.recall import recall

    truth = Neighbours(
        np.array([[3, 5, 8], [1, -1, -1]]), np.float32([[0.9, 0.7, 0.7], [0.5, -np.inf, -np.inf]])
    )
    found = Neighbours(
        np.array([[3, 9, 4], [1, -1, -1]]), np.float32([[0.9, 0.7, 0.1], [0.5, -np.inf, -np.inf]])
    )
    assert recall(found, truth) == Recall(found=3, wanted=4, k=3, queries=2)
    none = Neighbours(np.empty((0, 3), np.int64), np.empty((0, 3), np.float32))
    assert recall(none, none).rate is None
    with pytest.raises(ShapeError, match=r"found \(0, 3\) does not fit truth \(2, 3\)"):
        recall(none, truth)

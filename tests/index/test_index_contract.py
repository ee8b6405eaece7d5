"""What every kind of index keeps to, each measured against the oracle."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_rows import APPROXIMATE, KINDS, SIMILARITIES, N, made, rows, told, vectors

import closecall
from closecall.errors import DataError, NonFiniteError, ShapeError, UsageError, ZeroVectorError
from closecall.index.base import Index
from closecall.index.building import build_index, open_index
from closecall.index.exact import top_k
from closecall.index.filters import compiled

QUERIES = vectors(12, seed=5)


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_scores_are_those_of_the_oracle_and_most_rows_too(kind, similarity):
    index = made(kind, similarity=similarity)
    assert isinstance(index, Index)
    truth = top_k(QUERIES, vectors(), 10, similarity=similarity)
    names = [row[0] for row in rows()]
    score = {
        (q, names[p]): s
        for q in range(len(QUERIES))
        for p, s in zip(
            *[c[q] for c in top_k(QUERIES, vectors(), N, similarity=similarity)], strict=True
        )
    }
    alike = 0
    for q, hits in enumerate(index.search(QUERIES, 10)):
        assert len(hits) == 10
        assert all(np.float32(hit.score) == score[q, hit.id] for hit in hits)
        assert [(-hit.score, hit.id) for hit in hits] == sorted(
            (-hit.score, hit.id) for hit in hits
        )
        alike += len({hit.id for hit in hits} & {names[p] for p in truth.positions[q]})
    assert alike == 120 if kind in {"exact", "flat"} else alike >= 114


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("scale", [1.0, 1e25])
def test_flat_finds_just_what_numpy_finds_duplicates_and_all(similarity, scale):
    many = np.repeat(vectors(80), 9, axis=0) * np.float32(scale if similarity != "dot" else 1)
    named = [(f"{(i * 37) % 720:04d}", "", {}) for i in range(720)]
    found = [
        build_index(named, vectors=many, kind=kind, similarity=similarity).nearest(many[::50], k)
        for kind in ("exact", "flat")
        for k in (1, 4, 25)
    ]
    for one, other in zip(found[:3], found[3:], strict=True):
        assert one.positions.tolist() == other.positions.tolist()
        assert one.similarities.tobytes() == other.similarities.tobytes()


def test_equal_scores_go_by_id(kind):
    same = np.tile(vectors(1), (N, 1)) + np.zeros((N, 1), np.float32)
    same[N // 2 :] = vectors(N)[N // 2 :]
    index = build_index(rows(), vectors=same, kind=kind)
    equal = sorted(row[0] for row in rows()[: N // 2])
    if kind in {"exact", "flat"}:
        assert [hit.id for hit in index.search(same[0], 7)[0]] == equal[:7]
    hits = index.search(same[0], 7)[0]
    assert [hit.score for hit in hits] == [1.0] * 7
    assert [hit.id for hit in hits] == sorted(hit.id for hit in hits)


def test_texts_and_metadata_come_back(kind):
    by_id = {row[0]: row for row in rows()}
    for hit in made(kind).search(QUERIES[0], 3)[0]:
        assert (hit.id, hit.text, hit.metadata) == by_id[hit.id]
    assert made(kind).get("p000000").text == "passage 0"


@pytest.mark.parametrize("n", [0, 1, 2, 30])
def test_small_numbers_of_rows(kind, n):
    index = made(kind, n)
    assert len(index) == n
    assert [len(hits) for hits in index.search(QUERIES, 5)] == [min(5, n)] * 12
    assert index.search(np.empty((0, 16), np.float32), 5) == ()


def test_a_search_never_gives_fewer_than_there_are(kind):
    index = made(kind)
    assert {len(hits) for hits in index.search(QUERIES, N + 3)} == {N}
    assert {len(hits) for hits in index.search(QUERIES, N - 1)} == {N - 1}
    assert {len(hits) for hits in index.search(QUERIES, 250, where={"year": {"lt": 2024}})} == {
        250
    }


FILTERS = [
    {"lang": "de"},
    {"lang": ["de", "fr"], "year": {"gte": 2005, "lt": 2020}},
    {"year": 2003},
    {"year": {"gt": 3000}},
    {"nothing": "x"},
    {},
]


@pytest.mark.parametrize("few", [0, 20_000])
@pytest.mark.parametrize("where", FILTERS, ids=str)
def test_filters_keep_to_the_same_rows(kind, where, few, monkeypatch):
    monkeypatch.setattr("closecall.index.searching.FEW", few)
    index, test = made(kind), compiled(where)
    passing = np.array([test(row[2]) for row in rows()])
    for k in (1, 8, 300):
        hits = index.search(QUERIES, k, where=where)
        assert {len(one) for one in hits} == {min(k, int(passing.sum()))}
        assert all(test(hit.metadata) for one in hits for hit in one)
    if kind in {"exact", "flat"} or (few and where):
        known = made("exact").search(QUERIES, 8, where=where)
        assert [told(one) for one in index.search(QUERIES, 8, where=where)] == [
            told(one) for one in known
        ]


@pytest.mark.parametrize("saved", [False, True], ids=["in memory", "saved"])
def test_changes_give_what_a_new_index_of_the_same_rows_gives(kind, saved, tmp_path):
    index = made(kind, path=tmp_path / "ix")
    gone = [row[0] for row in rows()[::4]]
    index.remove(gone)
    changed = [(row[0], "changed", {"lang": "it"}) for row in rows()[1::4]]
    moved = vectors(len(changed), seed=9)
    index.replace(changed, vectors=moved)
    more = [(f"new{i}", "new", {}) for i in range(50)]
    index.add(more, vectors=vectors(50, seed=11))
    if saved:
        index.save()
        index = open_index(tmp_path / "ix")
    kept = {row[0]: (row, vector) for row, vector in zip(rows(), vectors(), strict=True)}
    for name in gone:
        del kept[name]
    for row, vector in zip([*changed, *more], [*moved, *vectors(50, seed=11)], strict=True):
        kept[row[0]] = (row, vector)
    assert len(index) == len(kept) == N - 100 + 50
    known = build_index(
        [row for row, _ in kept.values()],
        vectors=np.stack([v for _, v in kept.values()]),
        kind="exact",
    )
    for where in (None, {"lang": ["it", "de"]}):
        got = index.search(QUERIES, 10, where=where)
        right = known.search(QUERIES, 10, where=where)
        if kind in {"exact", "flat"}:
            assert got == right
        shared = sum(
            len({h.id for h in a} & {h.id for h in b}) for a, b in zip(got, right, strict=True)
        )
        assert shared >= 114
        assert {len(hits) for hits in got} == {10}
    assert index.get(changed[0][0]).text == "changed"
    with pytest.raises(UsageError, match="no rows with the ids 'p000000'"):
        index.get(gone[0])


def test_a_change_that_cannot_be_made_changes_nothing(kind, tmp_path):
    index = made(kind, path=tmp_path / "ix")
    before = index.search(QUERIES, 5)
    name = rows()[3][0]
    bad = [
        (
            UsageError,
            "are there; use replace",
            lambda: index.add([("n", ""), (name, "")], vectors=vectors(2)),
        ),
        (
            UsageError,
            "no rows with the ids 'n'",
            lambda: index.replace([(name, ""), ("n", "")], vectors=vectors(2)),
        ),
        (UsageError, "no rows with the ids 'n'", lambda: index.remove([name, "n"])),
        (
            UsageError,
            "given twice: 'n'",
            lambda: index.add([("n", ""), ("n", "")], vectors=vectors(2)),
        ),
        (UsageError, "given twice", lambda: index.remove([name, name])),
        (
            ShapeError,
            "3 vectors for more rows|more vectors than",
            lambda: index.add([("n", "")], vectors=vectors(3)),
        ),
        (
            ShapeError,
            "1 vectors for more rows",
            lambda: index.add([("n", ""), ("m", "")], vectors=vectors(1)),
        ),
        (
            ShapeError,
            "do not fit the index",
            lambda: index.add([("n", "")], vectors=vectors(1, 5)),
        ),
        (
            ZeroVectorError,
            "row 0, is a zero vector",
            lambda: index.add([("n", "")], vectors=np.zeros((1, 16))),
        ),
        (
            NonFiniteError,
            "is nan",
            lambda: index.add([("n", "")], vectors=np.full((1, 16), np.nan)),
        ),
        (DataError, "row 1: id", lambda: index.add([(3, "")], vectors=vectors(1))),
        (UsageError, "either vectors or an embedder", lambda: index.add([("n", "")])),
    ]
    for error, message, change in bad:
        with pytest.raises(error, match=message):
            change()
    assert len(index) == N
    assert index.search(QUERIES, 5) == before
    stamp = (tmp_path / "ix" / "index.json").read_bytes()
    index.save()
    assert (tmp_path / "ix" / "index.json").read_bytes() == stamp


def test_an_index_without_rows_takes_its_width_from_the_first(kind):
    index = build_index([], vectors=[], kind=kind)
    assert index.search([[1.0, 2.0]], 3) == ((),)
    index.add([("a", "x"), ("b", "y")], vectors=[[1.0, 0.0], [0.0, 1.0]])
    assert [hit.id for hit in index.search([1.0, 0.1], 3)[0]] == ["a", "b"]
    index.save()
    assert index.dims == 2
    assert [hit.id for hit in index.search([0.1, 1.0], 3)[0]] == ["b", "a"]
    index.remove(["a", "b"])
    index.save()
    assert len(index) == 0
    assert index.search([1.0, 0.1], 3) == ((),)


def test_queries_that_do_not_fit_are_refused(kind):
    index = made(kind)
    with pytest.raises(
        ShapeError, match=r"queries \(1, 4\) do not fit the index: its vectors have 16"
    ):
        index.search([1.0, 2.0, 3.0, 4.0])
    with pytest.raises(ZeroVectorError, match="queries, row 1"):
        index.search(np.stack([QUERIES[0], 0 * QUERIES[0]]))
    with pytest.raises(NonFiniteError):
        index.search(np.full((1, 16), np.nan, np.float32))
    for k in (0, True, "3"):
        with pytest.raises(UsageError, match="k must be"):
            index.search(QUERIES, k)


def test_a_zero_vector_has_a_dot_product_and_a_distance(kind):
    for similarity in ("dot", "euclidean"):
        given = vectors()
        given[5] = 0
        index = build_index(rows(), vectors=given, kind=kind, similarity=similarity)
        assert all(np.isfinite(hit.score) for hit in index.search(0 * QUERIES[0], 20)[0])


def test_the_same_input_gives_the_same_files(kind, tmp_path):
    for name in "ab":
        made(kind, path=tmp_path / name, seed=3)
    first, second = (
        {
            p.relative_to(tmp_path / n).as_posix(): p.read_bytes()
            for p in sorted((tmp_path / n).rglob("*"))
            if p.is_file()
        }
        for n in "ab"
    )
    assert first == second


@pytest.mark.parametrize("kind", ["flat", *APPROXIMATE])
def test_one_thread_finds_what_several_find(kind):
    import faiss

    index = made(kind)
    one = index.nearest(QUERIES, 10)
    faiss.omp_set_num_threads(3)
    several = index.nearest(QUERIES, 10)
    assert one.positions.tolist() == several.positions.tolist()
    assert one.similarities.tobytes() == several.similarities.tobytes()


@pytest.mark.parametrize("kind", KINDS)
def test_the_number_of_threads_is_left_as_it_was(kind):
    import faiss

    faiss.omp_set_num_threads(3)
    made(kind)
    assert faiss.omp_get_max_threads() == 3


def test_it_grows_until_it_can_be_trained(tmp_path):
    index = made("ivfpq", 30, path=tmp_path / "ix")
    assert "30 rows are too few to train it (256), so each is looked at" in index.why
    assert index.recall is None
    index.add(rows()[30:], vectors=vectors()[30:])
    assert index.search(QUERIES, 5) == made("exact").search(QUERIES, 5)
    index.save()
    assert "too few" not in index.why
    assert index.recall.wanted == 2000
    assert "index.faiss" in {p.name for p in (tmp_path / "ix" / "v2").iterdir()}


def test_the_public_names_are_these():
    assert closecall.build_index is build_index
    assert closecall.open_index is open_index


@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_any_row_of_changes_equals_a_new_index(data):
    pool = vectors(60, 6, seed=2)
    pool[::7] = pool[0]
    index = build_index(
        [], vectors=[], kind=data.draw(st.sampled_from(["exact", "flat"])), similarity="euclidean"
    )
    known = {}
    for step in range(data.draw(st.integers(1, 6))):
        names = data.draw(st.lists(st.sampled_from("abcdefghij"), unique=True, max_size=6))
        there, new = [n for n in names if n in known], [n for n in names if n not in known]
        picks = {n: pool[data.draw(st.integers(0, 59))] for n in names}
        if new:
            index.add([(n, f"{n}{step}") for n in new], vectors=np.stack([picks[n] for n in new]))
            known.update((n, (f"{n}{step}", picks[n])) for n in new)
        if there and step % 2:
            index.replace(
                [(n, f"{n}{step}") for n in there], vectors=np.stack([picks[n] for n in there])
            )
            known.update((n, (f"{n}{step}", picks[n])) for n in there)
        elif there:
            index.remove(there)
            for n in there:
                del known[n]
        if data.draw(st.booleans()):
            index.save()
    assert len(index) == len(known)
    fresh = build_index(
        [(n, t) for n, (t, _) in known.items()],
        vectors=np.stack([v for _, v in known.values()]) if known else [],
        kind="exact",
        similarity="euclidean",
    )
    assert index.search(pool[:3], 4) == fresh.search(pool[:3], 4)

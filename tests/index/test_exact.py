"""The oracle: against the one-query search of ``similarity``, whatever the blocks and sizes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from made_rows import SIMILARITIES, vectors

from closecall import similarity as single
from closecall.errors import NonFiniteError, ShapeError, UsageError, VectorError, ZeroVectorError
from closecall.index import exact, lengths, products
from closecall.index.exact import nearest, rescore, top_k
from closecall.index.lengths import Lengths


def expected(query, rows, k, method):
    """Every row scored alone, in float64, rounded, ordered by score and position."""
    scores = single.similarities(query, rows, method=method).astype(np.float32)
    order = np.lexsort((np.arange(len(rows)), -scores))[:k]
    return order.tolist(), scores[order].tolist()


def check(queries, rows, k, method):
    found = top_k(queries, rows, k, similarity=method)
    assert found.positions.shape == found.similarities.shape == (len(queries), k)
    assert found.positions.dtype == np.int64
    assert found.similarities.dtype == np.float32
    for query, positions, scores in zip(queries, found.positions, found.similarities, strict=True):
        order, values = expected(query, rows, k, method)
        assert positions[: len(rows)].tolist() == order
        assert scores[: len(rows)].tolist() == values
        assert (positions[len(rows) :] == -1).all()
        assert np.isneginf(scores[len(rows) :]).all()


@pytest.mark.parametrize("method", SIMILARITIES)
@pytest.mark.parametrize("k", [1, 3, 119, 120, 130])
@pytest.mark.parametrize("block", [1 << 21, 700, 60, 1])
def test_it_finds_what_each_query_alone_finds_in_blocks_of_any_size(monkeypatch, method, k, block):
    monkeypatch.setattr(exact, "BLOCK_ELEMENTS", block)
    monkeypatch.setattr(products, "_PAIR_ELEMENTS", max(1, block // 3))
    rows = vectors(120, 9)
    rows[7] = rows[40] = rows[100]
    check(np.concatenate([vectors(5, 9, seed=2), rows[38:42]]), rows, k, method)


@pytest.mark.parametrize("method", SIMILARITIES)
@pytest.mark.parametrize("scale", [1e-38, 1e-25, 1e-9, 1e6, 1e18])
def test_vectors_of_any_size(method, scale):
    rows = (vectors(200, 8).astype(np.float64) * scale).astype(np.float32)
    rows[3] = rows[150]
    check(rows[:20], rows, 7, method)


def test_rows_of_very_different_sizes_in_one_block():
    rows = vectors(60, 8) * np.float32(10) ** np.linspace(-40, 8, 60, dtype=np.float32)[:, None]
    rows = rows[rows.any(axis=1)]
    for method in SIMILARITIES:
        check(rows[::7], rows, 5, method)


small = hnp.arrays(np.float32, (9, 3), elements=st.sampled_from([-2.0, -1.0, -0.5, 0.5, 1.0, 3.0]))


@settings(deadline=None, max_examples=60)
@given(
    rows=small, k=st.integers(1, 11), method=st.sampled_from(SIMILARITIES), step=st.integers(1, 30)
)
def test_ties_go_by_position(rows, k, method, step):
    before = exact.BLOCK_ELEMENTS
    exact.BLOCK_ELEMENTS = step
    try:
        check(rows[:4], rows, k, method)
    finally:
        exact.BLOCK_ELEMENTS = before


@settings(deadline=None, max_examples=40)
@given(
    rows=hnp.arrays(
        np.float32,
        st.tuples(st.integers(1, 8), st.just(4)),
        elements=st.floats(-1e9, 1e9, width=32),
    ),
    method=st.sampled_from(["dot", "euclidean"]),
)
def test_any_floats(rows, method):
    check(rows, rows, 3, method)


def test_all_rows_equal():
    rows = np.tile(vectors(1, 8), (5000, 1))
    found = top_k(rows[:2], rows, 4)
    assert found.positions.tolist() == [[0, 1, 2, 3]] * 2
    assert found.similarities.tolist() == [[1.0] * 4] * 2


def test_far_from_the_origin_and_close_together():
    rows = (1000 + 0.01 * vectors(300, 8)).astype(np.float32)
    check(rows[:10], rows, 5, "euclidean")
    check(rows[:10], rows, 5, "cosine")


def test_closeness_that_grows_row_by_row_as_the_worst_order_has_it(monkeypatch):
    monkeypatch.setattr(exact, "BLOCK_ELEMENTS", 64)
    angle = np.linspace(1.5, 0, 500)
    rows = np.stack([np.cos(angle), np.sin(angle)], axis=1).astype(np.float32)
    found = top_k(np.float32([[1, 0]]), rows, 3)
    assert found.positions.tolist() == [[499, 498, 497]]


def test_nothing_to_find_and_nobody_asking():
    none = top_k(vectors(3, 4), np.empty((0, 4), np.float32), 2)
    assert none.positions.tolist() == [[-1, -1]] * 3
    assert np.isneginf(none.similarities).all()
    assert top_k(np.empty((0, 4), np.float32), vectors(3, 4), 2).positions.shape == (0, 2)
    one = top_k(vectors(1, 4), vectors(1, 4), 2)
    assert one.positions.tolist() == [[0, -1]]


def test_vectors_without_numbers_have_no_direction_but_a_distance():
    empty = np.empty((2, 0), np.float32)
    with pytest.raises(ZeroVectorError, match="queries, row 0"):
        top_k(empty, np.empty((0, 0), np.float32), 1)
    assert top_k(empty, empty, 1, similarity="euclidean").similarities.tolist() == [[1.0], [1.0]]


def test_what_cannot_be_compared_is_refused_with_its_row(monkeypatch):
    monkeypatch.setattr(exact, "BLOCK_ELEMENTS", 16)
    rows = vectors(20, 4)
    zero, broken = rows.copy(), rows.copy()
    zero[13] = 0
    broken[17, 2] = np.nan
    with pytest.raises(ZeroVectorError, match="vectors, row 13, is a zero vector"):
        top_k(rows[:2], zero, 3)
    assert np.isfinite(top_k(rows[:2], zero, 3, similarity="dot").similarities).all()
    with pytest.raises(NonFiniteError, match=r"vectors\[17, 2\] is nan"):
        top_k(rows[:2], broken, 3)
    with pytest.raises(NonFiniteError, match=r"queries\[17, 2\] is nan"):
        top_k(broken, rows[:0], 3)
    with pytest.raises(NonFiniteError, match=r"\[0, 1\] is inf"):
        top_k([[1.0, 1e300]], [[1.0, 1.0]], 1)
    with pytest.raises(NonFiniteError, match="beyond the range of float32"):
        top_k(np.float32([[3e38, 0]]), np.float32([[3e38, 0]]), 1, similarity="dot")
    with pytest.raises(ShapeError, match=r"queries \(2, 4\) do not fit vectors \(20, 3\)"):
        top_k(rows[:2], rows[:, :3], 1)
    with pytest.raises(ShapeError, match=r"queries \(4,\): expected a matrix"):
        top_k(rows[0], rows, 1)
    with pytest.raises(VectorError, match="dtype <U1"):
        top_k([["a"]], rows, 1)
    with pytest.raises(ShapeError, match="rows of different lengths"):
        top_k([[1.0], [1.0, 2.0]], rows, 1)
    for k in (0, -1, 1.5, True, "2"):
        with pytest.raises(UsageError, match="k must be a whole number"):
            top_k(rows, rows, k)
    with pytest.raises(UsageError, match="choose one of cosine, dot, euclidean"):
        top_k(rows, rows, 1, similarity="manhattan")


def test_a_memory_mapped_file_is_read_as_it_is(tmp_path):
    rows = vectors(100, 8)
    np.save(tmp_path / "v.npy", rows)
    mapped = np.load(tmp_path / "v.npy", mmap_mode="r")
    found, known = top_k(rows[:5], mapped, 3), top_k(rows[:5], rows, 3)
    assert (found.positions == known.positions).all()
    assert rows.tobytes() == vectors(100, 8).tobytes()


def test_a_query_finds_the_same_whatever_stands_beside_it():
    rows, queries = vectors(3000, 24), vectors(64, 24, seed=3)
    together = top_k(queries, rows, 9)
    for at in range(0, 64, 13):
        alone = top_k(queries[at : at + 1], rows, 9)
        assert alone.positions[0].tobytes() == together.positions[at].tobytes()
        assert alone.similarities[0].tobytes() == together.similarities[at].tobytes()


@pytest.mark.parametrize("block", [1 << 21, 40])
def test_rows_left_out_and_ties_in_another_order(monkeypatch, block):
    monkeypatch.setattr(exact, "BLOCK_ELEMENTS", block)
    rows = np.repeat(vectors(30, 4), 4, axis=0)
    keep = np.arange(120) % 3 != 0
    ranks = np.arange(120)[::-1].copy()
    found = nearest(rows[:8], rows, 10, ranks=ranks, keep=keep)
    for query, positions, scores in zip(rows[:8], *found, strict=True):
        every = single.similarities(query, rows).astype(np.float32)
        order = [i for i in np.lexsort((ranks, -every)) if keep[i]][:10]
        assert positions.tolist() == order
        assert scores.tolist() == every[order].tolist()
    none = nearest(rows[:2], rows, 2, keep=np.zeros(120, bool))
    assert none.positions.tolist() == [[-1, -1]] * 2


def test_candidates_are_scored_as_the_search_scores_them():
    rows, queries = vectors(200, 8), vectors(6, 8, seed=4)
    for method in SIMILARITIES:
        truth = top_k(queries, rows, 12, similarity=method)
        shuffled = np.random.default_rng(0).permuted(truth.positions, axis=1)
        padded = np.concatenate([shuffled, np.full((6, 2), -1)], axis=1)
        found = rescore(queries, rows, padded, 12, similarity=method)
        assert (found.positions == truth.positions).all()
        assert (found.similarities == truth.similarities).all()


def longest(query, block):
    """Every cosine in the widest numbers there are."""
    one, other = (part.rows.astype(np.longdouble) for part in (query, block))
    return one @ other.T / np.sqrt((one**2).sum(1))[:, None] / np.sqrt((other**2).sum(1))


@pytest.mark.parametrize("width", [1, 8, 384])
@pytest.mark.parametrize("powers", [(0, 0), (-8, 8), (-40, 8), (-8, 30)])
def test_a_first_pass_is_as_near_to_the_cosine_as_it_says(width, powers):
    chance = np.random.default_rng(width)
    power = chance.uniform(*powers, size=(300, 1))
    rows = (chance.normal(size=(300, width)) * 10.0**power).astype(np.float32)
    rows[::7, : width // 2] = 0
    query, block = (products.block_of(part, "", 0, refuse_zero=True) for part in (rows[:9], rows))
    found, error = products.products_of(query, block, "cosine")
    assert (abs(found - longest(query, block)) <= error[:, None]).all()
    assert error.max() < 1e-4


@pytest.mark.parametrize("method", SIMILARITIES)
@pytest.mark.parametrize("block", [1 << 21, 700, 60])
def test_lengths_known_before_change_nothing(monkeypatch, method, block):
    monkeypatch.setattr(exact, "BLOCK_ELEMENTS", block)
    rows = vectors(300, 9) * np.float32(2) ** (np.arange(300) % 41 - 20)[:, None]
    rows[7] = rows[40] = 4 * rows[100]
    queries, ranks = np.concatenate([vectors(5, 9, seed=2), rows[38:42]]), np.arange(300)[::-1]
    known = Lengths(300, refuse_zero=method == "cosine")
    for keep in (np.arange(300) % 7 == 0, np.arange(300) % 3 != 0, None, np.arange(300) < 50):
        asked = {"similarity": method, "ranks": ranks, "keep": keep}
        truth = nearest(queries, rows, 12, **asked)
        for _ in range(2):
            found = nearest(queries, rows, 12, lengths=known, **asked)
            assert found.positions.tobytes() == truth.positions.tobytes()
            assert found.similarities.tobytes() == truth.similarities.tobytes()


def test_each_row_is_measured_once(monkeypatch):
    measured = []
    block_of = lengths.block_of

    def counted(values, name, start, **options):
        measured.extend(start.tolist())
        return block_of(values, name, start, **options)

    monkeypatch.setattr(lengths, "block_of", counted)
    monkeypatch.setattr(exact, "BLOCK_ELEMENTS", 160)
    rows = vectors(100, 8)
    known = Lengths(100, refuse_zero=True)
    for keep in (np.arange(100) % 4 == 1, None, np.arange(100) % 3 == 1, None):
        nearest(rows[:2], rows, 3, keep=keep, lengths=known)
    assert sorted(measured) == list(range(100))
    more = block_of(vectors(5, 8, seed=3), "", 0, refuse_zero=True)
    grown = np.concatenate([rows, more.rows])
    found = nearest(more.rows, grown, 1, lengths=known.plus(more))
    assert found.positions[:, 0].tolist() == [100, 101, 102, 103, 104]
    assert len(measured) == 100


def test_a_row_that_cannot_be_compared_is_refused_again_and_again():
    rows = vectors(20, 4)
    rows[13], rows[17, 2] = 0, np.nan
    known = Lengths(20, refuse_zero=True)
    for _ in range(2):
        with pytest.raises(NonFiniteError, match=r"vectors\[17, 2\] is nan"):
            nearest(rows[:2], rows, 3, lengths=known, keep=np.arange(20) != 13)
        with pytest.raises(ZeroVectorError, match="vectors, row 13, is a zero vector"):
            nearest(rows[:2], rows, 3, lengths=known, keep=np.arange(20) != 17)

"""Similarities on arrays: values, shapes, errors, extremes, and results that stay the same."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from closecall import similarity
from closecall.errors import (
    DataError,
    NonFiniteError,
    ShapeError,
    UsageError,
    VectorError,
    ZeroVectorError,
)
from closecall.similarity import (
    METHODS,
    cosine_similarity,
    dot_product,
    euclidean_distance,
    manhattan_distance,
    similarities,
    top_k,
)

PAIRWISE = (cosine_similarity, dot_product, euclidean_distance, manhattan_distance)
TINY, HUGE = 5e-324, 1e300

finite = st.floats(-1e6, 1e6)


def vectors(width=4):
    return hnp.arrays(np.float64, width, elements=finite)


def nonzero(width=4):
    return vectors(width).filter(lambda v: np.abs(v).max() > 1e-6)


# Values and shapes


def test_two_vectors_give_a_float():
    assert cosine_similarity([1, 0], [1, 1]) == pytest.approx(0.5**0.5)
    assert dot_product([1, 2], [3, 4]) == 11.0
    assert euclidean_distance([0, 0], [3, 4]) == 5.0
    assert manhattan_distance([0, 0], [3, -4]) == 7.0
    for function in PAIRWISE:
        assert type(function([1, 2], [3, 4])) is float


@pytest.mark.parametrize("function", PAIRWISE)
def test_rows_are_compared_row_by_row_or_with_one_vector(function):
    a = [[1, 2], [3, 4], [-5, 6]]
    b = [[7, 8], [9, 1], [2, 3]]
    rowwise = function(a, b)
    assert rowwise.dtype == np.float64
    assert rowwise.tolist() == [function(x, y) for x, y in zip(a, b, strict=True)]
    assert function(a, [7, 8]).tolist() == [function(x, [7, 8]) for x in a]


@pytest.mark.parametrize(
    "dtype", [np.int8, np.int64, np.uint8, np.float16, np.float32, np.float64]
)
@pytest.mark.parametrize("function", PAIRWISE)
def test_number_types_are_computed_in_float64(function, dtype):
    a, b = [100, 27, 3], [90, 100, 4]
    assert function(np.array(a, dtype=dtype), np.array(b, dtype=dtype)) == function(a, b)


@pytest.mark.parametrize("function", PAIRWISE)
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((3,), (4,)),
        ((2, 3), (3, 3)),
        ((2, 3), (2, 4)),
        ((2, 3), (1, 3)),
        ((2, 3), (2,)),
        ((3,), (2, 3)),
        ((), ()),
        ((), (3,)),
        ((2, 2, 2), (2, 2, 2)),
        ((2, 2, 2), (2,)),
    ],
)
def test_other_shapes_are_refused_with_both_shapes(function, a, b):
    with pytest.raises(ShapeError) as caught:
        function(np.ones(a), np.ones(b))
    assert str(a) in str(caught.value)
    assert str(b) in str(caught.value)
    assert "(n, d) with (d,)" in str(caught.value)


@pytest.mark.parametrize("function", PAIRWISE)
def test_no_rows_give_no_results(function):
    assert function(np.ones((0, 3)), np.ones((0, 3))).shape == (0,)
    assert function(np.ones((0, 3)), np.ones(3)).shape == (0,)


@pytest.mark.parametrize("function", [dot_product, euclidean_distance, manhattan_distance])
def test_vectors_of_width_zero_are_equal(function):
    assert function([], []) == 0.0
    assert function(np.ones((2, 0)), np.ones(0)).tolist() == [0.0, 0.0]


# What cannot be compared


@pytest.mark.parametrize("function", PAIRWISE)
@pytest.mark.parametrize(
    ("bad", "dtype"),
    [
        ([1j, 2], "complex128"),
        (["a", "b"], "<U1"),
        ([None, 1], "object"),
        ([True, False], "bool"),
        ([2**70, 1], "object"),
    ],
)
def test_other_types_are_refused_by_name(function, bad, dtype):
    with pytest.raises(VectorError, match="b: expected integers or real floats") as caught:
        function([1, 2], bad)
    assert dtype in str(caught.value)


def test_ragged_rows_are_refused():
    with pytest.raises(ShapeError, match="a: rows of different lengths"):
        cosine_similarity([[1, 2], [3]], [1, 2])


@pytest.mark.parametrize("function", PAIRWISE)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_are_refused_with_their_place(function, bad):
    rows = np.ones((3, 2), dtype=np.float32)
    rows[2, 1] = bad
    with pytest.raises(NonFiniteError, match=r"^a\[2, 1\] is "):
        function(rows, [1, 2])
    with pytest.raises(NonFiniteError, match=r"^b\[2, 1\] is "):
        function(np.ones((3, 2)), rows)
    with pytest.raises(NonFiniteError, match=r"^b\[0\] is "):
        function(rows[:2], [bad, 2])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_bad_query_is_refused_even_without_rows(bad):
    with pytest.raises(NonFiniteError, match=r"query\[1\]"):
        similarities([1.0, bad], np.ones((0, 2)))


def test_the_cosine_of_a_zero_vector_is_refused_with_its_row():
    with pytest.raises(ZeroVectorError, match=r"^b is a zero vector"):
        cosine_similarity([1, 2], [0, 0])
    with pytest.raises(ZeroVectorError, match=r"^a, row 1, is a zero vector"):
        cosine_similarity([[1, 2], [0.0, -0.0]], [1, 2])
    with pytest.raises(ZeroVectorError, match=r"^matrix, row 1, is a zero vector"):
        similarities([1, 2], [[1, 2], [0, 0]])
    with pytest.raises(ZeroVectorError):
        cosine_similarity([], [])
    with pytest.raises(ZeroVectorError, match="query"):
        top_k([0, 0], np.ones((0, 2)), 1)


def test_a_place_beyond_the_first_block_is_named(monkeypatch):
    monkeypatch.setattr(similarity, "BLOCK_ELEMENTS", 4)
    rows = np.ones((9, 2))
    rows[7] = 0
    with pytest.raises(ZeroVectorError, match=r"^a, row 7,"):
        cosine_similarity(rows, [1, 1])
    with pytest.raises(ZeroVectorError, match=r"^b, row 7,"):
        cosine_similarity(np.ones((9, 2)), rows)
    rows[7] = np.nan
    with pytest.raises(NonFiniteError, match=r"^matrix\[7, 0\]"):
        similarities([1, 1], rows)


def test_zero_vectors_have_distances_and_products():
    assert euclidean_distance([0, 0], [0, 0]) == 0.0
    assert dot_product([0, 0], [1, 2]) == 0.0
    assert similarities([0, 0], [[0, 0], [3, 4]], method="euclidean").tolist() == [1.0, 1 / 6]


def test_every_refusal_is_a_data_error_and_a_value_error():
    for error in (ShapeError, ZeroVectorError, NonFiniteError, VectorError):
        assert issubclass(error, DataError)
        assert issubclass(error, ValueError)


# Extreme sizes


@pytest.mark.parametrize("left", [TINY, 1e-310, 1e-160, 1.0, 1e160, HUGE, 1.7e308])
@pytest.mark.parametrize("right", [TINY, 1e-310, 1e-160, 1.0, 1e160, HUGE, 1.7e308])
def test_a_cosine_does_not_depend_on_size(left, right):
    a, b = np.array([left, 0.0]), np.array([right, right])
    assert cosine_similarity(a, b) == pytest.approx(0.5**0.5, rel=1e-15)
    assert cosine_similarity(b, -b) == -1.0
    assert similarities(b, [a, b]).tolist() == pytest.approx([0.5**0.5, 1.0])


def test_a_row_of_another_size_leaves_its_neighbours_alone():
    rows = np.array([[1.0, 2.0], [HUGE, HUGE], [TINY, 0.0]])
    alone = [cosine_similarity(row, [3.0, 1.0]) for row in rows]
    assert cosine_similarity(rows, [3.0, 1.0]).tolist() == alone


def test_distances_at_the_edge_of_the_range():
    assert euclidean_distance([3e300, 0], [0, 4e300]) == pytest.approx(5e300)
    assert euclidean_distance([3e-310, 0], [0, 4e-310]) == pytest.approx(5e-310)
    assert manhattan_distance([TINY, 0], [0, TINY]) == 2 * TINY
    assert dot_product([1e300, 1e300, 1], [1e300, -1e300, 5]) == pytest.approx(0, abs=6)


@pytest.mark.parametrize("function", [dot_product, euclidean_distance, manhattan_distance])
def test_a_result_beyond_the_range_is_an_error_not_infinity(function):
    with pytest.raises(NonFiniteError, match="beyond the range of float64"):
        function([1.7e308, 1.7e308], [-1.7e308, -1.7e308])
    with pytest.raises(NonFiniteError, match="in row 1 is beyond"):
        function([[1, 1], [1.7e308, 1.7e308]], [-1.7e308, -1])


# Properties


@given(nonzero(), nonzero())
def test_cosine_is_symmetric_and_bounded(a, b):
    assert cosine_similarity(a, b) == cosine_similarity(b, a)
    assert -1.0 <= cosine_similarity(a, b) <= 1.0


@given(hnp.arrays(np.float64, st.integers(1, 40), elements=finite).filter(np.any))
def test_a_vector_has_cosine_one_with_itself(a):
    assert cosine_similarity(a, a) == 1.0
    assert cosine_similarity(a, -a) == -1.0


@given(nonzero(), nonzero(), st.floats(1e-200, 1e200))
def test_cosine_ignores_positive_scale(a, b, scale):
    assert cosine_similarity(scale * a, b) == pytest.approx(cosine_similarity(a, b), abs=1e-12)


@given(nonzero(), nonzero(), st.integers(-900, 900))
def test_cosine_ignores_powers_of_two_to_the_last_bit(a, b, power):
    assert cosine_similarity(np.ldexp(a, power), b) == pytest.approx(
        cosine_similarity(a, b), rel=1e-15, abs=1e-15
    )


@given(vectors(), vectors(), vectors())
@pytest.mark.parametrize("distance", [euclidean_distance, manhattan_distance])
def test_distances_are_metrics(distance, a, b, c):
    assert distance(a, b) == distance(b, a) >= 0.0
    assert distance(a, a) == 0.0
    assert distance(a, c) <= (distance(a, b) + distance(b, c)) * (1 + 1e-12)


@given(vectors(), vectors())
def test_euclidean_and_manhattan_bound_each_other(a, b):
    l1, l2 = manhattan_distance(a, b), euclidean_distance(a, b)
    assert l2 <= l1 * (1 + 1e-12)
    assert l1 <= 2.0 * l2 * (1 + 1e-12)


@given(hnp.arrays(np.float64, (6, 3), elements=st.floats(1, 1e6)), nonzero(3))
@pytest.mark.parametrize("method", METHODS)
def test_similarities_are_the_pairwise_numbers_with_distances_turned_round(method, rows, query):
    expected = {
        "cosine": cosine_similarity,
        "dot": dot_product,
        "euclidean": lambda a, b: 1 / (1 + euclidean_distance(a, b)),
        "manhattan": lambda a, b: 1 / (1 + manhattan_distance(a, b)),
    }[method]
    scores = similarities(query, rows, method=method)
    assert scores.tolist() == expected(rows, query).tolist()


def test_separable_data_is_separated_by_every_method():
    rng = np.random.default_rng(7)
    query = np.ones(8)
    close = query + rng.normal(scale=0.05, size=(50, 8))
    far = -query + rng.normal(scale=0.05, size=(50, 8))
    for method in METHODS:
        scores = similarities(query, np.vstack([close, far]), method=method)
        assert scores[:50].min() > scores[50:].max(), method


# The same whatever stands beside it


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_score_has_the_same_bits_alone_in_a_batch_and_in_any_layout(monkeypatch, method, dtype):
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(37, 19)).astype(dtype)
    query = rng.normal(size=19).astype(dtype)
    whole = similarities(query, rows, method=method)
    alone = np.concatenate(
        [similarities(query, rows[i : i + 1], method=method) for i in range(37)]
    )
    assert whole.tobytes() == alone.tobytes()
    fortran = similarities(query, np.asfortranarray(rows), method=method)
    assert whole.tobytes() == fortran.tobytes()
    strided = similarities(query, np.repeat(rows, 2, axis=0)[::2], method=method)
    assert whole.tobytes() == strided.tobytes()
    monkeypatch.setattr(similarity, "BLOCK_ELEMENTS", 40)
    assert whole.tobytes() == similarities(query, rows, method=method).tobytes()


@pytest.mark.parametrize("function", PAIRWISE)
def test_inputs_are_left_as_they_were(function):
    a, b = np.array([[HUGE, 1.0], [2.0, 3.0]]), np.array([[1.0, 2.0], [TINY, 1.0]])
    before = a.copy(), b.copy()
    a.flags.writeable = b.flags.writeable = False
    if function is not dot_product:
        function(a, b)
    function(a[1:], b[1:])
    assert np.array_equal(a, before[0])
    assert np.array_equal(b, before[1])


def test_a_large_float32_matrix_is_not_copied_whole():
    rows = np.ones((40_000, 384), dtype=np.float32)  # 61 MB; 123 MB as float64
    query = np.ones(384, dtype=np.float32)
    tracemalloc.start()
    similarities(query, rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40e6


# The closest rows


def test_top_k_is_sorted_best_first():
    matrix = [[0, 1], [1, 0], [1, 1], [-1, 0]]
    best = top_k([1, 0], matrix, 3)
    assert best.indices.tolist() == [1, 2, 0]
    assert best.scores == pytest.approx([1.0, 0.5**0.5, 0.0])
    assert (best.indices.dtype, best.scores.dtype) == (np.int64, np.float64)
    indices, scores = best
    assert indices is best.indices
    assert scores is best.scores


def test_ties_go_to_the_lower_index_on_both_sides_of_the_cut():
    matrix = np.array([[1, 0], [0, 1], [0, 2], [0, 3], [5, 0]])
    assert top_k([1, 0], matrix, 1).indices.tolist() == [0]
    assert top_k([1, 0], matrix, 3).indices.tolist() == [0, 4, 1]
    assert top_k([1, 0], matrix, 5).indices.tolist() == [0, 4, 1, 2, 3]


def test_k_beyond_the_rows_gives_all_of_them():
    assert top_k([1, 0], [[0, 1], [1, 0]], 10).indices.tolist() == [1, 0]
    empty = top_k([1, 0], np.ones((0, 2)), 3)
    assert empty.indices.tolist() == []
    assert empty.scores.tolist() == []
    assert (empty.indices.dtype, empty.scores.dtype) == (np.int64, np.float64)


@pytest.mark.parametrize("k", [0, -1, 1.5, "3", None, True])
def test_a_k_that_is_no_count_is_refused(k):
    with pytest.raises(UsageError, match="whole number of at least 1, got"):
        top_k([1, 0], [[1, 0]], k)


def test_a_numpy_integer_is_a_count():
    assert top_k([1, 0], [[1, 0]], np.int32(1)).indices.tolist() == [0]


@given(
    hnp.arrays(np.int8, st.tuples(st.integers(0, 20), st.just(2)), elements=st.integers(-2, 2)),
    st.integers(1, 25),
    st.sampled_from(["dot", "euclidean", "manhattan"]),
)
def test_top_k_is_the_head_of_a_full_sort(rows, k, method):
    scores = similarities([1, 2], rows, method=method)
    expected = sorted(range(len(rows)), key=lambda i: (-scores[i], i))[:k]
    best = top_k([1, 2], rows, k, method=method)
    assert best.indices.tolist() == expected
    assert best.scores.tolist() == [scores[i] for i in expected]


def test_an_unknown_method_is_refused_with_the_known_ones():
    with pytest.raises(
        UsageError, match="method 'cosin': choose one of cosine, dot, euclidean, manhattan"
    ):
        similarities([1, 0], [[1, 0]], method="cosin")


@pytest.mark.parametrize(
    ("query", "matrix"),
    [((2,), (2,)), ((1, 2), (3, 2)), ((2,), (3, 3)), ((), (3, 2)), ((2,), (1, 3, 2))],
)
def test_query_and_matrix_must_fit(query, matrix):
    with pytest.raises(ShapeError) as caught:
        similarities(np.ones(query), np.ones(matrix))
    assert f"query {query} does not fit matrix {matrix}" in str(caught.value)

"""The same numbers as scipy and scikit-learn, and as exact fractions where they lose digits."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from closecall.similarity import (
    METHODS,
    cosine_similarity,
    dot_product,
    euclidean_distance,
    manhattan_distance,
    similarities,
    top_k,
)

distance = pytest.importorskip("scipy.spatial.distance")
pairwise = pytest.importorskip("sklearn.metrics.pairwise")

SHAPES = [(1, 1), (3, 2), (50, 7), (20, 384), (5, 1024)]


@pytest.fixture(params=SHAPES, ids=str)
def pair(request):
    rng = np.random.default_rng(11)
    return rng.normal(size=request.param), rng.normal(size=request.param)


def test_rows_agree_with_scipy(pair):
    a, b = pair
    rows = list(zip(a, b, strict=True))
    assert cosine_similarity(a, b) == pytest.approx(
        [1 - distance.cosine(x, y) for x, y in rows], abs=1e-14
    )
    assert euclidean_distance(a, b) == pytest.approx(
        [distance.euclidean(x, y) for x, y in rows], rel=1e-14
    )
    assert manhattan_distance(a, b) == pytest.approx(
        [distance.cityblock(x, y) for x, y in rows], rel=1e-13
    )
    assert dot_product(a, b) == pytest.approx([np.vdot(x, y) for x, y in rows], abs=1e-11)


def test_a_query_against_a_matrix_agrees_with_scikit_learn(pair):
    query, matrix = pair[0][0], pair[1]
    one = query[None, :]
    expected = {
        "cosine": pairwise.cosine_similarity(one, matrix)[0],
        "dot": pairwise.linear_kernel(one, matrix)[0],
        "euclidean": 1 / (1 + pairwise.euclidean_distances(one, matrix)[0]),
        "manhattan": 1 / (1 + pairwise.manhattan_distances(one, matrix)[0]),
    }
    for method in METHODS:
        assert similarities(query, matrix, method=method) == pytest.approx(
            expected[method], abs=1e-11
        )


@pytest.mark.parametrize("method", METHODS)
def test_the_nearest_rows_agree_with_scikit_learn(method):
    neighbors = pytest.importorskip("sklearn.neighbors")
    rng = np.random.default_rng(5)
    matrix, query = rng.normal(size=(300, 16)), rng.normal(size=16)
    metric = (lambda x, y: -float(x @ y)) if method == "dot" else method
    found = neighbors.NearestNeighbors(n_neighbors=10, metric=metric, algorithm="brute")
    expected = found.fit(matrix).kneighbors(query[None, :], return_distance=False)[0]
    assert top_k(query, matrix, 10, method=method).indices.tolist() == expected.tolist()


numbers = st.floats(allow_nan=False, allow_infinity=False, width=64)


@given(hnp.arrays(np.float64, (2, 3), elements=numbers).filter(lambda v: v.any(axis=1).all()))
def test_cosine_agrees_with_exact_arithmetic_at_every_size(pair):
    """The one place where scipy and scikit-learn cannot be asked: they overflow."""
    a, b = ([Fraction(float(x)) for x in row] for row in pair)
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    square = Fraction(dot * dot) / (sum(x * x for x in a) * sum(x * x for x in b))
    expected = float(square) ** 0.5 * (1 if dot >= 0 else -1)
    assert cosine_similarity(pair[0], pair[1]) == pytest.approx(expected, abs=1e-15, rel=1e-7)

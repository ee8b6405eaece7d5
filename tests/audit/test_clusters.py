"""Union-find, and near pairs against a plain double loop."""

import itertools

import numpy as np

from closecall.audit.clusters import Clusters
from closecall.audit.neighbours import BLOCK, near_pairs


def test_clusters_are_components_in_order():
    found = Clusters(7)
    for one, other in ((5, 3), (6, 1), (3, 2)):
        found.join(one, other)
    assert found.all() == [[1, 6], [2, 3, 5]]
    assert found.first(5) == 2


def test_near_pairs_are_those_of_a_double_loop_each_once():
    rng = np.random.default_rng(3)
    centres = rng.standard_normal((40, 12))
    vectors = (np.repeat(centres, 3, axis=0) + 0.05 * rng.standard_normal((120, 12))).astype("f4")
    unit = vectors.astype(float) / np.linalg.norm(vectors.astype(float), axis=1, keepdims=True)
    cosines = unit @ unit.T
    wanted = {(i, j) for i, j in itertools.combinations(range(120), 2) if cosines[i, j] >= 0.97}
    steps = []
    found = near_pairs(vectors, None, 0.97, steps.append)
    assert set(found.places()) == wanted
    assert len(found.left) == len(wanted) > 50
    assert found.full == 0
    assert sum(steps) == 120


def test_equal_vectors_beyond_the_nearest_few_are_counted_as_full():
    same = np.ones((15, 4), dtype=np.float32)
    found = near_pairs(same, None, 0.9, lambda _: None, k=10)
    assert found.full == 15
    joined = Clusters(15)
    for pair in found.places():
        joined.join(*pair)
    assert len(joined.all()[0]) >= 11


def test_blocks_make_no_difference(monkeypatch):
    rng = np.random.default_rng(5)
    vectors = rng.standard_normal((60, 3)).astype(np.float32)
    whole = near_pairs(vectors, None, 0.9, lambda _: None)
    monkeypatch.setattr("closecall.audit.neighbours.BLOCK", 7)
    parts = near_pairs(vectors, None, 0.9, lambda _: None)
    assert BLOCK > 60
    for one, other in zip(whole, parts, strict=True):
        assert np.array_equal(one, other)


def test_no_texts_make_no_pairs():
    empty = np.empty((0, 4), dtype=np.float32)
    assert list(near_pairs(empty, None, 0.9, lambda _: None).places()) == []
    assert list(near_pairs(empty, np.ones((3, 4), "f4"), 0.9, lambda _: None).places()) == []

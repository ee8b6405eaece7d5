"""Venn-Abers intervals: exactly those of two fits a score, and valid for exchangeable rows."""

import math
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_scores import LEVELS, normal_scores, split, tied_rows

from closecall.calibration.evidence.venn_abers import venn_abers
from closecall.calibration.inputs import labelled
from closecall.errors import NonFiniteError


def isotonic_at(scores, labels, score):
    """The best rising curve through the rows, in exact fractions: its value at ``score``."""
    blocks = []
    for level in sorted(set(scores)):
        at = [int(y) for s, y in zip(scores, labels, strict=True) if s == level]
        blocks.append([sum(at), len(at), {level}])
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] >= blocks[-1][0] * blocks[-2][1]:
            kept, n, levels = blocks.pop()
            blocks[-1] = [blocks[-1][0] + kept, blocks[-1][1] + n, blocks[-1][2] | levels]
    return next(Fraction(kept, n) for kept, n, levels in blocks if score in levels)


def by_refitting(scores, labels, score):
    scores, labels = [*scores, score], list(labels)
    return tuple(float(isotonic_at(scores, [*labels, y], score)) for y in (False, True))


@given(tied_rows(most=25), st.lists(LEVELS | st.floats(-2, 2), min_size=1, max_size=6))
def test_equal_to_refitting(rows, asked):
    scores, labels = split(rows)
    found = venn_abers(labelled(scores, labels, decimals=None))
    asked = [*asked, *scores.tolist(), -9.0, 9.0]
    lower, upper = found.interval(asked)
    want = [by_refitting(scores.tolist(), labels, score) for score in asked]
    assert list(zip(lower.tolist(), upper.tolist(), strict=True)) == want


@pytest.mark.parametrize("seed", range(4))
def test_equal_to_refitting_on_more_rows(seed):
    scores, labels = normal_scores(60, 80, seed, decimals=seed % 3)
    found = venn_abers(labelled(scores, labels, decimals=None))
    asked = np.concatenate((scores[::5], np.linspace(-3, 5, 20)))
    lower, upper = found.interval(asked)
    want = [by_refitting(scores.tolist(), labels, score) for score in asked.tolist()]
    assert list(zip(lower.tolist(), upper.tolist(), strict=True)) == want


@given(tied_rows(least=2, most=12))
def test_valid_whichever_row_came_last(rows):
    """Of the two values, the one for what the row turned out to be has no bias over all orders."""
    scores, labels = split(rows)
    bias = Fraction(0)
    for at in range(len(scores)):
        rest = np.arange(len(scores)) != at
        found = venn_abers(labelled(scores[rest], labels[rest], decimals=None))
        said = found.interval(scores[at])[int(labels[at])]
        bias += int(labels[at]) - Fraction(float(said)).limit_denominator(100)
    assert bias == 0


@given(tied_rows(most=25))
def test_rising_and_apart(rows):
    found = venn_abers(labelled(*split(rows), decimals=None))
    asked = np.linspace(-2, 2, 65)
    lower, upper = found.interval(asked)
    assert ((lower >= 0) & (lower < upper) & (upper <= 1)).all()
    assert (np.diff(lower) >= 0).all()
    assert (np.diff(upper) >= 0).all()
    assert (found.width(asked) == upper - lower).all()


def test_beyond_all_labels_an_end_is_open():
    found = venn_abers(labelled([0.2, 0.4, 0.6], [False, True, True], decimals=6))
    lower, upper = found.interval([0.1, 0.7])
    assert (lower[0], upper[1]) == (0, 1)


@pytest.mark.parametrize(("accept", "want"), [(True, (0.8, 1.0)), (False, (0.0, 0.2))])
def test_one_class_alone(accept, want):
    found = venn_abers(labelled([0.5] * 4, [accept] * 4, decimals=6))
    assert tuple(map(float, found.interval(0.5))) == want


def test_more_labels_leave_less_open():
    widths = []
    for n in (50, 500, 5000):
        data = labelled(*normal_scores(n // 2, n // 2), decimals=6)
        widths.append(venn_abers(data).width(data.scores).mean())
    assert widths[0] > 3 * widths[1] > 9 * widths[2] > 0


def test_the_truth_is_mostly_inside_for_many_labels():
    """The interval narrows on the true probability, not beside it."""
    scores, labels = normal_scores(20_000, 20_000, seed=3)
    lower, upper = venn_abers(labelled(scores, labels, decimals=6)).interval([0.5, 0.9, 1.5])
    truth = 1 / (1 + np.exp(-1.8 * (np.array([0.5, 0.9, 1.5]) - 0.9)))
    assert ((lower > truth - 0.06) & (upper < truth + 0.06)).all()


def test_scores_are_rounded_as_the_labelled_ones_were():
    found = venn_abers(labelled([0.25, 0.5, 0.75], [False, True, True], decimals=2))
    assert found.decimals == 2
    assert np.equal(found.interval(0.4999), found.interval(0.5)).all()
    assert found.interval(0.49)[0] < found.interval(0.4999)[0]


def test_any_shape_of_finite_scores():
    found = venn_abers(labelled([0.25, 0.5], [False, True], decimals=2))
    assert found.n == 2
    assert found.interval(0.3)[0].shape == ()
    assert found.interval([[0.3, 0.4]])[1].shape == (1, 2)
    with pytest.raises(NonFiniteError):
        found.interval([math.inf])


def test_the_tables_cannot_be_written_to():
    found = venn_abers(labelled([0.25, 0.5], [False, True], decimals=2))
    for array in (found.levels, found.lower, found.upper):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.5


def test_many_rows_take_seconds():
    data = labelled(*normal_scores(50_000, 50_000), decimals=None)
    before = time.process_time()
    found = venn_abers(data)
    found.interval(data.scores)
    assert time.process_time() - before < 5
    assert len(found.levels) == 100_000

"""How far judges agree: against scikit-learn, and an example worked by hand."""

import random

import pytest
from judge_fakes import FakeChat, case, verdict

from closecall.errors import UsageError
from closecall.metrics.judge.agreement import (
    COHEN,
    FLEISS,
    cohen_kappa,
    fleiss_kappa,
    panel_agreement,
)
from closecall.metrics.registry import load_metric
from closecall.records import Unmeasured

# Ten items, fourteen raters, five categories: the usual worked example of Fleiss' kappa, with
# P = 0.378, Pe = 0.213 and kappa = 0.210.
COUNTS = [
    (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
    (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
]  # fmt: skip


def scores(counts):
    return [category for category, count in enumerate(counts, start=1) for _ in range(count)]


def test_the_worked_example_of_fleiss():
    assert round(fleiss_kappa([scores(counts) for counts in COUNTS]), 3) == 0.210


def test_fleiss_by_hand():
    # Of 9 pairs 3 + 1 + 3 agree: P = 7/9. Of 9 scores 5 and 4: Pe = 25/81 + 16/81 = 41/81.
    # (63/81 - 41/81) / (40/81) = 22/40.
    assert fleiss_kappa([[1, 1, 1], [1, 1, 2], [2, 2, 2]]) == 22 / 40


@pytest.mark.parametrize("seed", range(6))
def test_cohen_with_quadratic_weights_is_that_of_scikit_learn(seed):
    from sklearn.metrics import cohen_kappa_score

    rng = random.Random(seed)
    first = [rng.randint(1, 5) for _ in range(40)]
    second = [min(5, max(1, one + rng.randint(-seed, seed))) for one in first]
    oracle = cohen_kappa_score(first, second, labels=[1, 2, 3, 4, 5], weights="quadratic")
    assert cohen_kappa(first, second) == pytest.approx(oracle, abs=1e-12)


def test_agreement_is_no_number_where_chance_would_agree_too():
    assert cohen_kappa([4, 4], [4, 4]) is None
    assert fleiss_kappa([[4, 4, 4]]) is None
    assert cohen_kappa([], []) is None
    assert fleiss_kappa([]) is None
    assert cohen_kappa([1, 5], [1, 5]) == 1.0
    assert cohen_kappa([1, 5], [5, 1]) == -1.0


def test_uneven_scores_are_refused():
    with pytest.raises(UsageError, match="2 scores against 1"):
        cohen_kappa([1, 2], [1])
    with pytest.raises(UsageError, match="same number of scores"):
        fleiss_kappa([[1, 2, 3], [1, 2]])
    with pytest.raises(UsageError, match="at least two"):
        fleiss_kappa([[1], [2]])


def votes(*columns):
    """Return measurements of a panel, one judge a column of scores."""
    chats = [FakeChat([verdict(s) for s in column], f"m{at}") for at, column in enumerate(columns)]
    metric = load_metric("llm_relevance").bound(chats)
    return metric.measure_batch([case(str(at)) for at in range(len(columns[0]))], {})


def test_the_agreement_of_a_run():
    two = panel_agreement([*votes([5, 4, 1, 2], [5, 5, 1, 1]), Unmeasured("no reply")])
    assert (two.method, two.items, two.equal) == (COHEN, 4, 2)
    assert two.raters == ("m0@test", "m1@test")
    assert two.kappa == cohen_kappa([5, 4, 1, 2], [5, 5, 1, 1])
    three = panel_agreement(votes([5, 4], [5, 5], [1, 5]))
    assert (three.method, three.kappa) == (FLEISS, fleiss_kappa([[5, 5, 1], [4, 5, 5]]))


def test_one_judge_has_nobody_to_agree_with():
    assert panel_agreement(votes([5, 4])) is None
    with pytest.raises(UsageError, match="different panels"):
        panel_agreement([*votes([5], [4]), *votes([5], [4], [3])])

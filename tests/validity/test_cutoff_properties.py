"""What holds of every fitted cutoff whatever the rows, asked through the public entries alone.

How often promises are broken is simulated beside this; here nothing is left to chance but the choice of rows.
"""

import json
import math
import os
import subprocess
import sys
from fractions import Fraction

import msgspec
import numpy as np
import pytest
import scipy.special  # noqa: F401 - loaded here, not within the time hypothesis allows an example
from hypothesis import given, settings
from hypothesis import strategies as st

from closecall.calibration import (
    Costs,
    Cutoff,
    Decision,
    Infeasible,
    Reason,
    TwoCutoffs,
    accepted,
    decide,
    fit_cutoff,
    fit_two_cutoffs,
)

COSTS = Costs(false_accept=5, false_reject=1)
BASED = Costs(false_accept=1, false_reject=2, base_rate=0.3)
PROMISES = [
    {"max_far": 0.1}, {"max_frr": 0.1}, {"max_far": 0.1, "guarantee": "average"},
    {"max_frr": 0.1, "guarantee": "average"},
]  # fmt: skip
OPTIMA = [
    {"costs": COSTS}, {"costs": BASED}, {"objective": "f1"}, {"objective": "youden"},
    {"objective": "accuracy"},
]  # fmt: skip
EMPIRICAL = [{**goal, "estimator": "empirical"} for goal in OPTIMA]
RESAMPLED = [
    {"objective": "f1", "estimator": "bagged"}, {"costs": COSTS, "estimator": "platt"},
]  # fmt: skip
APPROXIMATE = [{**goal, "guarantee": "approximate"} for goal in PROMISES[:2]]
BOTH = [{"max_far": 0.1, "max_frr": 0.15}]
ALL = PROMISES + EMPIRICAL + RESAMPLED + BOTH


def fit(scores, labels, groups=None, **goal):
    both = {"max_far", "max_frr"} <= set(goal)
    return (fit_two_cutoffs if both else fit_cutoff)(scores, labels, groups, **goal)


def made(seed, rejects=110, accepts=130, gap=1.8):
    """Scores, shuffled labels and groups of one to five rows, both labels in a group."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat([False, True], [rejects, accepts]))
    groups = np.sort(rng.integers(0, len(labels) // 2, len(labels)))
    shared = rng.normal(size=len(labels))[groups]
    return rng.normal(size=len(labels)) + 0.5 * shared + gap * labels, labels, groups


def as_json(found):
    return msgspec.json.encode(found)


def every(goals):
    return pytest.mark.parametrize("goal", goals, ids=str)


# An approximate promise is for groups.
with_and_without_groups = pytest.mark.parametrize(
    ("goal", "grouped"),
    [(goal, False) for goal in ALL] + [(goal, True) for goal in ALL + APPROXIMATE],
    ids=str,
)


@with_and_without_groups
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_stored_cutoff_decides_the_counts_it_carries(goal, grouped, dtype):
    scores, labels, groups = made(1)
    scores = scores.astype(dtype)
    found = fit(scores, labels, groups if grouped else None, **goal)
    again = msgspec.json.decode(as_json(found), type=Cutoff | TwoCutoffs)
    assert again == found
    said = [decide(again, score) for score in scores]
    for cutoff in [again.accept, again.reject] if isinstance(again, TwoCutoffs) else [again]:
        kept = accepted(cutoff, scores)
        counts = cutoff.counts
        assert (counts.true_accepts, counts.false_accepts) == (
            np.count_nonzero(kept & labels), np.count_nonzero(kept & ~labels),
        )  # fmt: skip
        assert (counts.accepts, counts.rejects) == (labels.sum(), (~labels).sum())
        assert cutoff.false_accept_rate.count == counts.false_accepts
        assert cutoff.false_reject_rate.count == counts.false_rejects
    if isinstance(again, TwoCutoffs):
        assert said.count(Decision.UNSURE) == again.unsure.count > 0
    else:
        assert [d is Decision.ACCEPT for d in said] == accepted(again, scores).tolist()


@with_and_without_groups
def test_the_order_of_rows_changes_no_byte(goal, grouped):
    scores, labels, groups = made(2)
    rng = np.random.default_rng(0)
    for decimals in (1, 4):
        rows = np.round(scores, decimals)
        want = as_json(fit(rows, labels, groups if grouped else None, **goal))
        for _ in range(2):
            order = rng.permutation(len(rows))
            names = groups[order] if grouped else None
            assert as_json(fit(rows[order], labels[order], names, **goal)) == want


@every(PROMISES[:2])
def test_copies_in_a_group_back_no_stronger_promise(goal):
    scores, labels, _ = made(3, rejects=200, accepts=200)
    once = fit(scores, labels, **goal)
    many, twice = np.tile(scores, 3), np.tile(labels, 3)
    alone = fit(many, twice, **goal)
    assert alone.evidence.n == 3 * once.evidence.n
    assert alone.evidence.allowed > 3 * once.evidence.allowed
    groups = np.tile(np.arange(len(scores)), 3)
    exact = fit(many, twice, groups, **goal)
    for name in ("n", "allowed", "observed", "upper_bound", "violation_probability"):
        assert getattr(exact.evidence, name) == getattr(once.evidence, name)
    rough = fit(many, twice, groups, guarantee="approximate", **goal)
    assert rough.evidence.clusters.design_effect == pytest.approx(3)
    assert exact.value == rough.value == once.value


@every(EMPIRICAL)
def test_copies_change_no_optimum(goal):
    scores, labels, _ = made(4)
    one = fit(scores, labels, **goal)
    for groups in (None, np.tile(np.arange(len(scores)), 4)):
        many = fit(np.tile(scores, 4), np.tile(labels, 4), groups, **goal)
        assert (many.value, many.gap, many.evidence) == (one.value, one.gap, one.evidence)


@every(PROMISES + EMPIRICAL + APPROXIMATE + BOTH)
@pytest.mark.parametrize("tied", [False, True], ids=["distinct", "tied"])
def test_increasing_transforms_change_no_decision(goal, tied):
    for seed in range(3):
        scores, labels, groups = made(seed)
        scores = np.round(scores, 1) if tied else scores
        _, ranks = np.unique(scores, return_inverse=True)
        plain = fit(scores, labels, groups, decimals=None, **goal)
        want = [decide(plain, score) for score in scores]
        for other in (7 * scores - 3, 1 / (1 + np.exp(-scores / 8)), ranks, ranks * 5e-324):
            moved = fit(other, labels, groups, decimals=None, **goal)
            assert [decide(moved, score) for score in other] == want
            one, two = (msgspec.to_builtins(record) for record in (plain, moved))
            assert without_scores(one) == without_scores(two)


def without_scores(record):
    """A record less what is on the scale of the scores."""
    if isinstance(record, dict):
        scale = {"gap", "plateau"} | ({"value"} if "gap" in record else set())
        return {k: without_scores(v) for k, v in record.items() if k not in scale}
    return record


@every([*PROMISES, APPROXIMATE[0], *BOTH])
def test_flipped_labels_and_negated_scores_exchange_the_promises(goal):
    swap = {"max_far": "max_frr", "max_frr": "max_far"}
    mirrored = {swap.get(name, name): limit for name, limit in goal.items()}
    for seed in range(4):
        scores, labels, groups = made(seed)
        scores = np.round(scores, seed)
        # The draw of a row from a group has no mirror image.
        rows = groups if goal.get("guarantee") == "approximate" else None
        one = fit(scores, labels, rows, **goal)
        two = fit(-scores, ~labels, rows, **mirrored)
        other = {
            Decision.ACCEPT: Decision.REJECT,
            Decision.REJECT: Decision.ACCEPT,
            Decision.UNSURE: Decision.UNSURE,
        }
        assert [decide(one, s) for s in scores] == [other[decide(two, -s)] for s in scores]
        if isinstance(one, TwoCutoffs):
            assert (one.unsure_accepts, one.unsure_rejects) == (
                two.unsure_rejects, two.unsure_accepts,
            )  # fmt: skip
            continue
        for name in ("n", "allowed", "observed", "upper_bound", "violation_probability"):
            assert getattr(one.evidence, name) == getattr(two.evidence, name)


def height(found):
    return math.inf if isinstance(found, Infeasible) else found.value


@pytest.mark.parametrize("guarantee", ["exact", "approximate", "average"])
def test_weaker_promises_and_easy_rejects_never_raise_the_cutoff(guarantee):
    """Also with groups; the new group's name comes last, so that other draws stay."""
    rose = 0
    for seed in range(12):
        scores, labels, groups = made(seed, rejects=160)
        options = {"where": "strict", "guarantee": guarantee, "seed": seed}
        levels = [
            height(fit(scores, labels, groups, max_far=limit, **options))
            for limit in (0.05, 0.08, 0.1, 0.2, 0.4)
        ]
        assert levels == sorted(levels, reverse=True)
        rose += levels[0] > levels[-1]
        if guarantee != "average":
            sure = [
                height(fit(scores, labels, groups, max_far=0.1, confidence=level, **options))
                for level in (0.99, 0.95, 0.9, 0.5)
            ]
            assert sure == sorted(sure, reverse=True)
        new = (groups.max() + 1,)
        more = fit([*scores, -99], [*labels, False], [*groups, *new], max_far=0.1, **options)
        assert height(more) <= levels[2]
        hard = fit([*scores, 99], [*labels, False], [*groups, *new], max_far=0.1, **options)
        if guarantee != "approximate" and (
            isinstance(hard, Infeasible)
            or hard.evidence.allowed
            == fit(scores, labels, groups, max_far=0.1, **options).evidence.allowed
        ):
            assert height(hard) >= levels[2]
    assert rose


SMALL = 5e-324


@pytest.mark.parametrize("where", ["mid", "strict", "loose"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("low", [0.5, 1.0, -1.0, 0.0, -0.0, SMALL, -SMALL, 1e300, -1e-310])
def test_neighbouring_floats_are_told_apart(low, dtype, where):
    with np.errstate(all="ignore"):
        low = dtype(low)
    if not np.isfinite(low):
        low = np.finfo(dtype).max / 2
    high = np.nextafter(low, dtype(np.inf))
    scores = np.repeat(np.array([low, high], dtype=dtype), 30)
    found = fit_cutoff(
        scores, np.repeat([False, True], 30), max_far=0.1, where=where, decimals=None
    )
    assert (found.counts.true_accepts, found.counts.false_accepts) == (30, 0)
    assert accepted(found, scores).tolist() == [False] * 30 + [True] * 30
    assert decide(found, high) is Decision.ACCEPT
    assert decide(found, low) is Decision.REJECT
    assert decide(found, found.value) is Decision.ACCEPT
    assert decide(found, math.nextafter(found.value, -math.inf)) is Decision.REJECT


def test_minus_zero_is_on_the_side_of_zero():
    scores = np.repeat([-1.0, -0.0, 0.0], 20)
    labels = np.repeat([False, True, True], 20)
    for decimals in (None, 6):
        found = fit_cutoff(scores, labels, max_far=0.2, where="strict", decimals=decimals)
        assert math.copysign(1, found.value) == 1
        assert found.counts.true_accepts == 40
        assert decide(found, -0.0) is decide(found, 0.0) is Decision.ACCEPT


def test_both_extremes_can_be_asked_for():
    scores, labels, _ = made(5)
    scores[labels.argmax()] = scores.min() - 1
    cheap = Costs(false_accept=1, false_reject=10_000)
    everybody = fit_cutoff(scores, labels, costs=cheap, estimator="empirical", decimals=None)
    assert everybody.value == scores.min()
    assert everybody.gap.low is None
    assert accepted(everybody, scores).all()
    scores[labels.argmin()] = scores.max() + 1
    dear = Costs(false_accept=10_000, false_reject=1)
    nobody = fit_cutoff(scores, labels, costs=dear, estimator="empirical")
    assert nobody.reason is Reason.ACCEPTS_NOBODY
    for label in (True, False):
        found = fit_cutoff(scores, np.full(len(scores), label), costs=cheap)
        assert found.reason is Reason.TOO_FEW_LABELS
        assert fit_cutoff([0.5], [label], costs=cheap).reason is Reason.TOO_FEW_LABELS


def worth(goal, labels, said):
    """An objective from decisions, in exact fractions, the greater the better."""
    wrong, missed = np.count_nonzero(said & ~labels), np.count_nonzero(~said & labels)
    accepts, rejects = np.count_nonzero(labels), np.count_nonzero(~labels)
    kept = accepts - missed
    if "costs" in goal:
        costs = goal["costs"]
        rates = Fraction(wrong, len(labels)), Fraction(missed, len(labels))
        if costs.base_rate is not None:
            base = Fraction(str(costs.base_rate))
            rates = (1 - base) * Fraction(wrong, rejects), base * Fraction(missed, accepts)
        return -(int(costs.false_accept) * rates[0] + int(costs.false_reject) * rates[1])
    return {
        "f1": Fraction(2 * kept, 2 * kept + wrong + missed),
        "youden": Fraction(kept, accepts) - Fraction(wrong, rejects),
        "accuracy": Fraction(len(labels) - wrong - missed, len(labels)),
    }[goal["objective"]]


@every(EMPIRICAL)
@settings(max_examples=40)
@given(
    st.lists(st.integers(0, 5), min_size=10, max_size=18),
    st.lists(st.integers(1, 6), min_size=10, max_size=18),
)
def test_nothing_beats_the_chosen_cutoff(goal, rejects, accepts):
    """Against every rule there is, accepting nobody and everybody among them; scores tie often."""
    scores = np.array([*rejects, *accepts]) / 8
    labels = np.repeat([False, True], [len(rejects), len(accepts)])
    found = fit_cutoff(scores, labels, **goal)
    rules = [math.inf, *sorted(set(scores), reverse=True)]
    values = [worth(goal, labels, scores >= rule) for rule in rules]
    if isinstance(found, Infeasible):
        if found.reason is Reason.ACCEPTS_NOBODY:
            assert values[0] == max(values)
        else:
            assert found.reason in {Reason.CONSTANT_SCORES, Reason.INVERTED_SCORES}
        return
    assert worth(goal, labels, accepted(found, scores)) == max(values) > values[0]
    # Of equally good rules, the one with the fewest false accepts.
    assert np.count_nonzero(accepted(found, scores)) == np.count_nonzero(
        scores >= rules[values.index(max(values))]
    )


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.floats(0.5, 5), st.booleans())
def test_two_cutoffs_decide_in_order(seed, gap, grouped):
    """Reject, then unsure, then accept, as the score rises; unsure only where the two differ."""
    scores, labels, groups = made(seed, gap=gap)
    found = fit_two_cutoffs(
        scores, labels, groups if grouped else None, max_far=0.1, max_frr=0.1, seed=seed
    )
    if isinstance(found, Infeasible):
        return
    ends = [found.reject.value, found.accept.value]
    around = [end + step for end in ends for step in (-1e-5, -1e-6, 0.0, 1e-6)]
    said = [decide(found, score) for score in sorted([*scores, *around])]
    order = [Decision.REJECT, Decision.UNSURE, Decision.ACCEPT]
    assert said == sorted(said, key=order.index)
    assert (Decision.UNSURE in said) == found.abstains == (ends[0] < ends[1])
    for cutoff in (found.accept, found.reject):
        evidence = cutoff.evidence
        assert evidence.observed <= evidence.allowed
        assert evidence.violation_probability <= evidence.delta == 0.025


@every(ALL + APPROXIMATE)
def test_noise_below_the_sixth_decimal_changes_no_byte(goal):
    """What differs between processors is far below it."""
    scores, labels, groups = made(6)
    scores = np.round(scores, 6)
    want = fit(scores, labels, groups, where="strict", **goal)
    said = [decide(want, score) for score in scores]
    rng = np.random.default_rng(1)
    for _ in range(3):
        noisy = scores + rng.uniform(-4e-7, 4e-7, len(scores))
        assert as_json(fit(noisy, labels, groups, where="strict", **goal)) == as_json(want)
        # The scores at the cutoff itself are among them.
        assert [decide(want, score) for score in noisy] == said
        for cutoff in (want.accept, want.reject) if isinstance(want, TwoCutoffs) else (want,):
            assert (accepted(cutoff, noisy) == accepted(cutoff, scores)).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_one_score_is_decided_as_a_row_of_them_is(dtype):
    """Scores of 0 to 100 in every float type, the cutoff on one of them and others close by."""
    for seed in range(8):
        scores, labels, _ = made(seed)
        scores = (50 + 9 * scores).astype(dtype)
        found = fit(scores, labels, objective="youden", estimator="empirical", where="strict")
        at = dtype(found.value)
        near = [np.nextafter(at, dtype(end)) for end in (-math.inf, math.inf)]
        rows = np.array([*scores, at, *near], dtype=dtype)
        said = [decide(found, score) is Decision.ACCEPT for score in rows]
        assert said == accepted(found, rows).tolist()
        assert said == [decide(found, score) is Decision.ACCEPT for score in rows.tolist()]


IN_ANOTHER_PROCESS = """
import json, sys, msgspec
from closecall.calibration import Costs, fit_cutoff, fit_two_cutoffs
rows, goals = json.load(sys.stdin)
for goal in goals:
    fit = fit_two_cutoffs if {"max_far", "max_frr"} <= set(goal) else fit_cutoff
    if "costs" in goal:
        goal["costs"] = Costs(**goal["costs"])
    print(msgspec.json.encode(fit(*zip(*rows), **goal)).decode())
"""


def test_another_process_writes_the_same_bytes():
    """Whatever the order of its sets and dictionaries, and of the rows."""
    scores, labels, groups = made(7)
    rows = [
        [float(score), "accept" if label else "reject", f"question {group}"]
        for score, label, group in zip(scores, labels, groups, strict=True)
    ]
    goals = ALL + APPROXIMATE
    want = [as_json(fit(*zip(*rows, strict=True), **goal)).decode() for goal in goals]
    for hash_seed in ("1", "2"):
        rows.reverse()
        said = subprocess.run(
            [sys.executable, "-c", IN_ANOTHER_PROCESS], check=True, capture_output=True, text=True,
            timeout=60, input=json.dumps([rows, msgspec.to_builtins(goals)]),
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
        )  # fmt: skip
        assert said.stdout.splitlines() == want


def arithmetic_rows():
    """Rows that need no random numbers and no rounding: 240 of them, in 80 groups."""
    at = np.arange(240)
    labels = at * 7 % 11 < 5
    return (at * 137 % 241 + 90 * labels) / 512, labels, at // 3


@pytest.mark.parametrize(
    ("goal", "value", "counts"),
    [
        ({"max_far": 0.1}, 0.4443355, (47, 8)),
        ({"max_frr": 0.1}, 0.203125, (103, 75)),
        ({"max_far": 0.1, "guarantee": "average"}, 0.4306645, (51, 12)),
        ({"max_far": 0.1, "guarantee": "approximate"}, 0.453125, (45, 6)),
        ({"objective": "f1", "estimator": "empirical"}, 0.1806645, (108, 80)),
        ({"objective": "f1", "estimator": "bagged"}, 0.18359399999999998, (107, 80)),
        ({"costs": COSTS, "estimator": "empirical"}, 0.4697265, (41, 0)),
        ({"costs": COSTS, "estimator": "platt"}, 0.532155, (27, 0)),
    ],
    ids=str,
)
def test_known_rows_have_a_known_cutoff_on_every_machine(goal, value, counts):
    found = fit_cutoff(*arithmetic_rows(), seed=11, **goal)
    assert (found.value, found.counts.true_accepts, found.counts.false_accepts) == (value, *counts)

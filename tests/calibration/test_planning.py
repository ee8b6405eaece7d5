"""How many labels a promise takes, and what labels at hand can back."""

from fractions import Fraction
from math import ceil, log

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closecall.calibration import Cutoff, Infeasible, fit_cutoff, fit_two_cutoffs
from closecall.calibration.binomial import best_limit, binomial_cdf, most_errors, upper_bound
from closecall.calibration.labels.planning import (
    ERRORS_ALLOWED,
    Have,
    LabelPlan,
    average_exceeded,
    drawn,
    drawn_surely,
    plan,
    steady_labels,
)
from closecall.errors import UsageError
from closecall.report.label_plan import up

TABLE = {  # labels that back a limit at confidence 95% with 0, 1, 2, 3, 5 and 10 of them wrong
    0.01: (299, 473, 628, 773, 1049, 1693),
    0.02: (149, 236, 313, 386, 523, 845),
    0.05: (59, 93, 124, 153, 208, 336),
    0.1: (29, 46, 61, 76, 103, 167),
}


def only(**options):
    return plan(**options).promises[0]


@pytest.mark.parametrize("limit", TABLE)
def test_the_table(limit):
    assert tuple(need.labels for need in only(max_far=limit).needs) == TABLE[limit]


@pytest.mark.parametrize("limit", [0.02, 0.05, 0.13, 0.5])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_the_table_is_that_of_a_scan_and_of_the_upper_bound(limit, confidence):
    delta = float(1 - Fraction(str(confidence)))
    for need in only(max_far=limit, confidence=confidence).needs:
        scan = next(
            n for n in range(need.errors + 1, 9999) if binomial_cdf(need.errors, n, limit) <= delta
        )
        assert need.labels == scan
        assert upper_bound(need.errors, scan, delta) <= limit * (1 + 1e-12)
        assert scan == need.errors + 1 or upper_bound(need.errors, scan - 1, delta) > limit
    assert only(max_far=limit, confidence=confidence).needs[0].labels == ceil(
        log(delta) / log(1 - limit)
    )


def scores(rejects, accepts=60):
    return [at / 1000 for at in range(rejects)] + [1 + at / 1000 for at in range(accepts)]


@given(
    rejects=st.integers(10, 400),
    limit=st.sampled_from((0.01, 0.03, 0.05, 0.1, 0.2)),
    looks=st.integers(1, 5),
)
def test_a_plan_says_what_fitting_does(rejects, limit, looks):
    labels = [False] * rejects + [True] * 60
    found = fit_cutoff(scores(rejects), labels, max_far=limit, looks=looks)
    said = only(max_far=limit, looks=looks, have=Have(accepts=60, rejects=rejects))
    assert isinstance(found, Cutoff) == said.backed == (said.allowed is not None)
    if isinstance(found, Infeasible):
        assert (found.more_rejects, found.best_limit) == (said.more, said.best_limit)
    else:
        assert found.evidence.allowed == said.allowed
        assert found.evidence.delta == said.delta
    more = [True] * said.more
    again = fit_cutoff(
        scores(rejects + len(more)), [False] * len(more) + labels, max_far=limit, looks=looks
    )
    assert isinstance(again, Cutoff)


def test_two_promises_take_what_fitting_two_cutoffs_takes():
    def granted(rejects, accepts):
        labels = [False] * rejects + [True] * accepts
        return not isinstance(
            fit_two_cutoffs(scores(rejects, accepts), labels, max_far=0.1, max_frr=0.2), Infeasible
        )

    said = plan(max_far=0.1, max_frr=0.2, have=Have(accepts=12, rejects=11))
    rejects, accepts = 11 + said.more_rejects, 12 + said.more_accepts
    assert granted(rejects, accepts)
    assert not granted(rejects - 1, accepts)
    assert not granted(rejects, accepts - 1)


def test_a_promise_on_false_rejects_counts_accepts():
    said = only(max_frr=0.05, have=Have(accepts=70, rejects=12), reject_rate=0.2)
    assert (said.errors, said.have, said.allowed, said.more) == ("false_rejects", 70, 0, 0)
    assert said.needs[1].more == 23
    assert said.needs[1].drawn == ceil(23 / 0.8)


def test_groups_count_for_a_promise_and_rows_for_any_decision():
    have = Have(accepts=200, rejects=80, accept_groups=90, reject_groups=40)
    said = plan(max_far=0.05, have=have)
    assert said.promises[0].per == "group"
    assert (said.promises[0].have, said.promises[0].more, said.decidable) == (40, 19, True)


def test_forty_labels_with_nine_rejects_decide_nothing():
    said = plan(max_far=0.5, have=Have(accepts=31, rejects=9))
    assert (said.decidable, said.more_rejects, said.more_accepts) == (False, 1, 0)
    assert said.promises[0].backed


def test_forty_labels_with_fifteen_rejects():
    said = plan(max_far=0.05, have=Have(accepts=25, rejects=15))
    promise = said.promises[0]
    assert said.decidable
    assert promise.best_limit == pytest.approx(1 - 0.05 ** (1 / 15), abs=1e-12)
    assert [(at.limit, at.allowed) for at in promise.backings] == [
        (0.01, None), (0.02, None), (0.05, None), (0.1, None), (0.2, 0)
    ]  # fmt: skip
    assert (said.more_rejects, said.drawn) == (44, ceil(44 * 40 / 15))


@pytest.mark.parametrize(
    ("have", "allowed"),
    [(28, None), (29, 0), (50, 1), (59, 1), (75, 2), (100, 4), (150, 8), (200, 12), (300, 21), (500, 38), (2000, 177)],
)  # fmt: skip
def test_errors_allowed_at_ten_percent(have, allowed):
    assert only(max_far=0.1, have=Have(accepts=50, rejects=have)).allowed == allowed


def test_of_labels_in_all_the_share_of_the_class():
    assert [need.drawn for need in only(max_far=0.05, reject_rate=0.2).needs[:3]] == [
        295,
        465,
        620,
    ]
    assert [need.drawn for need in only(max_frr=0.05, reject_rate=0.2).needs[:2]] == [74, 117]


@given(
    labels=st.integers(1, 3000),
    share=st.fractions(Fraction(1, 200), Fraction(199, 200), max_denominator=200),
)
def test_draws_for_so_many_of_a_class(labels, share):
    mean, sure = drawn(labels, share), drawn_surely(labels, share)
    assert mean * share >= labels > (mean - 1) * share
    assert binomial_cdf(labels - 1, sure, float(share)) <= 0.05
    assert sure == labels or binomial_cdf(labels - 1, sure - 1, float(share)) > 0.05
    assert sure >= mean - 1


def test_without_a_share_nothing_is_said_of_labels_in_all():
    found = plan(max_far=0.05)
    assert {need.drawn for need in found.promises[0].needs} == {None}
    assert (found.drawn, found.enough, found.observed_rejects) == (None, None, None)
    unknown = plan(max_far=0.05, have=Have(accepts=12, rejects=0))
    assert (unknown.drawn, unknown.more_rejects, unknown.observed_rejects.count) == (None, 59, 0)
    assert plan(max_far=0.05, have=Have(accepts=12, rejects=0), reject_rate=0.25).drawn == 236


@pytest.mark.parametrize("limit", [0.05, 0.1, 0.3])
@pytest.mark.parametrize("delta", [0.05, 0.005])
@pytest.mark.parametrize("power", [0.5, 0.8, 0.9])
def test_power_from_there_on_by_a_scan(limit, delta, power):
    """From the number on every sample keeps the power; the one before it does not."""
    rate = limit / 2
    labels, errors = steady_labels(limit, delta, rate, power)

    def chance(n):
        allowed = most_errors(n, limit, delta)
        return 0.0 if allowed is None else binomial_cdf(allowed, n, rate)

    assert chance(labels - 1) < power
    assert all(chance(n) >= power for n in range(labels, 3 * labels))
    assert most_errors(labels, limit, delta) == errors


def test_known_powers():
    got = [steady_labels(0.05, 0.05, 0.01, power) for power in (0.5, 0.8)]
    assert got == [(93, 1), (124, 2)]
    assert [aim.labels for aim in only(max_far=0.1).aims] == [116, 203, 263]


@pytest.mark.parametrize(("limit", "labels"), [(0.05, 19), (0.1, 9), (0.01, 99), (0.3, 3)])
def test_the_average_guarantee(limit, labels):
    assert only(max_far=limit).average == labels
    data = [0.0] * labels + [1.0] * 20
    if labels >= 10:
        rows = ([at / 100 for at in range(labels)] + data[labels:], [False] * labels + [True] * 20)
        assert isinstance(fit_cutoff(*rows, max_far=limit, guarantee="average"), Cutoff)


@pytest.mark.parametrize(("labels", "limit"), [(19, 0.05), (40, 0.05), (100, 0.29), (99, 0.01)])
def test_how_often_the_average_guarantee_is_exceeded_is_what_fitting_says(labels, limit):
    wrong = [at / 1000 for at in range(labels)]
    found = fit_cutoff(
        wrong + [1 + at for at in range(20)],
        [False] * labels + [True] * 20,
        max_far=limit,
        guarantee="average",
    )
    assert average_exceeded(labels, limit) == found.evidence.violation_probability


def test_too_few_labels_for_the_average_guarantee():
    assert average_exceeded(19, 0.05) == pytest.approx(0.95**19)
    with pytest.raises(UsageError, match="takes 19 labels, got 18"):
        average_exceeded(18, 0.05)


def test_the_smallest_limit_as_printed_can_be_asked_for():
    for n in [*range(2, 200), *range(200, 2000, 37)]:
        printed = up(best_limit(n, 0.05))
        assert most_errors(n, float(printed), 0.05) is not None


def test_looks_cost_labels():
    once, often = only(max_far=0.05), only(max_far=0.05, looks=168)
    assert often.delta == once.delta / 168
    assert often.needs[0].labels == 159


def test_a_plan_is_json():
    found = plan(
        max_far=0.05,
        max_frr=0.1,
        have=Have(accepts=40, rejects=20, accept_groups=30, reject_groups=20),
    )
    assert msgspec.json.decode(msgspec.json.encode(found), type=LabelPlan) == found


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "say what is promised"),
        ({"max_far": 0}, "max_far must be"),
        ({"max_frr": 1}, "max_frr must be"),
        ({"max_far": 0.1, "confidence": 95}, "confidence must be"),
        ({"max_far": 0.1, "looks": 0}, "looks must be"),
        ({"max_far": 0.1, "reject_rate": 20}, "reject_rate must be"),
    ],
)
def test_what_is_refused(options, said):
    with pytest.raises(UsageError, match=said):
        plan(**options)


@pytest.mark.parametrize(
    "have",
    [
        {"accepts": -1, "rejects": 0},
        {"accepts": 1, "rejects": 3, "reject_groups": 4, "accept_groups": 1},
    ],
)
def test_labels_that_cannot_be_at_hand(have):
    with pytest.raises(UsageError, match="cannot be"):
        Have(**have)


def test_errors_allowed_are_those_of_the_table():
    assert ERRORS_ALLOWED == (0, 1, 2, 3, 5, 10)

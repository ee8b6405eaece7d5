"""Certified cutoffs: refusal at the boundary, invariances, and what the record says."""

import math

import msgspec
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from made_scores import by_hand, normal_scores, split, tied_rows

from closecall.calibration.binomial import binomial_cdf, upper_bound
from closecall.calibration.curve import error_curve
from closecall.calibration.cutoffs import certify, certify_average, certify_both
from closecall.calibration.decisions import accepted, decide
from closecall.calibration.records import (
    Certificate,
    Cutoff,
    Decision,
    Gap,
    Infeasible,
    Reason,
    TwoCutoffs,
)
from closecall.errors import UsageError

SIDES = ("false_accepts", "false_rejects")


def made(rejects=100, accepts=100, **options):
    return error_curve(*normal_scores(rejects, accepts, **options))


@pytest.mark.parametrize(("limit", "fewest"), [(0.05, 59), (0.10, 29), (0.01, 299), (0.02, 149)])
@pytest.mark.parametrize("errors", SIDES)
def test_the_boundary_of_refusal(limit, fewest, errors):
    def found(n):
        sizes = (n, 80) if errors == "false_accepts" else (80, n)
        return certify(made(*sizes, gap=30), limit, errors=errors)

    refused, granted = found(fewest - 1), found(fewest)
    assert isinstance(refused, Infeasible)
    assert refused.reason is Reason.PROMISE_OUT_OF_REACH
    needed = (refused.more_rejects, refused.more_accepts)
    assert needed == ((1, None) if errors == "false_accepts" else (None, 1))
    assert refused.best_limit == pytest.approx(1 - 0.05 ** (1 / (fewest - 1)))
    assert granted.evidence.allowed == granted.evidence.observed == 0
    assert granted.evidence.n == fewest


@pytest.mark.parametrize("errors", SIDES)
def test_the_best_limit_of_a_refusal_is_granted(errors):
    curve = made(20, 20, gap=1.0)
    refused = certify(curve, 0.001, errors=errors)
    granted = certify(curve, refused.best_limit, errors=errors)
    assert isinstance(granted, Cutoff)
    assert isinstance(certify(curve, refused.best_limit * (1 - 1e-6), errors=errors), Infeasible)


def test_a_refusal_reads_as_advice():
    refused = certify(made(40, 100, gap=30), 0.05)
    assert refused.message == (
        "max_far=0.05 at confidence 0.95 needs 59 rejects even if none is decided wrongly; "
        "here are 40"
    )
    assert refused.advice == (
        "label 19 more rejects, drawn at random; or ask for max_far=0.073 at least"
    )


def test_the_record_says_what_backs_it():
    curve = made(100, 100, seed=5)
    cutoff = certify(curve, 0.05)
    evidence = cutoff.evidence
    assert (evidence.n, evidence.allowed, evidence.observed) == (100, 1, 1)
    assert evidence.exact
    assert evidence.violation_probability == binomial_cdf(1, 100, 0.05) < 0.05
    assert evidence.upper_bound == upper_bound(1, 100, 0.05) <= 0.05
    assert (evidence.method, evidence.per, evidence.delta) == ("order-statistic", "row", 0.05)
    assert cutoff.counts.false_accepts == cutoff.false_accept_rate.count == 1
    assert cutoff.false_accept_rate.n == 100
    assert cutoff.gap.low < cutoff.value < cutoff.gap.high
    # One more reject would be one too many.
    assert curve.counts(curve.row(cutoff.gap.low)).false_accepts == 2


@pytest.mark.parametrize("where", ["mid", "strict", "loose"])
@pytest.mark.parametrize("errors", SIDES)
@given(rows=tied_rows(least=1, most=40), limit=st.floats(0.05, 0.9), delta=st.floats(0.01, 0.9))
def test_the_most_of_what_is_allowed(where, errors, rows, limit, delta):
    """Against a search through every rule."""
    scores, labels = split(rows)
    curve = error_curve(scores, labels)
    found = certify(curve, limit, delta, errors=errors, where=where)
    wrong = curve.false_accepts if errors == "false_accepts" else curve.false_rejects
    n = int(wrong.max())
    bounds = [upper_bound(int(count), n, delta) if n else 1.0 for count in wrong]
    # On the boundary itself rounding decides, and differently in each form.
    assume(all(abs(bound - limit) > 1e-9 for bound in bounds))
    fine = [row for row, bound in enumerate(bounds) if bound < limit]
    want = (max(fine) if errors == "false_accepts" else min(fine)) if fine else 0
    if isinstance(found, Infeasible):
        assert want == 0
        assert found.reason is (Reason.ACCEPTS_NOBODY if fine else Reason.PROMISE_OUT_OF_REACH)
    else:
        assert curve.row(found.value) == want
        assert msgspec.structs.asdict(found.counts) == by_hand(scores, labels, found.value)


@pytest.mark.parametrize("errors", SIDES)
def test_counts_through_the_public_decision_after_json(errors):
    for seed in range(20):
        scores, labels = normal_scores(80, 90, seed=seed, gap=1.0)
        scores = scores.astype(np.float32) if seed % 2 else scores
        cutoff = certify(error_curve(scores, labels), 0.1, errors=errors)
        again = msgspec.json.decode(msgspec.json.encode(cutoff), type=Cutoff)
        assert again == cutoff
        said = accepted(again, scores)
        assert int((said & ~labels).sum()) == cutoff.counts.false_accepts
        assert int((said & labels).sum()) == cutoff.counts.true_accepts
        one = [decide(again, float(score)) is Decision.ACCEPT for score in scores]
        assert one == said.tolist()


def test_a_score_is_rounded_before_it_is_compared():
    """Without it the row behind a strict cutoff would fall below its own cutoff."""
    scores = np.array([0.7000004, *np.linspace(0, 0.6, 60)])
    labels = np.array([True] + [False] * 60)
    cutoff = certify(error_curve(scores, labels), 0.05, where="strict")
    assert cutoff.value == 0.7
    assert decide(cutoff, 0.6999996) is Decision.ACCEPT
    assert decide(cutoff, 0.6999994) is Decision.REJECT
    assert decide(cutoff, 0.7) is Decision.ACCEPT


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.sampled_from(SIDES), st.booleans())
def test_increasing_transforms_change_nothing_but_the_cutoff(seed, errors, tied):
    scores, labels = normal_scores(70, 60, seed=seed, decimals=1 if tied else None)
    _, ranks = np.unique(scores, return_inverse=True)
    plain = certify(error_curve(scores, labels, decimals=None), 0.05, errors=errors)
    for other in (3 * scores - 7, 1 / (1 + np.exp(-scores / 8)), ranks, ranks * 1e-300):
        moved = certify(error_curve(other, labels, decimals=None), 0.05, errors=errors)
        assert type(moved) is type(plain)
        if isinstance(plain, Cutoff):
            assert (moved.counts, moved.evidence) == (plain.counts, plain.evidence)
            assert (accepted(moved, other) == accepted(plain, scores)).all()


@given(tied_rows(least=1, most=40), st.floats(0.05, 0.5), st.floats(0.05, 0.5))
def test_flipped_labels_and_negated_scores_exchange_the_two_errors(rows, limit, delta):
    scores, labels = split(rows)
    curve, flipped = error_curve(scores, labels), error_curve(-scores, ~labels)
    one = certify(curve, limit, delta)
    two = certify(flipped, limit, delta, errors="false_rejects")
    if isinstance(one, Infeasible):
        # Accepting nobody is no cutoff; its mirror image, accepting everybody, is one.
        everybody = isinstance(two, Cutoff) and two.counts.true_rejects == 0
        assert everybody == (one.reason is Reason.ACCEPTS_NOBODY)
        assert everybody or two.reason is one.reason is Reason.PROMISE_OUT_OF_REACH
    else:
        assert one.counts.false_accepts == two.counts.false_rejects
        assert one.counts.true_accepts == two.counts.true_rejects
        assert one.evidence.allowed == two.evidence.allowed


def height(found):
    return math.inf if isinstance(found, Infeasible) else found.value


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.floats(0.04, 0.3), st.floats(0.01, 0.2), st.floats(1, 1.9))
def test_a_weaker_promise_never_raises_the_cutoff(seed, limit, delta, more):
    curve = made(80, 60, seed=seed, decimals=1)
    start = height(certify(curve, limit, delta))
    assert height(certify(curve, limit * more, delta)) <= start
    assert height(certify(curve, limit, delta * more)) <= start


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.integers(59, 140), st.booleans())
def test_one_more_reject(seed, rejects, tied):
    scores, labels = normal_scores(rejects, 60, seed=seed, decimals=1 if tied else None)
    before = certify(error_curve(scores, labels), 0.05, where="strict")
    if isinstance(before, Infeasible):
        return
    low = certify(error_curve([*scores, -9.0], [*labels, False]), 0.05, where="strict")
    assert height(low) <= before.value
    high = certify(
        error_curve([*scores, before.value + 0.5], [*labels, False]), 0.05, where="strict"
    )
    if isinstance(high, Infeasible) or high.evidence.allowed == before.evidence.allowed:
        assert height(high) >= before.value


def test_doubled_rows_make_a_stronger_claim_which_is_why_groups_matter():
    scores, labels = normal_scores(60, 60, seed=2)
    one = certify(error_curve(scores, labels), 0.1)
    two = certify(error_curve(np.tile(scores, 2), np.tile(labels, 2)), 0.1)
    assert (one.evidence.n, two.evidence.n) == (60, 120)
    assert one.evidence != two.evidence


def test_only_rejects_at_the_top_is_no_cutoff():
    scores = np.array([0.9] * 3 + [0.5] * 100 + [0.4] * 50)
    labels = np.array([False] * 3 + [False] * 97 + [True] * 3 + [True] * 50)
    found = certify(error_curve(scores, labels), 0.05)
    assert found.reason is Reason.ACCEPTS_NOBODY
    assert "belongs to 3 rejects" in found.message
    assert found.best_limit == pytest.approx(upper_bound(3, 100, 0.05))
    granted = certify(error_curve(scores, labels), found.best_limit)
    assert granted.counts.false_accepts == 3
    only = certify(error_curve(np.full(70, 0.5), np.repeat([True, False], [5, 65])), 0.05)
    assert only.reason is Reason.ACCEPTS_NOBODY
    assert only.best_limit is None


def test_accepting_everybody_can_be_certified_for_false_rejects():
    cutoff = certify(error_curve([0.5] * 60, [True] * 60), 0.05, errors="false_rejects")
    assert (cutoff.value, cutoff.gap) == (0.5, Gap(low=None, high=0.5))
    assert cutoff.false_accept_rate is None
    assert cutoff.false_reject_rate.count == 0


@pytest.mark.parametrize(
    ("n", "limit", "allowed"),
    [(18, 0.05, None), (19, 0.05, 0), (8, 0.1, None), (9, 0.1, 0), (99, 0.29, 28), (99, 0.07, 6)],
)
@pytest.mark.parametrize("errors", SIDES)
def test_the_average_rule_counts_in_decimals(n, limit, allowed, errors):
    curve = made(n, n, gap=2.5, seed=3)
    found = certify_average(curve, limit, errors=errors)
    if allowed is None:
        assert found.reason is Reason.PROMISE_OUT_OF_REACH
        assert (found.more_rejects or found.more_accepts) == 1
        assert isinstance(certify_average(curve, found.best_limit, errors=errors), Cutoff)
        return
    evidence = found.evidence
    assert (evidence.allowed, evidence.expected) == (allowed, (allowed + 1) / (n + 1))
    assert evidence.expected <= limit + 1e-15
    assert not evidence.exact
    assert (evidence.delta, evidence.upper_bound) == (None, None)
    assert evidence.violation_probability == binomial_cdf(allowed, n, limit)


def test_two_cutoffs_leave_the_middle_to_a_person():
    scores, labels = normal_scores(200, 200, seed=4, gap=1.8)
    found = certify_both(error_curve(scores, labels), 0.05, 0.05)
    assert found.abstains
    assert found.accept.evidence.delta == found.reject.evidence.delta == 0.025
    assert found.delta == 0.05
    said = [decide(found, score) for score in scores]
    assert said.count(Decision.UNSURE) == found.unsure.count
    assert found.unsure.n == 400
    assert found.unsure.count == found.unsure_accepts + found.unsure_rejects
    kept = [d is Decision.ACCEPT for d in said]
    assert kept == accepted(found.accept, scores).tolist()
    turned = [d is Decision.REJECT for d in said]
    assert turned == (~accepted(found.reject, scores)).tolist()
    again = msgspec.json.decode(msgspec.json.encode(found), type=TwoCutoffs)
    assert again == found


def test_two_promises_that_one_cutoff_keeps():
    scores, labels = normal_scores(200, 200, seed=4, gap=5)
    found = certify_both(error_curve(scores, labels), 0.05, 0.05)
    assert not found.abstains
    assert found.accept.value == found.reject.value
    assert found.unsure.count == 0
    for cutoff in (found.accept, found.reject):
        evidence = cutoff.evidence
        assert cutoff.where is None
        assert evidence.observed <= evidence.allowed
        assert evidence.upper_bound == upper_bound(evidence.observed, 200, 0.025) <= 0.05
    assert found.accept.evidence.observed == found.accept.counts.false_accepts
    assert found.reject.evidence.observed == found.accept.counts.false_rejects
    assert Decision.UNSURE not in {decide(found, score) for score in scores}


def test_two_cutoffs_need_both_promises():
    for sizes, word in [((60, 200), "reject"), ((200, 60), "accept")]:
        found = certify_both(made(*sizes), 0.05, 0.05)
        assert found.reason is Reason.PROMISE_OUT_OF_REACH
        assert f"label 12 more {word}s" in found.advice


def test_looks_divide_delta():
    once, often = certify(made(300, 100), 0.05), certify(made(300, 100), 0.05, looks=28)
    assert often.evidence.delta == 0.05 / 28
    assert often.evidence.allowed < once.evidence.allowed
    assert often.evidence.violation_probability <= 0.05 / 28
    for looks in (0, True, 1.5):
        with pytest.raises(UsageError, match="looks"):
            certify(made(), 0.05, looks=looks)


def test_records_refuse_nonsense():
    cutoff = certify(made(), 0.1)
    assert isinstance(cutoff.evidence, Certificate)
    for value in (math.nan, math.inf, cutoff.gap.high + 1, cutoff.gap.low):
        with pytest.raises(ValueError, match="no cutoff"):
            msgspec.structs.replace(cutoff, value=value)
    found = certify_both(made(200, 200), 0.05, 0.05)
    with pytest.raises(ValueError, match="above"):
        msgspec.structs.replace(found, accept=found.reject, reject=found.accept)

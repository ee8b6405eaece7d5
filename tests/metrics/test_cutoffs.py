"""What a cutoff may be, how a value stands to it, and how that is put into words."""

import math

import pytest
from hand_made import at, measured
from hypothesis import given
from hypothesis import strategies as st

from closecall.errors import UsageError
from closecall.metrics.cutoffs import checked_cutoff, relation, shown
from closecall.metrics.embedding_similarity import EmbeddingSimilarity
from closecall.metrics.pooled import AnswerSimilarity, SemanticSimilarity
from closecall.records import Case, Measured, State, Unmeasured
from closecall.runs.results import CaseResult, decide, overall

PAIR = Case(id="1", references=("right",), response="said")


def decided(metric, cosine):
    return decide(metric, measured(metric, PAIR, {"right": at(1), "said": at(cosine)}))


def scored(value, cutoff=70.0):
    metric = AnswerSimilarity(cutoff)
    return decide(metric, Measured(similarity=value / 100, value=value, score=value))


def test_a_value_exactly_at_the_cutoff_passes():
    assert scored(70.0).state is State.PASSED
    assert scored(math.nextafter(70.0, 0)).state is State.FAILED
    assert decided(AnswerSimilarity(80), 0.8).state is State.PASSED
    assert decided(SemanticSimilarity(0.8), 0.8).state is State.PASSED


def test_a_verdict_says_where_its_cutoff_comes_from():
    default = scored(81.0)
    assert default.reason == (
        "high similarity 81.00 %: 81.00 >= 70.00 (default cutoff, not calibrated)"
    )
    chosen = scored(59.5, 60.0)
    assert chosen.reason == (
        "low similarity 59.50 %: 59.50 < 60.00 (cutoff chosen by you, not calibrated)"
    )


@pytest.mark.parametrize(
    ("value", "marked"),
    [(70.0, True), (70.0009, True), (69.9991, True), (70.0011, False), (69.9989, False)],
)
def test_a_value_within_rounding_of_its_cutoff_is_marked_borderline(value, marked):
    assert scored(value).borderline is marked


def test_the_borderline_is_as_narrow_on_a_scale_of_0_to_1():
    for metric in (SemanticSimilarity(0.8), EmbeddingSimilarity(cutoff=0.8)):
        assert decided(metric, 0.800009).borderline
        assert not decided(metric, 0.80002).borderline


def test_an_absence_is_never_decided():
    found = decide(AnswerSimilarity(0), Unmeasured("no answer", State.ERROR))
    assert (found.state, found.reason, found.borderline) == (State.ERROR, "no answer", False)


@pytest.mark.parametrize(
    ("value", "cutoff", "said"),
    [
        (79.66, 80, "79.66 < 80.00"),
        (79.9996, 80, "79.9996 < 80.0000"),
        (80, 80, "80.00 >= 80.00"),
        (80.0004, 80, "80.0004 >= 80.0000"),
        (0.7966, 0.8, "0.797 < 0.800"),
        (-0.25, 0, "-0.25 < 0.00"),
    ],
)
def test_a_relation_has_the_digits_that_show_it(value, cutoff, said):
    assert relation(value, cutoff) == said


finite = st.floats(-1000, 1000)


@given(finite, finite)
def test_what_a_relation_prints_is_true(value, cutoff):
    left, sign, right = relation(value, cutoff).split()
    assert (sign == ">=") == (value >= cutoff)
    assert (float(left) >= float(right)) == (value >= cutoff)


@given(finite, finite, st.integers(0, 4))
def test_a_number_is_never_shown_on_the_other_side_of_its_cutoff(value, cutoff, decimals):
    assert (float(shown(value, cutoff, decimals)) >= cutoff) == (value >= cutoff)


def test_no_more_digits_are_shown_than_needed():
    assert shown(69.96, 70, 1) == "69.96"
    assert shown(65.04, 70, 1) == "65.0"
    assert shown(69.96, None, 1) == "70.0"


@pytest.mark.parametrize("cutoff", [0.7, 0.05, 0.999])
def test_a_fraction_on_a_scale_of_0_to_100_is_taken_for_a_slip(cutoff):
    with pytest.raises(UsageError, match=f"did you mean {100 * cutoff:g}"):
        AnswerSimilarity(cutoff)


def test_a_percentage_on_a_scale_of_0_to_1_is_taken_for_a_slip():
    with pytest.raises(UsageError, match=r"within 0 to 1, got 70; did you mean 0.7\?"):
        SemanticSimilarity(70)
    with pytest.raises(UsageError, match=r"did you mean 0.65\?"):
        EmbeddingSimilarity(cutoff=65)


@pytest.mark.parametrize("cutoff", [-1, 100.5, 1e9])
def test_a_cutoff_off_the_scale_is_refused(cutoff):
    with pytest.raises(UsageError, match="within 0 to 100"):
        AnswerSimilarity(cutoff)


@pytest.mark.parametrize(
    "cutoff", [True, "70", math.nan, math.inf, -math.inf, 10**400, [70]], ids=repr
)
def test_a_cutoff_is_a_finite_number(cutoff):
    with pytest.raises(UsageError, match="must be a finite number"):
        checked_cutoff("m", cutoff, -math.inf, math.inf)


@pytest.mark.parametrize("cutoff", [0, 1, 100])
def test_the_ends_of_the_scale_are_allowed(cutoff):
    assert AnswerSimilarity(cutoff).cutoff == cutoff
    assert SemanticSimilarity(min(cutoff, 1)).cutoff == min(cutoff, 1)


@pytest.mark.parametrize(
    ("states", "whole"),
    [
        ([State.PASSED, State.PASSED], State.PASSED),
        ([State.PASSED, State.FAILED], State.FAILED),
        ([State.NOT_MEASURED, State.FAILED], State.FAILED),
        ([State.PASSED, State.NOT_MEASURED], State.NOT_MEASURED),
        ([State.PASSED, State.ERROR], State.ERROR),
        ([State.PASSED, State.SCORED], State.PASSED),
        ([State.SCORED, State.SCORED], State.SCORED),
        ([State.PASSED, State.NOT_APPLICABLE], State.PASSED),
        ([], State.NOT_MEASURED),
    ],
)
def test_a_case_passes_only_when_nothing_failed_and_nothing_is_absent(states, whole):
    assert overall(states) is whole


def test_a_case_has_the_state_of_its_results():
    row = CaseResult(case=PAIR, results=(scored(90.0), scored(10.0)))
    assert row.state is State.FAILED

"""What all integrations share: one answer measured, on the hosts' scale, with one embedder."""

import pytest

from closecall.asserting import NotMeasuredError
from closecall.errors import UsageError
from closecall.integrations.verdict import asked, spec_of, verdict_on
from closecall.records import Case, State


def case(response, reference, **more):
    return Case(id="c", response=response, references=(reference,), **more)


def test_value_and_cutoff_are_on_0_to_1():
    found = verdict_on(case("Refunds take five days.", "Refunds take five days."), asked())
    assert (found.score, found.cutoff, found.accepted) == (1.0, 0.7, True)
    assert found.facts["value"] == 100
    assert "embed_answer_similarity" in found.reason
    unit = asked(metric="token_f1", cutoff=0.5)
    found = verdict_on(case("red cat", "red dog"), unit)
    assert (found.score, found.cutoff, found.accepted) == (0.5, 0.5, True)


def test_without_a_cutoff_nothing_is_accepted():
    found = verdict_on(
        case("red cat", "x", context=("red dog",)), asked(metric="context_alignment")
    )
    assert (found.cutoff, found.accepted, found.unsure) == (None, None, False)


def test_what_is_not_measured_has_no_number():
    with pytest.raises(NotMeasuredError, match=r"not measured: .*blank") as caught:
        verdict_on(case("Five days.", " "), asked())
    assert caught.value.result.state is State.NOT_MEASURED
    with pytest.raises(NotMeasuredError, match="not applicable: "):
        verdict_on(case("Five days.", "x"), asked(metric="expected_fact"))


def test_a_calibration_decides_and_leaves_unsure(cutoffs, by_state):
    question = asked(calibration=cutoffs)
    found = {state: verdict_on(case(*texts), question) for state, texts in by_state.items()}
    assert {state: one.accepted for state, one in found.items()} == {
        "passed": True,
        "failed": False,
        "unsure": None,
    }
    assert found["unsure"].unsure
    assert found["passed"].facts["cutoffSource"] == "calibrated"


def test_one_embedder_opens_with_the_first_answer_and_serves_all(opened):
    first, second = asked(), asked(metric="answer_alignment", cutoff=0.5)
    spec_of(first), spec_of(second)
    assert opened == []
    for question in (first, second, asked()):
        verdict_on(case("Refunds take five days.", "Refunds take five days."), question)
    assert opened == [None]


def test_several_metrics_give_no_one_verdict():
    with pytest.raises(UsageError, match="token_f1, exact_match"):
        spec_of(asked(metric="token_f1,exact_match"))


def test_control_characters_are_shown():
    fact = {"expected_facts": "x"}
    with pytest.raises(NotMeasuredError) as caught:
        verdict_on(
            case("a\x1b[31m", "b", metadata=fact | {"expected_factz": 1}), asked(metric="refusal")
        )
    assert "\x1b" not in str(caught.value)

"""Judges in a whole run: nothing that fails ends it, ends green, or goes without a word."""

import random

import pytest
from judge_fakes import FakeChat, case, failure, reply, user_text, verdict

from closecall.calibration.artefact import Calibration
from closecall.calibration.goals import Goal
from closecall.calibration.store import save_calibration
from closecall.errors import ConfigurationError, InstrumentMismatchError
from closecall.metrics.registry import load_metric
from closecall.records import Case, Label, State
from closecall.runs.calibrate import calibrate
from closecall.runs.evaluate import evaluate
from closecall.runs.stored import load_run
from closecall.testing import HashEmbedder


def run(said, cases=None, name="llm_relevance", **options):
    metric = load_metric(name).bound(FakeChat(said))
    cases = cases or [case(str(at), response=f"answer {at}") for at in range(5)]
    return evaluate(cases, [metric], HashEmbedder(), cache=False, **options)


def states(done):
    return [row.results[0].state for row in done]


@pytest.mark.parametrize(
    "said",
    [
        failure("refused", "HTTP 400: unsupported parameter max_tokens", 400),
        failure("timeout", "no reply in 60 s", None),
        failure(),
        reply("As an AI, I cannot say."),
        reply(""),
        reply("{", finish="length"),
        RuntimeError("boom"),
    ],
    ids=["400", "slow", "limited", "unparsable", "empty", "cut", "crash"],
)
def test_a_judge_that_always_fails_measures_nothing_and_says_one_thing(said):
    done = run(lambda _: said)
    assert all(not state.measured for state in states(done))
    assert State.PASSED not in [row.state for row in done]
    assert len({row.results[0].reason for row in done}) == 1


def test_a_run_without_a_chat_model_ends_before_the_first_case():
    with pytest.raises(ConfigurationError, match="llm_relevance needs a chat model"):
        evaluate([case()], ["llm_relevance"], HashEmbedder(), cache=False)


def test_one_failure_among_many_costs_one_case():
    done = run(lambda request: failure() if "answer 2" in user_text(request) else verdict(5))
    want = [State.PASSED] * 5
    want[2] = State.NOT_MEASURED
    assert states(done) == want


def test_a_run_folder_holds_what_the_judge_said(tmp_path):
    said = verdict(3, "It leaves out half.", "\ud800 \x00 thoughts")
    done = run(said, aef=tmp_path / "run")
    assert states(done) == [State.FAILED] * 5
    kept = next(iter(load_run(tmp_path / "run"))).results[0]
    assert kept.measurement.details["reason"] == "It leaves out half."
    assert kept.measurement.details["judge"] == "stub-1@test"
    assert (kept.measurement.value, kept.state) == (3, State.FAILED)
    assert "relevance 3.0000: 3.00 < 4.00" in kept.reason


def test_a_judge_is_calibrated_like_any_score_and_for_itself_alone(tmp_path):
    rng = random.Random(7)
    cases, scores = [], {}
    for at in range(240):
        good = at % 2 == 0
        scores[f"answer number {at}."] = rng.choice((3, 4, 5, 5) if good else (1, 1, 2, 3))
        label = Label.ACCEPT if good else Label.REJECT
        cases.append(
            Case(id=str(at), input=f"question {at}", response=f"answer number {at}.",
                 context=("a context",), label=label)
        )  # fmt: skip

    def answer(request):
        text = user_text(request)
        return verdict(next(score for said, score in scores.items() if said in text))

    metric = load_metric("llm_groundedness").bound(FakeChat(answer))
    embedder = HashEmbedder()
    made = calibrate(cases, metric, embedder, Goal(max_far=0.1), cache=False, lock=False)
    assert isinstance(made, Calibration)
    assert made.rule.value == 3.5  # a 3 is given to both sides, a 4 to none of the rejects
    saved = tmp_path / "groundedness.json"
    save_calibration(made, saved)
    options = {"calibration": saved, "cache": False}
    done = evaluate(cases[:20], [metric], embedder, **options)
    for row in done:
        passed = row.results[0].measurement.value >= made.rule.value
        assert row.results[0].state is (State.PASSED if passed else State.FAILED)
    other = load_metric("llm_groundedness").bound(FakeChat(answer, "stub-2"))
    with pytest.raises(InstrumentMismatchError, match="llm_groundedness"):
        evaluate(cases[:20], [other], embedder, **options)

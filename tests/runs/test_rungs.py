"""The rungs of a cascade calibrated together: who is among them, what each promises, in which order."""

import json
from pathlib import Path

import pytest
from judged_rows import Quick, rows
from number_reader import FinerReader, NumberReader, put

from closecall import Goal, evaluate, save_calibration
from closecall.calibration.records import Infeasible
from closecall.errors import CalibrationFileError, DataError, UsageError
from closecall.metrics.registry import load_metrics
from closecall.records import State
from closecall.runs.applied import Applied
from closecall.runs.calibrations import load_calibrations
from closecall.runs.cascade import promises
from closecall.runs.rungs import calibrate_cascade, cascade_rungs, pair_hint, share_of
from closecall.testing import ScriptedChat

GOAL = Goal(max_far=0.3, max_frr=0.4, confidence=0.9)
CHAT = json.dumps({"thoughts": "t", "reason": "r", "score": 4})


@pytest.fixture
def reader(monkeypatch, tmp_path):
    return put(monkeypatch, tmp_path, FinerReader())


@pytest.fixture
def rungs(reader):
    return calibrate_cascade(rows(400), "token_recall", Quick(), GOAL, cache=False, lock=False)


def names(cases, metrics=None):
    return [metric.spec.id for metric in cascade_rungs(cases, metrics)]


def with_context(cases):
    return [
        {**{k: v for k, v in case.items() if k != "reference"}, "context": [case["reference"]]}
        for case in cases
    ]


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize(
    ("metrics", "found"),
    [
        (None, ["answer_alignment", "answer_support"]),
        ("token_recall", ["token_recall", "answer_support"]),
        ("token_recall,chrf", ["token_recall", "chrf", "answer_support"]),
        ("llm_equivalence", ["answer_support", "llm_equivalence"]),
        (
            "token_recall,llm_equivalence,llm_relevance",
            ["token_recall", "answer_support", "llm_equivalence", "llm_relevance"],
        ),
        ("answer_support,chrf", ["answer_support", "chrf"]),
        ("context_alignment", ["context_alignment", "context_support"]),
    ],
)
def test_the_pair_model_comes_before_whatever_is_paid_for_or_last(metrics, found):
    assert names(rows(4), metrics) == found


@pytest.mark.usefixtures("reader")
def test_by_the_context_where_no_labelled_case_has_a_reference():
    assert names(with_context(rows(4))) == ["context_alignment", "context_support"]


def test_without_a_pair_model_there_is_no_such_rung(monkeypatch, tmp_path):
    put(monkeypatch, tmp_path, None)
    assert names(rows(4), "token_recall,chrf") == ["token_recall", "chrf"]
    with pytest.raises(UsageError, match="token_recall alone"):
        names(rows(4), "token_recall")


def test_together_they_promise_what_was_asked_for(rungs):
    assert [rung.metric for rung in rungs] == ["token_recall", "answer_support"]
    assert all(rung.found.goal == rung.goal == share_of(GOAL, 2) for rung in rungs)
    whole = promises([Applied.of(rung.found, "") for rung in rungs])
    assert (whole.max_far, whole.max_frr, whole.confidence) == (0.3, 0.4, 0.9)


@pytest.mark.parametrize("count", [2, 3, 7])
def test_shares_add_up_whatever_the_number(count):
    own = share_of(Goal(max_far=0.1, max_frr=0.2), count)
    assert own.max_far * count == pytest.approx(0.1)
    assert own.max_frr * count == pytest.approx(0.2)
    assert (1 - own.confidence) * count == pytest.approx(0.05)


def test_what_the_first_leaves_unsure_goes_to_the_pair_model_and_guards_stay(rungs, reader):
    fresh = rows(200, seed=5)
    reader.asked.clear()
    run = evaluate(
        fresh, embedder=Quick(), calibration=[rung.found for rung in rungs], cascade=True,
        cache=False,
    )  # fmt: skip
    moved = [row for row in run if row.results[0].state is State.INCONCLUSIVE]
    assert 0 < len(moved) < 200
    read, responses = {second for _, second in reader.pairs}, {row["response"] for row in fresh}
    assert read & responses == {row.case.response for row in moved}
    decided = [row for row in run if row.results[1].state in {State.PASSED, State.FAILED}]
    assert decided
    assert all("numbers" in plan.guards for plan in run.header.metrics)


def test_a_rung_that_keeps_not_its_share_ends_it_before_anything_is_paid_for(reader):
    chat = ScriptedChat(lambda _: CHAT)
    found = calibrate_cascade(
        rows(60), "llm_equivalence", Quick(), Goal(max_far=0.01, max_frr=0.01),
        judge_model=chat, cache=False,
    )  # fmt: skip
    assert [rung.metric for rung in found] == ["answer_support"]
    assert isinstance(found[0].found, Infeasible)
    assert chat.requests == []


def test_a_rung_that_leaves_nothing_unsure_is_the_last(monkeypatch, tmp_path):
    reader = put(monkeypatch, tmp_path, NumberReader())
    answers = {row["response"]: row["label"] for row in rows(400)}
    # It knows every label, so one cutoff keeps both promises.
    reader._one = lambda _, second: 0.9 if answers[second] == "accept" else 0.1
    chat = ScriptedChat(lambda _: CHAT)
    found = calibrate_cascade(
        rows(400), "llm_equivalence", Quick(), GOAL, judge_model=chat, cache=False
    )
    assert [rung.metric for rung in found] == ["answer_support"]
    assert found[0].found.reject_cutoff is None
    assert chat.requests == []


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize("goal", [None, Goal(max_far=0.1), Goal(objective="f1")])
def test_it_takes_both_promises(goal):
    with pytest.raises(UsageError, match="max_far and max_frr"):
        calibrate_cascade(rows(40), None, Quick(), goal, cache=False)


@pytest.mark.usefixtures("reader")
def test_without_a_label_there_is_nothing_to_calibrate():
    bare = [{k: v for k, v in row.items() if k != "label"} for row in rows(4)]
    with pytest.raises(DataError, match="no row has a label"):
        cascade_rungs(bare)


def test_a_folder_stands_for_the_calibrations_in_it_in_order(rungs, tmp_path):
    folder = tmp_path / "rungs"
    for number, rung in reversed(list(enumerate(rungs, 1))):
        save_calibration(rung.found, folder / f"{number}.json")
    given = load_calibrations(folder)
    assert [one.metric for one in given] == ["token_recall", "answer_support"]
    assert [Path(one.path).name for one in given] == ["1.json", "2.json"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(CalibrationFileError, match="a folder without a calibration"):
        load_calibrations(tmp_path / "empty")


def test_a_run_that_pays_before_the_pair_model_was_asked_is_told_of_it(rungs):
    told = []
    evaluate(
        rows(4), embedder=Quick(), calibration=[rungs[0].found, calibrated_marks()], cascade=True,
        cache=False, judge=ScriptedChat(lambda _: CHAT), on_notice=told.append,
    )  # fmt: skip
    (said,) = (text for text in told if "answer_support" in text)
    assert "llm_equivalence is asked of whatever" in said
    assert "calibrate FILE --cascade" in said


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize(
    ("rungs", "name"),
    [
        ("token_recall,answer_support,llm_equivalence", None),
        ("token_recall,chrf", None),
        ("token_recall,llm_equivalence,answer_support", "answer_support"),
        ("context_alignment,llm_groundedness", "context_support"),
    ],
)
def test_it_is_named_where_nothing_is_paid_for_before(rungs, name, monkeypatch, tmp_path):
    said = pair_hint(load_metrics(rungs))
    assert said is None if name is None else f"none of them is {name}" in said
    put(monkeypatch, tmp_path, None)
    alone = "token_recall,llm_equivalence"
    assert pair_hint(load_metrics(alone)) is None


def calibrated_marks():
    from closecall import calibrate

    marks = {row["response"]: 5 if row["label"] == "accept" else 1 for row in rows(120)}

    def judge(request):
        said = json.dumps(request.messages, default=str) if hasattr(request, "messages") else ""
        mark = next(mark for text, mark in marks.items() if text in said)
        return json.dumps({"thoughts": "t", "reason": "r", "score": mark})

    return calibrate(
        rows(120), "llm_equivalence", Quick(), Goal(objective="f1"),
        judge_model=ScriptedChat(judge), cache=False,
    )  # fmt: skip

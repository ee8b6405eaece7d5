"""Two calibrations, or two models, on the same labelled rows: what is compared and concluded."""

import json
import shutil

import msgspec
import pytest
from word_cases import Always, narrow, rows, wide

from closecall import Goal, calibrate, evaluate, save_calibration
from closecall.errors import (
    InstrumentMismatchError,
    UnknownNameError,
    UsageError,
)
from closecall.records import State
from closecall.runs.compare import Compared, Reading, compare_cutoffs, compare_embedders

LABELLED = rows(300, seed=1)
FRESH = rows(200, seed=2, first=1000)
TENTH = Goal(max_far=0.1)


def made(embedder, cases=LABELLED, **options):
    return calibrate(cases, embedder=embedder, goal=options.pop("goal", TENTH), **options)


@pytest.fixture(scope="module")
def clear():
    return made(wide())


@pytest.fixture(scope="module")
def blurred():
    return made(narrow())


def cutoffs(a, b, cases=FRESH, embedders=None, **options):
    return compare_cutoffs(a, b, cases, embedders=embedders or (narrow(), wide()), **options)


def test_decisions_are_those_of_a_run_with_each_calibration(clear, blurred):
    found = cutoffs(blurred, clear).comparison
    wrong = [
        {
            row.case.id
            for row in evaluate(FRESH, embedder=embedder, calibration=one)
            if (row.results[0].state is State.PASSED) != (row.case.label == "accept")
        }
        for one, embedder in ((blurred, narrow()), (clear, wide()))
    ]
    for kind, label in ((found.false_accepts, "reject"), (found.false_rejects, "accept")):
        ids = {row["id"] for row in FRESH if row["label"] == label}
        a, b = (each & ids for each in wrong)
        assert (kind.n, kind.both) == (len(ids), len(a & b))
        assert (kind.only_a, kind.only_b) == (len(a - b), len(b - a))
    assert (found.verdict, found.unsure) == ("B", None)
    assert found.auc.auc_b > found.auc.auc_a


def test_the_level_is_that_of_verdict_and_interval(clear, blurred):
    found = cutoffs(blurred, clear, level=0.8).comparison
    assert (found.level, found.auc.interval.level) == (0.8, 0.8)
    found = compare_embedders(FRESH, (narrow(), wide()), TENTH, level=0.8).comparison
    assert (found.level, found.acceptance.interval.level) == (0.8, 0.8)


def test_the_better_one_is_named_whichever_comes_first(clear, blurred):
    assert cutoffs(clear, blurred, embedders=(wide(), narrow())).comparison.verdict == "A"
    assert compare_embedders(LABELLED, (wide(), narrow()), TENTH).comparison.verdict == "A"
    found = compare_embedders(LABELLED, (narrow(), wide()), TENTH)
    assert (found.comparison.verdict, found.comparison.b, found.b.name) == ("B", "wide", "wide")
    assert (found.a.metric, found.a.instrument) == (
        "embed_answer_similarity",
        narrow().instrument.digest,
    )


def test_one_calibration_is_not_compared_with_itself(clear, tmp_path):
    save_calibration(clear, tmp_path / "one.json")
    shutil.copy(tmp_path / "one.json", tmp_path / "copy.json")
    for other in (clear, tmp_path / "one.json", tmp_path / "copy.json"):
        with pytest.raises(UsageError, match="the same calibration"):
            cutoffs(tmp_path / "one.json", other)


def test_files_give_the_names(clear, blurred, tmp_path):
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
    save_calibration(blurred, tmp_path / "x" / "old.json")
    save_calibration(clear, tmp_path / "y" / "new.json")
    save_calibration(clear, tmp_path / "y" / "old.json")
    found = cutoffs(tmp_path / "x" / "old.json", tmp_path / "y" / "new.json")
    assert (found.a.name, found.comparison.b) == ("old", "new")
    assert found.b.calibration == clear.digest
    assert "at most 10% of wrong answers are accepted" in found.b.words
    found = cutoffs(tmp_path / "x" / "old.json", tmp_path / "y" / "old.json")
    assert (found.a.name, found.b.name) == ("old (A)", "old (B)")


def test_another_embedder_is_refused_before_a_case_is_embedded(clear, blurred):
    first, second = narrow(), narrow()
    with pytest.raises(InstrumentMismatchError, match="belongs to another embedder"):
        cutoffs(blurred, clear, embedders=(first, second))
    with pytest.raises(UsageError, match="a number between 0 and 1"):
        cutoffs(blurred, clear, embedders=(first, second), level=1.0)
    cased = {text for row in FRESH for text in (row["response"], row["reference"])}
    assert not cased.intersection(first.texts + second.texts)
    with pytest.raises(UsageError, match="give that embedder to this run too"):
        compare_cutoffs(blurred, clear, FRESH)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"level": 1.0}, "must be a number between 0 and 1"),
        ({"resamples": 10}, "needs at least 39 resamples, got 10"),
        ({"goal": Goal(max_frr=0.1)}, "a goal with max_far alone"),
        ({"goal": Goal(max_far=1.5)}, "max_far"),
        ({"goal": Goal(max_far=0.1, guarantee="approximate")}, "'exact' or 'average'"),
        ({"metrics": ("semantic_similarity,embedding_similarity",) * 2}, "there is no metric"),
        ({"embedders": (narrow(), narrow())}, "the two are the same"),
        ({"reading": Reading(group="document")}, "no 'document' to group by"),
    ],
    ids=["level", "resamples", "other goal", "limit", "guarantee", "two metrics", "same", "group"],
)
def test_what_cannot_be_asked_is_refused_before_a_case_is_embedded(options, said):
    first, second = narrow(), wide()
    with pytest.raises((UsageError, UnknownNameError), match=said):
        compare_embedders(FRESH, **{"embedders": (first, second), **options})
    assert first.texts == second.texts == []


def test_two_metrics_share_one_embedding_of_each_text():
    cases = [{**row, "context": [row["input"]]} for row in FRESH]
    embedder = wide()
    found = compare_embedders(
        cases, (embedder, embedder), TENTH, ("embed_answer_similarity", "embed_response_context")
    )
    assert len(embedder.texts) == len(set(embedder.texts))
    assert (found.comparison.a, found.comparison.b) == (found.a.metric, found.b.metric)
    assert (found.comparison.verdict, found.comparison.n) == ("A", len(cases))


def test_models_of_one_name_are_told_apart_by_what_differs():
    found = compare_embedders(LABELLED, (narrow(), wide(model="narrow")), TENTH)
    assert (found.a.name, found.b.name) == ("narrow (dims 6)", "narrow (dims 64)")
    found = compare_embedders(
        LABELLED, (narrow(), wide()), TENTH, (Always(), "embedding_similarity")
    )
    assert found.b.name == "embedding_similarity with wide"


@pytest.mark.parametrize("label", ["accept", "reject"])
def test_one_class_alone_gives_no_verdict(label, clear, blurred):
    cases = [{**row, "label": label} for row in FRESH[:40]]
    by_models = compare_embedders(cases, (narrow(), wide()), TENTH).comparison
    for found in (cutoffs(blurred, clear, cases).comparison, by_models):
        assert (found.verdict, found.auc) == ("cannot tell", None)
        assert f"{40 if label == 'reject' else 0} rejects" in found.why
    assert by_models.acceptance is None


def test_few_labels_cannot_tell(clear, blurred):
    cases = [*[r for r in FRESH if r["label"] == "accept"][:14]]
    cases += [row for row in FRESH if row["label"] == "reject"][:10]
    found = cutoffs(blurred, clear, cases).comparison
    assert found.verdict == "cannot tell"
    assert found.why.startswith("cannot tell with n = 24 (14 accepts, 10 rejects): ")
    found = compare_embedders(cases, (narrow(), wide()), TENTH)
    assert "needs 29 rejects even if none is decided wrongly; here are 10" in found.comparison.why
    assert (found.goal, found.comparison.acceptance) == (TENTH, None)


def test_two_cutoffs_leave_answers_to_a_person_and_one_score_has_one_order(clear):
    both = made(wide(), goal=Goal(max_far=0.1, max_frr=0.1))
    found = cutoffs(clear, both, embedders=(wide(), wide()))
    unsure = found.comparison.unsure
    assert (unsure.n, unsure.errors_a) == (200, 0)
    assert unsure.errors_b > 20
    assert (found.same_score, found.comparison.auc, found.goal) == (True, None, None)


def test_the_same_seed_gives_the_same_result_and_is_recorded():
    cases = rows(80, seed=4, answers=3)
    goal = Goal(max_far=0.2, seed=7)
    found = compare_embedders(cases, (narrow(), wide()), goal, resamples=200)
    assert found == compare_embedders(cases, (narrow(), wide()), goal, resamples=200)
    assert (found.comparison.acceptance.seed, found.goal.seed) == (7, 7)
    other = compare_embedders(cases, (narrow(), wide()), Goal(max_far=0.2), resamples=200)
    assert other.comparison.acceptance.interval != found.comparison.acceptance.interval


def test_a_score_that_never_changes_is_named_with_its_owner():
    found = compare_embedders(
        LABELLED, (wide(), wide()), TENTH, ("embedding_similarity", Always())
    )
    assert found.comparison.verdict == "cannot tell"
    assert "always: all 300 scores are 0.5" in found.comparison.why
    assert "a score that never changes cannot decide" in found.comparison.why


def test_it_is_strict_json_and_back(clear, blurred):
    for found in (
        cutoffs(blurred, clear),
        compare_embedders(LABELLED, (narrow(), wide()), TENTH),
        compare_embedders(FRESH[:30], (narrow(), wide()), TENTH),
    ):
        text = json.dumps(msgspec.to_builtins(found), allow_nan=False)
        assert msgspec.json.decode(text, type=Compared) == found

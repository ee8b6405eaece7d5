"""``calibrate`` and ``refresh`` from Python: what is counted, refused, kept, and found again."""

import json

import pytest
from labelled_rows import Turned, made, one, rows, unlabelled, write
from msgspec.structs import replace

from closecall import (
    AnswerSimilarity,
    Goal,
    SemanticSimilarity,
    calibrate,
    evaluate,
    load_calibration,
    refresh,
    save_calibration,
)
from closecall.calibration.decisions import decide
from closecall.calibration.records import Infeasible, Reason, TwoCutoffs
from closecall.errors import (
    CalibrationFileError,
    DataError,
    DatasetError,
    EmbeddingError,
    InstrumentMismatchError,
    UsageError,
)
from closecall.testing import HashEmbedder


@pytest.fixture(scope="module")
def calibration():
    return made()


def test_the_file_brings_back_the_calibration(calibration, tmp_path):
    save_calibration(calibration, tmp_path / "cutoff.json")
    assert load_calibration(tmp_path / "cutoff.json") == calibration
    assert calibration.data.used == 120
    assert calibration.data.groups is None
    assert calibration.accept_cutoff.counts.false_accepts <= 1
    assert calibration.embedder == "python:HashEmbedder"


def test_the_counts_are_those_of_a_run_with_the_cutoff_on_the_same_cases(calibration):
    run = evaluate(rows(), embedder=HashEmbedder(), calibration=calibration, cache=False)
    assert run.metrics[0].labelled == calibration.accept_cutoff.counts
    assert run.metrics[0].false_accept_rate == calibration.accept_cutoff.false_accept_rate
    assert run.metrics[0].false_reject_rate == calibration.accept_cutoff.false_reject_rate


def test_rows_without_a_label_are_counted_and_not_embedded(calibration):
    embedder = HashEmbedder()
    extra = unlabelled([one(at, True) for at in range(900, 910)])
    found = made([*rows(), *extra], embedder=embedder)
    assert not {case["response"] for case in extra} & set(embedder.texts)
    assert (found.data.rows, found.data.unlabelled, found.data.used) == (130, 10, 120)
    assert found.rule == calibration.rule


@pytest.mark.parametrize(
    ("cases", "options", "error", "said"),
    [
        (unlabelled(rows()), {}, DataError, r"cases: none of 120 rows has a label.*--map label="),
        (rows(), {"group": "team"}, UsageError, "no 'team' to group by"),
        (rows(), {"slices": ["team"]}, UsageError, "no case has 'team' to slice by"),
        (rows(), {"slices": ["input"], "keep_texts": False}, UsageError, "input are texts"),
        (rows(sampling="active"), {}, DataError, "120 of 120 labels say sampling: active"),
        (rows(sampling="active"), {"leave_out_active": True}, DataError, "all 120 labels were"),
        (rows(annotator="closecall stress"), {}, DataError, "120 of 120 labels are of answers"),
        (rows(sampling="by hand"), {}, DataError, "sampling: expected random or active"),
        (rows(question="Which?"), {}, DatasetError, "could both be the input"),
    ],
    ids=[
        "unlabelled",
        "group",
        "slice",
        "texts",
        "active",
        "only-active",
        "made-up",
        "bad",
        "two-readings",
    ],
)
def test_what_cannot_be_used_is_refused_before_a_text_is_embedded(cases, options, error, said):
    embedder = HashEmbedder()
    with pytest.raises(error, match=said):
        made(cases, embedder=embedder, **options)
    assert embedder.texts == []


def test_labels_picked_by_score_are_left_out_and_counted(calibration):
    picked = [one(at, at % 2 == 0, sampling="active") for at in range(800, 820)]
    found = made([*rows(), *picked], leave_out_active=True)
    assert found.rule == calibration.rule
    assert found.data.rows == 140
    assert found.data.unmeasured == {"left out, because the label was picked by score": 20}
    costly = made([*rows(), *picked], goal=Goal(objective="youden"))
    assert (costly.data.used, costly.data.active) == (140, 20)


def test_rows_that_cannot_be_measured_are_counted_with_their_reason():
    found = made([*rows(), one(900, True, response=" "), one(901, False, reference="")])
    assert found.data.used == 120
    assert sorted(found.data.unmeasured.values()) == [1, 1]
    with pytest.raises(DataError, match=r"none of the labelled rows could be measured: .*blank"):
        made(rows(response=" "))


def test_the_same_item_again_counts_once_and_both_labels_not_at_all():
    twice = [case | {"id": f"again-{case['id']}"} for case in rows()[:5]]
    found = made([*rows(), *twice])
    assert (found.data.used, found.data.merged) == (120, 5)
    other = [
        case | {"label": "reject" if case["label"] == "accept" else "accept"} for case in twice
    ]
    found = made([*rows(), *other])
    assert (found.data.used, len(found.data.conflicts)) == (115, 5)
    with pytest.raises(DataError, match=r"both labels, 5 in all.*cases\[0\], cases\[5\]"):
        made([*rows()[:5], *other])


def test_without_labels_enough_there_is_a_reason_and_no_cutoff():
    found = made(rows(60, 20))
    assert isinstance(found, Infeasible)
    assert (found.reason, found.more_rejects) == (Reason.PROMISE_OUT_OF_REACH, 9)
    assert made(rows(60, 9), goal=Goal(objective="f1")).reason is Reason.TOO_FEW_LABELS


def test_a_try_is_one_on_mostly_the_same_labels(calibration):
    assert calibration.tried == 1
    again = made(previous=calibration, goal=Goal(max_far=0.2))
    assert again.tried == 2
    assert "W16" in {caution.code for caution in again.cautions}
    assert made([*rows(), *rows(9, 9, seed=5)], previous=again).tried == 3
    other = [case | {"input": f"Another question {at}?"} for at, case in enumerate(rows(seed=7))]
    assert made(other, previous=again).tried == 1


def test_labels_set_aside_are_counted_as_used_however_they_are_grouped():
    many = [one(at, at % 3 > 0, team=f"t{at // 2}") for at in range(660)]
    first = made(many)
    assert first.locked.uses == 1
    assert first.data.used + first.data.locked == 660
    assert made(many, lock=False).locked is None
    assert made(many, previous=first).locked.uses == 2
    assert made(many, previous=first, group="team").locked.uses == 2


def test_the_same_file_at_the_same_time_gives_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    path = write(tmp_path / "cases.jsonl", rows())
    for name in ("a", "b"):
        save_calibration(made(path), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert load_calibration(tmp_path / "a").created == "2023-11-14T22:13:20Z"


def test_no_text_is_kept_that_is_not_wanted(tmp_path):
    cases = [case | {"context": [f"a passage on {case['id']}"], "tags": ["x"]} for case in rows()]
    found = made(cases, keep_texts=False, slices=["tags"])
    save_calibration(found, tmp_path / "cutoff.json")
    held = (tmp_path / "cutoff.json").read_text(encoding="utf-8")
    for case in cases:
        for text in (case["input"], case["response"], case["reference"], *case["context"]):
            assert json.dumps(text)[1:-1] not in held
    with pytest.raises(CalibrationFileError, match="made without its texts"):
        refresh(found, HashEmbedder())


def test_a_metric_of_ones_own_is_calibrated_and_refreshed():
    class Mine(AnswerSimilarity):
        def __init__(self):
            super().__init__()
            self.spec = replace(self.spec, id="mine", name="mine")

    found = calibrate(rows(), Mine(), HashEmbedder(), Goal(max_far=0.1), cache=False)
    run = evaluate(rows(), Mine(), HashEmbedder(), calibration=found, cache=False)
    assert run.metrics[0].cutoff == found.accept_cutoff.value
    same = refresh(found, HashEmbedder(), metric=Mine(), cache=False)
    assert same.after.rule == found.rule
    with pytest.raises(InstrumentMismatchError, match="is for mine, not for semantic_similarity"):
        refresh(found, HashEmbedder(), metric=SemanticSimilarity())


def test_refreshing_with_nothing_changed_changes_nothing(calibration):
    same = refresh(calibration, HashEmbedder(), cache=False)
    assert (same.after.rule, same.flipped) == (calibration.rule, ())
    assert same.after.sample == calibration.sample
    assert same.after.slices == calibration.slices


def test_refreshing_needs_the_embedder_that_no_name_stands_for(calibration):
    with pytest.raises(UsageError, match="HashEmbedder given in Python: give it again"):
        refresh(calibration)


@pytest.mark.parametrize(
    "goal", [Goal(max_far=0.1), Goal(max_far=0.1, max_frr=0.2)], ids=["one", "two"]
)
def test_refreshing_with_another_embedder_names_what_is_decided_otherwise(goal):
    before = made(goal=goal)
    other = HashEmbedder(48, model="another")
    found = refresh(before, other, cache=False)
    assert isinstance(before.rule, TwoCutoffs) == goal.two
    assert found.after.instrument.model == "another"
    run = evaluate(rows(), embedder=other, calibration=found.after, cache=False)
    was, now = before.sample, found.after.sample
    assert [row.results[0].measurement.value for row in run] == list(now.scores)
    expected = [
        (name, decide(before.rule, old).value, decide(found.after.rule, new).value)
        for name, old, new in zip(was.ids, was.scores, now.scores, strict=True)
    ]
    assert found.flipped == tuple(row for row in expected if row[1] != row[2])
    assert found.flipped


def test_what_a_refresh_cannot_measure_is_added_to_what_was_not_measured():
    def breaking_at(case):
        def broken(texts):
            if case["response"] in texts:
                at = texts.index(case["response"])
                raise EmbeddingError("out of order", [at], reason="out of order")

        return HashEmbedder(on_embed=broken)

    first, second = rows()[3], rows()[4]
    before = made(embedder=breaking_at(first))
    assert sum(before.data.unmeasured.values()) == 1
    found = refresh(before, breaking_at(second), cache=False)
    assert not {first["id"], second["id"]} & set(found.after.sample.ids)
    assert found.after.data.rows == 120
    assert list(found.after.data.unmeasured.values()) == [2]


def test_a_refresh_forgets_what_the_cache_holds_of_an_embedder_that_changed(tmp_path):
    embedder, notices = Turned(), []
    before = made(embedder=embedder, cache=tmp_path)
    embedder.on = True
    found = refresh(before, embedder, cache=tmp_path, on_notice=notices.append)
    fresh = made(embedder=embedder)
    assert found.after.sample.scores == fresh.sample.scores != before.sample.scores
    assert "hash-words is called the same and no longer is" in notices[0]
    assert len(notices) == 1
    run = evaluate(rows(), embedder=embedder, calibration=found.after, cache=tmp_path)
    assert tuple(row.results[0].measurement.value for row in run) == fresh.sample.scores
    again = made(embedder=embedder, cache=tmp_path, previous=before)
    assert again.sample.scores == fresh.sample.scores

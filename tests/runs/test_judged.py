"""A judge from labelled cases: fitted, kept, frozen in its file, used by a run, and made again."""

import functools
import json

import msgspec
import numpy as np
import pytest
from judged_rows import GOAL, Quick, made, one, rows
from labelled_rows import write
from msgspec.structs import replace

from closecall import (
    Goal,
    calibrate,
    evaluate,
    load_calibration,
    refresh,
    resume,
    save_calibration,
)
from closecall.calibration.head import judge as fitting
from closecall.calibration.records import Infeasible, Reason
from closecall.calibration.store import _digest, sealed
from closecall.errors import (
    CalibrationFileError,
    DataError,
    InstrumentMismatchError,
    RunFolderError,
    UsageError,
)
from closecall.metrics.fitted.head import version_of
from closecall.metrics.fitted.judge import FittedJudge
from closecall.runs import judging


@pytest.fixture(scope="module", autouse=True)
def _few_draws():
    """The error of a gain, which is not the matter here, from 50 draws instead of 500."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "gain", functools.partial(fitting.gain, resamples=50))
        yield


@pytest.fixture(scope="module")
def calibration():
    found = made()
    assert not isinstance(found, Infeasible), found
    return found


@pytest.fixture
def quick_by_name(monkeypatch):
    """Runs that load the embedder of a calibration by its name get the one it was made with."""
    for place in ("closecall.embedders.registry", "closecall.runs.asked"):
        monkeypatch.setattr(f"{place}.load_embedder", lambda *_, **__: Quick())


@pytest.fixture(scope="module")
def split():
    found = made(rows(760), judge="split", lock=False)
    assert not isinstance(found, Infeasible), found
    return found


def test_it_is_kept_for_what_it_gains_and_says_so(calibration):
    judge = calibration.judge
    assert calibration.metric.id == "fitted_judge"
    assert judge.way == "crossed"
    assert judge.gain.kept
    assert judge.gain.limit == 0.2
    assert judge.gain.single in judging.SINGLES["references"]
    assert (judge.rows, judge.accepts, judge.rejects) == (320, 160, 160)
    assert calibration.data.groups == judge.groups == 160
    weights = dict(zip(judge.head.features, judge.head.coefficients, strict=True))
    assert weights["numbers_differ"] < -0.5


def test_what_is_promised_is_approximate_on_every_surface(calibration):
    evidence = calibration.accept_cutoff.evidence
    assert (evidence.guarantee, evidence.violation_probability) == ("approximate", None)
    assert "cross-fitted" in evidence.method
    run = evaluate(rows(20, seed=9), embedder=Quick(), calibration=calibration, cache=False)
    said = run.header.metrics[0].cutoff_note
    assert "aimed at confidence 95%, not proved; approximate" in said
    assert "the judge was fitted to the same labels" in said


def test_the_scores_that_chose_the_cutoff_are_not_those_of_the_head_they_trained(calibration):
    run = evaluate(rows(), embedder=Quick(), calibration=calibration, cache=False)
    by_head = [row.results[0].measurement.value for row in run]
    assert len(set(calibration.sample.scores) & set(by_head)) < 100
    # Yet they are on one scale.
    assert abs(np.array(calibration.sample.scores) - by_head).max() < 0.35
    assert np.corrcoef(calibration.sample.scores, by_head)[0, 1] > 0.97


def test_the_file_brings_it_back_and_is_the_same_each_time(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    path = write(tmp_path / "cases.jsonl", rows())
    for name in ("a", "b"):
        save_calibration(made(path), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    found = load_calibration(tmp_path / "a")
    assert sealed(found) == found
    assert FittedJudge(found.judge.head).spec.version == found.metric.version


def test_a_run_needs_the_file_and_no_metric(calibration, tmp_path):
    save_calibration(calibration, tmp_path / "judge.json")
    cases = rows(30, seed=9)
    quiet = {"guards": "off", "cache": False}
    run = evaluate(cases, embedder=Quick(), calibration=tmp_path / "judge.json", **quiet)
    assert [plan.id for plan in run.header.metrics] == ["fitted_judge"]
    named = evaluate(cases, "token_f1, fitted_judge", Quick(), calibration=calibration, **quiet)
    assert [plan.id for plan in named.header.metrics] == ["token_f1", "fitted_judge"]
    for row, other in zip(run, named, strict=True):
        measurement = row.results[0].measurement
        assert measurement == other.results[1].measurement
        assert measurement.details["contributions"]
        assert (row.results[0].state.value == "passed") == (
            measurement.value >= calibration.accept_cutoff.value
        )


def test_new_answers_are_decided_as_people_did(calibration):
    run = evaluate(
        rows(200, seed=11), embedder=Quick(), calibration=calibration, guards="off", cache=False
    )
    counts = run.metrics[0].labelled
    assert counts.false_accepts <= 0.3 * counts.rejects
    assert counts.true_accepts >= 0.6 * counts.accepts


@pytest.mark.usefixtures("quick_by_name")
def test_a_run_that_was_cut_off_goes_on_with_its_judge(calibration, tmp_path):
    cases = write(tmp_path / "new.jsonl", rows(40, seed=9))
    save_calibration(replace(calibration, embedder="minilm"), tmp_path / "judge.json")

    def stop(done, total):
        raise KeyboardInterrupt

    options = {"calibration": tmp_path / "judge.json", "cache": tmp_path / "cache"}
    with pytest.raises(KeyboardInterrupt):
        evaluate(cases, aef=tmp_path / "run", progress=stop, **options)
    run = resume(tmp_path / "run", cache=tmp_path / "cache")
    assert run.header.metrics[0].id == "fitted_judge"
    whole = evaluate(cases, **options)
    assert [row.results for row in run] == [row.results for row in whole]


@pytest.mark.usefixtures("quick_by_name")
@pytest.mark.parametrize("held", ["judge", "score"])
def test_a_run_whose_calibration_is_for_another_metric_now_says_that(held, calibration, tmp_path):
    """Not that a judge has to be made: the one the run began with is gone."""
    score = calibrate(rows(), "token_f1", Quick(), Goal(objective="f1"), cache=False)
    first, second = (calibration, score) if held == "judge" else (score, calibration)
    place, folder = tmp_path / "cutoff.json", tmp_path / "run"
    save_calibration(replace(first, embedder="minilm"), place)

    def stop(done, total):
        raise KeyboardInterrupt

    cases = write(tmp_path / "new.jsonl", rows(40, seed=9))
    with pytest.raises(KeyboardInterrupt):
        evaluate(cases, aef=folder, progress=stop, calibration=place, cache=False)
    began = load_calibration(place).digest
    save_calibration(replace(second, embedder="minilm"), place)
    with pytest.raises(RunFolderError, match="Changed: the calibration of") as refused:
        resume(folder, cache=False)
    said = str(refused.value)
    assert f"the calibration of {first.metric.id} ({place} held {began[:12]} then" in said
    assert f"{load_calibration(place).digest[:12]} for {second.metric.id} now" in said
    assert "make one" not in said
    save_calibration(replace(first, embedder="minilm"), place)
    assert resume(folder, cache=False).header.metrics[0].id == first.metric.id


def test_half_may_train_and_the_other_half_keeps_the_promise_exact(split, tmp_path):
    assert split.judge.way == "split"
    assert split.accept_cutoff.evidence.guarantee == "exact"
    assert split.accept_cutoff.evidence.violation_probability <= 0.05
    trained = split.sample.trained
    assert len(trained) == split.judge.rows
    assert split.data.used + len(trained) == 760
    groups = {split.sample.groups[row] for row in trained}
    others = {group for row, group in enumerate(split.sample.groups) if row not in set(trained)}
    assert not groups & others
    save_calibration(split, tmp_path / "judge.json")
    assert load_calibration(tmp_path / "judge.json") == split


def test_a_third_stays_locked_from_the_judge_too():
    cases = rows(640)
    found = made(cases)
    aside = set(found.sample.locked)
    assert found.locked.n == len(aside) == 640 - found.data.used
    assert found.judge.rows == found.data.used
    turned = [
        case | {"label": {"accept": "reject", "reject": "accept"}[case["label"]]}
        if at in aside
        else case
        for at, case in enumerate(cases)
    ]
    again = made(turned)
    assert set(again.sample.locked) == aside
    assert replace(again.judge.head, trained="") == replace(found.judge.head, trained="")
    # The head that was kept scores them: what a run says of these very cases.
    run = evaluate(cases, embedder=Quick(), calibration=found, cache=False)
    values = [row.results[0].measurement.value for row in run]
    assert all(abs(found.sample.scores[at] - values[at]) < 2e-6 for at in aside)


def test_a_refresh_fits_it_anew_from_the_stored_texts(calibration):
    again = refresh(calibration, Quick(), cache=False)
    assert again.flipped == ()
    assert again.after.judge == calibration.judge
    assert again.after.rule == calibration.rule
    with pytest.raises(UsageError, match="leave the metric out"):
        refresh(calibration, Quick(), metric=FittedJudge(calibration.judge.head), cache=False)
    other = refresh(calibration, Quick(24, model="narrow"), cache=False).after
    assert other.judge.head != calibration.judge.head
    assert other.judge.way == "crossed"


def test_a_split_judge_is_split_again_on_the_same_rows(split):
    again = refresh(split, Quick(), cache=False).after
    assert again.sample.trained == split.sample.trained
    assert again.judge == split.judge


def test_by_the_context_where_no_case_has_a_reference():
    cases = [
        {**{k: v for k, v in case.items() if k != "reference"}, "context": [case["reference"]]}
        for case in rows(400)
    ]
    # A long answer strays: what tells here is how much of it the context has.
    found = made(cases, goal=Goal(objective="accuracy"))
    if isinstance(found, Infeasible):
        assert "context_alignment" in found.advice or "embed_response_context" in found.advice
    else:
        assert found.metric.id == "fitted_judge:sides=context"
    explicit = made(rows(), metric="fitted_judge:sides=references:support=false")
    assert explicit.metric.id == "fitted_judge"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"metric": "token_f1"}, "cannot be fitted for token_f1"),
        ({"judge": "half"}, "judge must be True, 'crossed' or 'split', got 'half'"),
        ({"goal": Goal(max_far=0.1, guarantee="average")}, "approximate of itself"),
        ({"goal": Goal(max_far=0.1, guarantee="approximate")}, "approximate of itself"),
    ],
)
def test_what_does_not_go_together_is_refused_before_a_text_is_embedded(options, said):
    embedder = Quick()
    with pytest.raises(UsageError, match=said):
        made(embedder=embedder, **options)
    assert embedder.texts == []


def test_too_few_labels_give_no_judge():
    found = made(rows(200))
    assert isinstance(found, Infeasible)
    assert found.reason is Reason.NO_JUDGE
    assert "200 labels of at least 300" in found.message
    assert "-m answer_alignment" in found.advice


def test_a_judge_that_is_no_better_is_not_kept_and_names_the_score_that_does():
    """Words alone tell accept from reject, and each score sees them."""
    cases = [
        case | {"response": case["response"].rsplit(" ", 2)[0]}
        | {"reference": case["reference"].rsplit(" ", 2)[0]}
        for case in (one(at, at % 2 == 0) for at in range(320))
    ]  # fmt: skip
    for at, case in enumerate(cases):
        words = case["reference"].split()
        kept = 5 if case["label"] == "accept" else 1 + at % 3
        case["response"] = " ".join([*words[:kept], f"extra{at}"])
    found = made(cases)
    assert isinstance(found, Infeasible)
    assert found.reason is Reason.NO_JUDGE
    assert "was not kept" in found.message
    assert "standard error" in found.message
    assert any(f"-m {name};" in found.advice for name in judging.SINGLES["references"])


def test_its_own_cases_are_refused_for_a_promise_of_the_head_as_a_metric(calibration):
    head = FittedJudge(calibration.judge.head)
    with pytest.raises(DataError, match="was fitted on these very cases"):
        calibrate(rows(), head, Quick(), GOAL, cache=False)


def edited(path, change):
    document = json.loads(path.read_text("utf-8"))
    change(document)
    return document


def _coefficient(document):
    document["judge"]["head"]["coefficients"][0] += 0.5


def _gone(document):
    del document["judge"]


def _way(document):
    document["judge"]["way"] = "split"


def _exact(document):
    document["rule"]["evidence"] |= {"guarantee": "exact", "violation_probability": 0.01}


def _gain(document):
    document["judge"]["gain"]["best"] = 1.0


def set_to(value, *path):
    """Return an edit that puts a value at a path of the judge."""

    def change(document):
        at = document["judge"]
        for key in path[:-1]:
            at = at[key]
        assert at[path[-1]] != value
        at[path[-1]] = value

    return change


def _large(document):
    head = document["judge"]["head"]
    head["coefficients"] = [1000 * value for value in head["coefficients"]]


def _backwards(document):
    head = document["judge"]["head"]
    for name in ("features", "means", "sds", "coefficients"):
        head[name].reverse()


def _fewer(document):
    head = document["judge"]["head"]
    for name in ("features", "means", "sds", "coefficients"):
        head[name].pop()


def _heavy(document):
    document["judge"]["head"]["penalty"] = 0.5


def of_one_piece(document):
    """Make what names the head fit the head."""
    from closecall.calibration.head.judge import Judge

    head = msgspec.convert(document["judge"], Judge).head
    document["metric"]["version"] = version_of(head)


def _rows(document):
    document["judge"]["rows"] += 1


def _sign(document):
    document["judge"]["head"]["coefficients"][0] = -1.0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_coefficient, "metric.version: is not that of the judge"),
        (_gone, "judge: is missing"),
        (_way, "judge.way"),
        (_exact, r"rule\.evidence"),
        (_gain, "judge.gain"),
        (_rows, "judge.rows"),
        (_sign, "wrong sign"),
        (set_to(7.0, "gain", "judge"), r"judge\.gain\.judge"),
        (set_to(0.99, "gain", "judge"), r"judge\.gain\.judge: is not what the rest"),
        (set_to(-0.5, "gain", "best"), r"judge\.gain\.best: a share"),
        (set_to(-0.1, "gain", "error"), r"judge\.gain\.error: a share"),
        (set_to(0.2, "gain", "auc"), r"judge\.gain\.auc: is not what the rest"),
        (set_to(1.5, "gain", "best_auc"), r"judge\.gain\.best_auc: a share"),
        (set_to("nonsense", "gain", "single"), r"judge\.gain\.single: allowed are answer_align"),
        (set_to("context_alignment", "gain", "single"), r"judge\.gain\.single: allowed are"),
        (set_to(0, "gain", "tried"), r"judge\.gain\.tried"),
        (set_to(7, "gain", "tried"), r"judge\.gain\.tried"),
        (set_to(1, "gain", "resamples"), r"judge\.gain\.resamples"),
        (set_to(501, "gain", "resamples"), r"judge\.gain\.resamples"),
        (set_to(0.1, "gain", "limit"), r"judge\.gain\.limit: says 0.1"),
        (set_to("auc", "gain", "measure"), r"judge\.gain\.measure"),
        (set_to(321, "gain", "rows"), r"judge\.gain\.rows: says 321"),
        (set_to("exact", "gain", "guarantee"), r"judge\.gain\.guarantee"),
        (set_to("average", "gain", "best_guarantee"), r"judge\.gain\.best_guarantee"),
        (set_to(-5, "folds"), r"judge\.folds: -5 parts"),
        (set_to(1, "folds"), r"judge\.folds: 1 parts"),
        (set_to(4, "folds"), r"judge\.penalties: 4 heads have 5"),
        (set_to([-1.0], "penalties"), r"judge\.penalties"),
        (set_to([-1.0] * 5, "penalties"), r"judge\.penalties: allowed are 0\.03"),
        (_heavy, r"judge\.penalties: allowed are 0\.03"),
        (set_to(159, "groups"), r"judge\.groups: says 159, and by the rest of the file it is 160"),
        (set_to(161, "accepts"), r"judge\.accepts: says 161"),
        (set_to(159, "rejects"), r"judge\.rejects: says 159"),
        (set_to(-1, "seed"), r"judge\.seed: says -1"),
        (set_to(12, "seed"), r"judge\.seed: says 12"),
        (_large, r"judge\.head\.coefficients: larger than the penalty lets them be"),
        (_backwards, r"judge\.head\.features: are not those that so many labels pay for"),
        (_fewer, r"judge\.head\.features: are not those that so many labels pay for"),
    ],
)
def test_a_file_that_was_edited_is_refused_even_with_a_digest_that_fits(
    calibration, tmp_path, change, said
):
    path = tmp_path / "judge.json"
    save_calibration(calibration, path)
    document = edited(path, change)
    path.write_text(json.dumps(document), "utf-8")
    with pytest.raises(CalibrationFileError, match="edited after it was written"):
        load_calibration(path)
    if change in {_large, _backwards, _fewer, _heavy}:
        of_one_piece(document)
    document["digest"] = _digest(document)
    path.write_text(json.dumps(document), "utf-8")
    with pytest.raises(CalibrationFileError, match=said):
        load_calibration(path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (set_to(3, "groups"), r"judge\.groups: says 3"),
        (set_to("approximate", "gain", "guarantee"), r"judge\.gain\.guarantee"),
        (set_to(760, "gain", "rows"), r"judge\.gain\.rows: says 760"),
    ],
)
def test_a_split_judge_is_held_to_the_rows_that_trained_it(split, tmp_path, change, said):
    path = tmp_path / "judge.json"
    save_calibration(split, path)
    document = edited(path, change)
    document["digest"] = _digest(document)
    path.write_text(json.dumps(document), "utf-8")
    with pytest.raises(CalibrationFileError, match=said):
        load_calibration(path)


def test_what_it_was_kept_for_is_what_its_cutoff_does(calibration, split):
    gain, counts = calibration.judge.gain, calibration.accept_cutoff.counts
    assert gain.judge == counts.true_accepts / counts.accepts
    assert (gain.guarantee, gain.best_guarantee) == ("approximate", "exact")
    assert gain.rows == calibration.judge.rows
    # And the other figure is what the named score gets, when it is calibrated instead.
    alone = calibrate(rows(), gain.single, Quick(), GOAL, cache=False).accept_cutoff.counts
    assert gain.best == alone.true_accepts / alone.accepts < gain.judge
    half = split.judge.gain
    assert (half.guarantee, half.best_guarantee) == ("exact", "exact")
    assert half.rows == split.judge.rows < 760


def test_labels_that_back_no_promise_are_at_fault_and_not_the_judge():
    found = made(goal=Goal(max_far=0.01))
    assert isinstance(found, Infeasible)
    assert found.reason is Reason.PROMISE_OUT_OF_REACH
    assert found.more_rejects > 0
    half = made(goal=Goal(max_far=0.01), cases=rows(760), judge="split", lock=False)
    assert half.reason is Reason.PROMISE_OUT_OF_REACH
    assert "in the half of the labels that is to train the judge" in half.message


def test_a_calibration_without_a_judge_says_nothing_of_one(tmp_path):
    found = calibrate(rows(), "token_f1", Quick(), Goal(objective="f1"), cache=False)
    save_calibration(found, tmp_path / "plain.json")
    document = json.loads((tmp_path / "plain.json").read_text("utf-8"))
    assert "judge" not in document
    assert "trained" not in document["sample"]
    assert load_calibration(tmp_path / "plain.json") == found


def test_it_belongs_to_its_embedder(calibration):
    with pytest.raises(InstrumentMismatchError, match="belongs to another embedder"):
        evaluate(rows(4), embedder=Quick(32), calibration=calibration, cache=False)

"""Runs that a calibration decides: states, surfaces, exit codes, error rates."""

import html
import io
import json
import re

import pytest
from labelled_rows import Turned, made, rows, unlabelled
from msgspec.structs import replace

from closecall import (
    AnswerSimilarity,
    EmbeddingSimilarity,
    Goal,
    evaluate,
    load_run,
    save_calibration,
)
from closecall.calibration.decisions import decide
from closecall.calibration.groups import clustered_rate
from closecall.calibration.records import Decision
from closecall.calibration.words import evidence_words
from closecall.errors import (
    CalibrationFileError,
    InstrumentMismatchError,
    UnknownNameError,
    UsageError,
)
from closecall.records import Label, State
from closecall.report.formats import FORMATS
from closecall.report.formats import write as report
from closecall.report.pair import line as pair_line
from closecall.runs import room
from closecall.runs.applied import Applied
from closecall.runs.pair import score_pair
from closecall.testing import HashEmbedder

STATES = {
    Decision.ACCEPT: State.PASSED,
    Decision.REJECT: State.FAILED,
    Decision.UNSURE: State.INCONCLUSIVE,
}
GOALS = {"one": Goal(max_far=0.1), "two": Goal(max_far=0.1, max_frr=0.2)}


@pytest.fixture(scope="module")
def calibrations():
    return {name: made(goal=goal) for name, goal in GOALS.items()}


@pytest.fixture(scope="module", params=GOALS)
def calibration(request, calibrations):
    return calibrations[request.param]


def run_of(cases, calibration, **options):
    options.setdefault("embedder", HashEmbedder())
    return evaluate(cases, calibration=calibration, cache=False, **options)


def text_of(run, form):
    out = io.StringIO()
    report(run, form, out)
    return (
        html.unescape(re.sub(r"\\(.)", r"\1", out.getvalue()))
        if form != "json"
        else out.getvalue()
    )


def test_every_state_is_the_decision_on_the_value(calibration):
    run = run_of(rows(seed=3), calibration)
    found = [row.results[0] for row in run]
    assert [r.state for r in found] == [
        STATES[decide(calibration.rule, r.measurement.value)] for r in found
    ]
    assert {r.cutoff for r in found} == {calibration.accept_cutoff.value}
    bands = [(band.low, band.high) for band in calibration.close_calls]
    for r in found:
        assert r.borderline == any(low <= r.measurement.value <= high for low, high in bands)
    summary = run.metrics[0]
    assert summary.inconclusive == sum(r.state is State.INCONCLUSIVE for r in found)
    assert (summary.inconclusive > 0) == (calibration.reject_cutoff is not None)


def test_a_value_is_compared_as_it_was_rounded(calibrations):
    cutoff = calibrations["two"]
    applied = Applied.of(cutoff, "")
    for edge in (applied.accept, applied.reject):
        for value in (edge, edge - 1e-6, edge + 1e-6, edge - 4e-7, edge + 4e-7):
            assert applied.decide(value) is decide(cutoff.rule, value)


def test_two_cutoffs_that_are_one_have_one_range_of_close_calls(calibrations):
    made = calibrations["two"]
    one = replace(made.close_calls[0], low=0.0, high=1000.0)
    run = run_of(rows(20), replace(made, close_calls=(one, one)))
    assert f"within {one.low:.10g} to {one.high:.10g}" in text_of(run, "markdown")
    assert "1000 and 0 to 1000" not in text_of(run, "markdown")


def test_reasons_name_the_cutoff_that_decided(calibrations):
    two = Applied.of(calibrations["two"], "")
    for row in run_of(rows(seed=3), calibrations["two"]):
        found = row.results[0]
        said = {
            State.PASSED: f">= {two.accept:.2f}",
            State.FAILED: f"< {two.reject:.2f}",
            State.INCONCLUSIVE: f"< {two.accept:.2f}",
        }
        assert said[found.state] in found.reason
        assert f"(calibrated cutoff of {two.created[:10]})" in found.reason


def test_every_surface_names_cutoff_promise_evidence_and_date(calibration, tmp_path):
    run = run_of(unlabelled(rows(seed=3)), calibration, aef=tmp_path / "run")
    used = Applied.of(calibration, "")
    cutoffs = [f"{value:.10g}" for value in (used.accept, used.reject) if value is not None]
    backed = filter(None, (calibration.accept_cutoff, calibration.reject_cutoff))
    facts = [used.promise, used.created[:10], *(evidence_words(c.evidence) for c in backed)]
    for again in (run, load_run(tmp_path / "run")):
        for form in FORMATS:
            text = text_of(again, form)
            if form == "table":  # wrapped at the width of the terminal
                text = " ".join(text.split())
            for fact in (*facts, *(cutoffs if form != "csv" else cutoffs[:1])):
                assert fact in text, (form, fact)
    header = json.loads((tmp_path / "run/run.json").read_bytes())["config"]
    assert header["thresholds"] == {"embed_answer_similarity": {"op": ">=", "value": used.accept}}
    for fact in facts:
        assert fact in json.dumps(header["closecall"], ensure_ascii=False)
    for line in (tmp_path / "run/results.ndjson").read_text(encoding="utf-8").splitlines():
        rule = json.loads(line)["verdictRule"]
        assert rule["threshold"] == used.accept
        for fact in (*cutoffs, *facts, used.digest[:12]):
            assert fact in f"{rule['expr']} {rule['source']}"
    metric, embedder = AnswerSimilarity(), HashEmbedder()
    result = score_pair(metric, "one red ribbon", "one red ribbon", embedder, used)
    said = pair_line(result, metric, embedder.instrument, used)
    assert f">= {used.accept:.2f}" in said
    assert all(fact in said for fact in facts)


def test_a_case_left_unsure_keeps_the_run_from_passing(calibrations):
    two = calibrations["two"]
    states = {row.case.id: row.state for row in run_of(rows(seed=3), two)}
    kept = [c for c in rows(seed=3) if states[c["id"]] is not State.FAILED]
    run = run_of(kept, two)
    assert (run.exit_code, run.passed, run.cases.inconclusive > 0) == (11, False, True)
    assert f"{run.cases.inconclusive} left unsure of {len(kept)} cases; exit code 11" in text_of(
        run, "table"
    )
    suite = text_of(run, "junit")
    assert suite.count("<skipped ") == run.cases.inconclusive
    document = json.loads(text_of(run, "json"))
    assert document["stats"]["measured"] == len(kept)
    assert document["stats"]["passRate"] == run.cases.passed / len(kept)


def test_a_calibration_of_another_embedder_is_refused(calibration):
    other = HashEmbedder(model="other-words")
    with pytest.raises(
        InstrumentMismatchError, match="model hash-words then, other-words now"
    ) as e:
        run_of(rows(), calibration, embedder=other)
    assert "the test texts embed as they did" in str(e.value)
    assert "closecall.refresh(calibration, embedder)" in str(e.value)
    assert other.texts  # only the canaries: no case was scored
    assert not {case["response"] for case in rows()} & set(other.texts)


def test_an_embedder_that_only_keeps_its_name_is_refused_by_the_canaries():
    embedder = Turned()
    found = made(embedder=embedder)
    embedder.on = True
    with pytest.raises(InstrumentMismatchError, match="is called the same and no longer is") as e:
        run_of(rows(), found, embedder=embedder)
    assert re.search(
        r"verdict of the test texts: different instrument\n.*canary '[a-z0-9-]+' moved by",
        str(e.value),
    )


@pytest.mark.parametrize(
    ("kept", "code"), [({State.PASSED}, 6), (set(State), 1)], ids=["green", "red"]
)
def test_uncalibrated_is_said_everywhere_and_never_exits_with_0(kept, code, calibration, tmp_path):
    other = HashEmbedder(model="other-words")
    states = {row.case.id: row.state for row in run_of(rows(seed=3), calibration)}
    cases = [case for case in rows(seed=3) if states[case["id"]] in kept]
    run = run_of(cases, calibration, embedder=other, uncalibrated=True, aef=tmp_path / "run")
    assert (run.exit_code, run.passed, run.uncalibrated) == (code, False, True)
    assert run.watched == ()
    for again in (run, load_run(tmp_path / "run")):
        assert again.exit_code == code
        for form in FORMATS:
            assert "UNCALIBRATED" in text_of(again, form), form
        assert '<error message="UNCALIBRATED' in text_of(again, "junit")
        assert json.loads(text_of(again, "json"))["metrics"][0]["calibrated"] is False
    for line in (tmp_path / "run/results.ndjson").read_text(encoding="utf-8").splitlines():
        assert "UNCALIBRATED" in json.loads(line)["verdictRule"]["source"]
        assert "UNCALIBRATED" in json.loads(line)["reason"]


def test_uncalibrated_changes_nothing_where_the_calibration_fits(calibration):
    plain, asked = (run_of(rows(), calibration, uncalibrated=at) for at in (False, True))
    assert asked.metrics == plain.metrics
    assert not asked.uncalibrated
    with pytest.raises(UsageError, match="uncalibrated is about calibrations"):
        run_of(rows(), None, uncalibrated=True)


def test_only_one_thing_decides_a_metric(calibrations, tmp_path):
    one_cutoff, two = calibrations["one"], calibrations["two"]
    save_calibration(two, tmp_path / "two.json")
    with pytest.raises(UsageError, match=r"the calibration and .*two\.json are both for embed_an"):
        run_of(rows(), [one_cutoff, tmp_path / "two.json"])
    with pytest.raises(UsageError, match="a calibration and a cutoff of your own"):
        run_of(rows(), two, cutoffs={"embed_answer_similarity": 60})
    with pytest.raises(UsageError, match="a calibration and a cutoff of your own"):
        run_of(rows(), two, metrics=AnswerSimilarity(60))
    with pytest.raises(
        InstrumentMismatchError, match="for the metric embed_answer_similarity, whi"
    ):
        run_of(rows(), two, metrics="semantic_similarity")
    other = replace(two, metric=replace(two.metric, version="0"))
    with pytest.raises(InstrumentMismatchError, match="made with version 0 of embed_answer_simil"):
        run_of(rows(), other)


def test_each_metric_by_its_own_calibration(calibrations):
    inner = made(metric="embedding_similarity:method=dot", goal=Goal(objective="f1"))
    run = run_of(rows(), [calibrations["one"], inner])
    assert [m.metric for m in run.metrics] == [
        "embed_answer_similarity",
        "embedding_similarity:method=dot",
    ]
    assert [m.cutoff for m in run.metrics] == [
        calibrations["one"].accept_cutoff.value,
        inner.accept_cutoff.value,
    ]
    assert [w.metric for w in run.watched] == [m.metric for m in run.metrics]
    mixed = run_of(rows(), inner, metrics=[EmbeddingSimilarity("dot"), "semantic_similarity"])
    assert [m.cutoff_source for m in mixed.metrics] == ["calibrated", "default"]


def test_a_window_is_that_of_the_calibration(tmp_path):
    found = made(rows(12, 12), goal=Goal(objective="f1"), embedder=None, window="truncate")
    assert (
        evaluate(rows(1, 1), calibration=found, cache=False).header.instrument.window == "truncate"
    )
    with pytest.raises(InstrumentMismatchError, match="window truncate then, error now"):
        evaluate(rows(1, 1), calibration=found, window="error", cache=False)


@pytest.mark.parametrize("cutoff", [None, "one", "two"], ids=["default", "one", "two"])
def test_errors_on_labels_have_intervals_by_group(cutoff, calibrations, tmp_path):
    cases = [case | {"group": f"g{at // 3}"} for at, case in enumerate(rows(seed=3))]
    run = run_of(cases, cutoff and calibrations[cutoff], content=False, aef=tmp_path / "run")
    found = run.metrics[0]
    import numpy as np

    for label, wrong, rate in (
        (Label.REJECT, State.PASSED, found.false_accept_rate),
        (Label.ACCEPT, State.FAILED, found.false_reject_rate),
    ):
        own = [
            (row.state is wrong, row.case.group)
            for row in run_of(cases, cutoff and calibrations[cutoff])
            if row.case.label is label
        ]
        states, groups = zip(*own, strict=True)
        assert rate == clustered_rate(np.array(states), np.array(groups))
        assert rate.n == 60
        assert "design effect" in rate.interval.method
        assert f"{rate.count} of 60 = " in " ".join(text_of(run, "table").split())
    unsure = found.unsure_accepts + found.unsure_rejects
    assert found.labelled.accepts + found.labelled.rejects + unsure == 120
    assert (unsure > 0) == (cutoff == "two")
    # Without the texts the groups are still told apart.
    assert load_run(tmp_path / "run").metrics == run.metrics


def test_the_labels_that_chose_the_cutoff_flatter_it_and_the_report_says_so(calibration, tmp_path):
    words = "these very labels chose the cutoff"
    assert words in " ".join(text_of(run_of(rows(), calibration), "table").split())
    assert words not in " ".join(text_of(run_of(rows(seed=3), calibration), "table").split())


def test_the_room_a_calibrated_run_takes_is_foreseen(calibration, tmp_path):
    metric = AnswerSimilarity()
    run = run_of(rows(seed=3), calibration, aef=tmp_path / "run")
    longest = max(map(len, (tmp_path / "run/results.ndjson").read_bytes().splitlines()))
    assert longest <= room._line_bytes(run.header, run.header.metrics[0], metric) + 8
    assert {row.state for row in run} >= {State.PASSED, State.FAILED}


def test_a_calibration_of_a_metric_that_is_not_here_says_whose_it_is(calibration, tmp_path):
    gone = replace(calibration, metric=replace(calibration.metric, id="their_metric:a=b"))
    save_calibration(gone, tmp_path / "cutoff.json")
    with pytest.raises(CalibrationFileError, match=r"cutoff\.json: metric\.id: .*'their_metric'"):
        run_of(rows(seed=3), tmp_path / "cutoff.json")
    with pytest.raises(UnknownNameError, match="their_metric"):
        run_of(rows(seed=3), tmp_path / "cutoff.json", metrics="their_metric:a=b")


def test_what_is_no_calibration_is_refused_in_words():
    with pytest.raises(UsageError, match="calibration: expected a file, a calibration or several"):
        run_of(rows(seed=3), 5)

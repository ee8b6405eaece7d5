"""Support metrics by name: from labels to verdicts, resumed, verified, shown."""

import re
from io import StringIO
from pathlib import Path

import pytest
from pump_rows import PARTS, file_of, rows
from word_reader import WordReader

from closecall import Goal, calibrate, evaluate, load_run, refresh, resume, save_report
from closecall.asserting import assert_similar, current
from closecall.asserting.session import Session
from closecall.cli import run as cli
from closecall.errors import InstrumentMismatchError, RunFolderError
from closecall.records import State
from closecall.report.formats import write as report
from closecall.report.table import write
from closecall.testing import HashEmbedder


@pytest.mark.parametrize("name", ["answer_support", "context_support"])
def test_a_cutoff_is_found_and_holds(named, name):
    made = calibrate(rows(), name, goal=Goal(max_far=0.1), embedder=HashEmbedder(), cache=False)
    assert made.metric.version == f"2+{named.identity.digest}"
    run = evaluate(rows(20), calibration=made, embedder=HashEmbedder(), cache=False)
    states = [row.results[0].state for row in run]
    assert states == [State.PASSED, State.FAILED] * 10
    failed = list(run)[1].results[0]
    assert failed.reason.startswith("low support 10.00 %")
    assert failed.measurement.details["against"]["text"] == "is not drained"


def test_labels_are_measured_without_explanations(named):
    calibrate(
        rows(), "answer_support", goal=Goal(max_far=0.1), embedder=HashEmbedder(), cache=False
    )
    assert {len(pairs) for pairs in named.asked} == {120}


def test_another_model_is_another_metric(named, monkeypatch):
    made = calibrate(
        rows(), "answer_support", goal=Goal(max_far=0.1), embedder=HashEmbedder(), cache=False
    )
    monkeypatch.setattr("closecall.metrics.support.base.bundled", lambda: WordReader(digest="bb"))
    with pytest.raises(InstrumentMismatchError) as caught:
        evaluate(rows(4), calibration=made, embedder=HashEmbedder(), cache=False)
    assert "2+aa11" in str(caught.value)
    again = refresh(made, HashEmbedder(), cache=False).after
    assert again.metric.version == "2+bb"


def test_a_run_that_was_cut_off_goes_on_with_the_same_model_only(named, tmp_path, monkeypatch):
    monkeypatch.setattr("closecall.runs.runner.BATCH_CASES", 16)
    cases = file_of(tmp_path / "rows.jsonl", 64)
    asked = {"metrics": "answer_support,context_support", "cutoffs": {"answer_support": 0.5}}

    class StoppedError(Exception):
        pass

    def stop(done, _):
        if done >= 32:
            raise StoppedError

    for name in ("one", "two"):
        with pytest.raises(StoppedError):
            evaluate(cases, **asked, aef=tmp_path / name, progress=stop, cache=False)
    whole = evaluate(cases, **asked, cache=False)
    found = resume(tmp_path / "one", cache=False)
    assert [row.results for row in found] == [row.results for row in whole]
    monkeypatch.setattr("closecall.metrics.support.base.bundled", lambda: WordReader(digest="bb"))
    with pytest.raises(RunFolderError):
        resume(tmp_path / "two", cache=False)


def test_the_command_line_calibrates_runs_gates_and_verifies(named, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    file_of(Path("rows.jsonl"))
    made = ["calibrate", "rows.jsonl", "-m", "answer_support", "--max-far", "0.1"]
    assert cli([*made, "-o", "cutoff.json"]) == 0, capsys.readouterr().err
    run = ["eval", "rows.jsonl", "--calibration", "cutoff.json", "--aef", "run"]
    assert cli([*run, "--gate", "pass_rate(answer_support) >= 0.4"]) == 0
    assert cli(["verify", "run"]) == 0
    capsys.readouterr()
    assert cli(["report", "run", "--format", "html", "-o", "page.html"]) == 0
    assert cli(["score", "the pump is old", "the pump is not old", "-m", "answer_support"]) == 0
    assert capsys.readouterr().out.startswith("0.100  scored: answer_support 0.1000")


def test_a_cascade_explains_where_it_ends(named):
    embedder = {"embedder": HashEmbedder(), "cache": False}
    labelled = rows(160)
    for at, row in enumerate(labelled):  # a third kind, which only the context tells apart
        if at % 8 < 2:
            row["response"] = f"The {PARTS[at % 5]} is drained by hand and filled with oil {at}."
            row["context"] = [row["response"] if at % 8 == 0 else "Nobody fills it."]
    both = Goal(max_far=0.1, max_frr=0.1)
    first = calibrate(labelled, "answer_support", goal=both, **embedder)
    last = calibrate(labelled, "context_support", goal=Goal(max_far=0.1), **embedder)
    run = evaluate(labelled[:8], calibration=[first, last], cascade=True, **embedder)
    ends = set()
    for row in run:
        at = row.results.index(row.deciding[0])
        ends.add((at, row.state))
        explained = ["against" in _details(result) for result in row.results]
        assert explained == [row.state is State.FAILED and at == 0, False]
    assert ends == {(0, State.FAILED), (0, State.PASSED), (1, State.FAILED), (1, State.PASSED)}


def _details(result):
    return getattr(result.measurement, "details", {})


def test_the_table_says_what_counts_against_an_answer(named):
    run = evaluate(rows(4), "answer_support,context_support", cutoffs=CUTOFFS, cache=False)
    out = StringIO()
    write(run, out, width=100)
    assert "against  “is not drained” (without it: 1.00)" in out.getvalue()
    assert "A pair model reads both texts together" in out.getvalue()


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ("markdown", "| against: “is not drained” (without it: 1.00) |"),
        ("junit", "\nagainst: “is not drained” (without it: 1.00)</failure>"),
    ],
)
def test_so_do_a_comment_and_a_pipeline(named, form, told):
    run = evaluate(rows(4), "answer_support,context_support", cutoffs=CUTOFFS, cache=False)
    out = StringIO()
    report(run, form, out)
    assert out.getvalue().count(told) == 4  # two failed answers, two metrics


def test_a_quotation_in_markdown_can_format_and_link_no_more_than_other_texts(named):
    case = {"id": "a", "reference": "it is drained", "response": "it is not **@all** | drained"}
    run = evaluate([case], "answer_support", cutoffs={"answer_support": 0.5}, cache=False)
    out = StringIO()
    report(run, "markdown", out)
    (line,) = [line for line in out.getvalue().splitlines() if "against: " in line]
    assert not re.search(r"(?<!\\)\*|@|(?<!\\)\|", line.partition("against: ")[2][:-2])


CUTOFFS = {"answer_support": 0.5, "context_support": 0.5}


def test_an_assertion_says_it_too(named):
    session = Session(embedder=HashEmbedder(), cache=False)

    def opener():
        return session

    current.enter(opener)
    try:
        with pytest.raises(AssertionError) as caught:
            assert_similar(
                "The pump is not drained. It is old.",
                "the pump is drained and it is old",
                metric="answer_support",
                cutoff=0.9,
            )
    finally:
        current.leave(opener)
        session.close()
    said = str(caught.value)
    assert "against    “is not drained.” (without it: 1.00)" in said
    assert "A pair model reads both texts together" in said
    assert "closecall calibrate LABELLED --metric answer_support" in said


@pytest.mark.parametrize("form", ["html", "json"])
def test_reports_of_a_run_without_content_have_places_and_no_words(named, tmp_path, form):
    case = {
        "id": "a",
        "response": "The tank is old. The pump is not drained by hand.",
        "reference": "The pump is drained by hand.",
        "context": ["The pump is drained by hand. The tank is old."],
    }
    asked = {"cutoffs": CUTOFFS, "embedder": HashEmbedder(), "cache": False, "content": False}
    evaluate([case], "answer_support,context_support", aef=tmp_path / "run", **asked)
    save_report(load_run(tmp_path / "run"), tmp_path / f"report.{form}")
    said = (tmp_path / f"report.{form}").read_text("utf-8")
    assert not {"tank", "pump", "drained"} & set(re.findall(r"\w+", said))
    if form == "html":
        assert "characters 17 to 49 (0.10, the least supported of 2)" in said

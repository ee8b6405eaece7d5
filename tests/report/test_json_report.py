"""The JSON report: the fields other tools read, strict JSON, absences as null with a reason."""

import json
import re
from io import BytesIO, TextIOWrapper

import msgspec
import pytest

from closecall import Case
from closecall.report.formats import write


def strict(text):
    def refuse(name):
        raise AssertionError(f"{name} is not JSON")

    def once(pairs):
        names = [name for name, _ in pairs]
        assert len(set(names)) == len(names), names
        return dict(pairs)

    return json.loads(text, parse_constant=refuse, object_pairs_hook=once)


@pytest.fixture
def report(run, render):
    return strict(render(run, "json"))


def test_top_level_fields(report, run):
    assert set(report) >= {
        "runId", "name", "startTime", "endTime", "durationMs", "stats", "overallScore", "agent",
        "results", "metadata",
    }  # fmt: skip
    assert report["runId"] == run.header.run_id
    assert report["name"] == "suite"
    assert report["startTime"] <= report["endTime"]
    assert report["durationMs"] > 0
    assert report["agent"] == {"name": None, "model": None, "version": None}
    assert report["exitCode"] == 1


def test_the_embedding_model_and_provider_are_named(report, run):
    metadata = report["metadata"]
    assert metadata["EmbeddingModel"] == "words"
    assert metadata["EmbeddingProvider"] == "local"
    assert metadata["InstrumentDigest"] == run.header.instrument.digest
    assert metadata["DefinitionDigest"] == run.header.definition_digest


def test_the_agent_is_the_subject(make_run, cases, render):
    run = make_run(cases, subject="helpdesk", subject_version="2.1")
    assert strict(render(run, "json"))["agent"] == {
        "name": "helpdesk",
        "model": None,
        "version": "2.1",
    }


def test_stats_add_up_and_the_rate_has_its_denominator(report):
    assert report["stats"] == {
        "total": 7,
        "passed": 2,
        "failed": 2,
        "skipped": 3,
        "notApplicable": 0,
        "passRate": 0.5,
        "measured": 4,
        "scored": 0,
        "inconclusive": 0,
        "badRows": 0,
    }
    assert report["overallScoreCases"] == 4


def test_overall_score_is_the_mean_of_the_cases_that_have_one(report):
    scores = [r["score"] for r in report["results"] if r["score"] is not None]
    assert report["overallScore"] == pytest.approx(sum(scores) / len(scores), abs=1e-3)


def test_a_result_has_the_fields_of_a_case(report):
    result = report["results"][0]
    assert result["name"] == "same"
    assert result["category"] == "refunds"
    assert result["passed"] is True
    assert result["skipped"] is False
    assert result["error"] is None
    assert result["score"] == 100.0
    assert result["metricScores"] == {
        "embed_answer_similarity": 100.0,
        "embedding_similarity": 1.0,
    }
    assert result["durationMs"] >= 0
    first = result["metrics"][0]
    assert first["similarity"] == 1.0
    assert first["details"]["interpretation"] == "Excellent"
    assert first["tokens"]["response"] == {
        "seen": 4,
        "total": 4,
        "windows": 1,
        "own": 4,
        "unknown": 0,
    }


def test_a_failure_is_false_and_says_why(report):
    result = report["results"][2]
    assert (result["passed"], result["skipped"], result["error"]) == (False, False, None)
    assert "< 70.00" in result["metrics"][0]["reason"]


def test_an_absence_is_null_with_a_reason_never_zero_and_never_a_pass(report):
    for result in report["results"][4:]:
        assert result["passed"] is None
        assert result["skipped"] is True
        assert result["score"] is None
        assert set(result["metricScores"].values()) == {None}
        assert result["error"]
        for metric in result["metrics"]:
            assert metric["state"] == "not_measured"
            assert metric["reason"]
            assert not {"value", "score", "similarity"} & set(metric)


def test_every_metric_says_that_its_cutoff_is_not_calibrated(report):
    first, second = report["metrics"]
    assert (first["cutoff"], first["calibrated"]) == (70.0, False)
    assert first["cutoffNote"] == "default cutoff, not calibrated"
    assert (second["cutoff"], second["cutoffNote"]) == (None, "no cutoff, scored only")
    assert (first["asked"], first["measured"], first["passed"]) == (7, 4, 2)


def test_nothing_measured_has_null_rates_and_means(absent, render):
    report = strict(render(absent, "json"))
    assert report["overallScore"] is None
    assert report["overallScoreCases"] == 0
    assert report["stats"]["passRate"] is None
    assert report["metrics"][0]["mean"] is None
    assert report["exitCode"] == 11


def test_hostile_texts_stay_within_their_strings(hostile, render):
    names = [result["name"] for result in strict(render(hostile, "json"))["results"]]
    assert names == [row.case.id for row in hostile]


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_any_encoding_of_standard_output_gives_the_same_document(make_run, encoding):
    run = make_run([Case(id="köln 日本 🎈", references=("a",), response="a")])
    out = TextIOWrapper(BytesIO(), encoding=encoding, errors="backslashreplace")
    write(run, "json", out)
    out.flush()
    assert strict(out.buffer.getvalue().decode("utf-8"))["results"][0]["name"] == "köln 日本 🎈"


def test_cases_that_a_metric_does_not_apply_to_are_counted_apart(partly, render):
    report = strict(render(partly, "json"))
    stats = report["stats"]
    assert (stats["total"], stats["scored"], stats["skipped"], stats["notApplicable"]) == (
        3,
        1,
        2,
        2,
    )
    assert [result["skipped"] for result in report["results"]] == [False, True, True]
    assert report["results"][1]["error"] == "nothing to judge"
    assert report["metrics"][0]["notApplicable"] == 2


def test_a_metric_that_does_not_apply_is_no_error_of_a_case_that_others_measured(make_run, partly):
    from closecall.report.json_report import case_json

    (row, other, _), answer = list(partly), "embed_answer_similarity"
    measured = next(iter(make_run([row.case], [answer]))).results
    mixed = msgspec.structs.replace(other, results=(*measured, *other.results))
    assert (case_json(mixed)["passed"], case_json(mixed)["error"]) == (True, None)


def test_control_characters_stand_as_escapes_of_json(make_run, render):
    evil = "a\x7fb\x9b31mc\u202ed\U000e0001 \u00a0é日🎈"
    run = make_run([Case(id="1", references=("a",), response="a", group=evil)])
    text = render(run, "json")
    assert not re.search("[\x7f-\x9f\u202e\U000e0001]", text)
    assert "é日🎈" in text
    assert strict(text)["results"][0]["category"] == evil

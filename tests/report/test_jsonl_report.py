"""The JSON lines: each stands alone, says what the JSON report says, and nothing is left out."""

import json
import re
from io import BytesIO, StringIO, TextIOWrapper

import pytest

from closecall import Case
from closecall.report.formats import write
from closecall.report.jsonl_report import write as write_lines


@pytest.fixture(scope="module")
def lines(run, render):
    return [json.loads(line) for line in render(run, "jsonl").splitlines()]


def test_a_line_is_what_the_json_report_says_of_the_case(run, lines, render):
    report = json.loads(render(run, "json"))
    more = {"cutoffReject", "cutoffSource", "cutoffNote"}
    assert [line.pop("runId") for line in map(dict, lines)] == [report["runId"]] * len(run)
    for line, result in zip(lines, report["results"], strict=True):
        bare = [{k: v for k, v in one.items() if k not in more} for one in line["metrics"]]
        assert {**line, "metrics": bare} == {"runId": report["runId"], **result}


def test_an_absence_is_null_with_its_reason(lines):
    (blank,) = [line for line in lines if line["name"] == "blank"]
    assert (blank["passed"], blank["score"], blank["skipped"]) == (None, None, True)
    assert blank["metricScores"] == {"embed_answer_similarity": None, "embedding_similarity": None}
    assert blank["metrics"][0]["reason"] == "the case's response is blank"
    assert "value" not in blank["metrics"][0]


def test_each_line_says_where_its_cutoffs_come_from(lines):
    for line in lines:
        first, second = line["metrics"]
        assert (first["cutoffSource"], first["cutoffReject"]) == ("default", None)
        assert first["cutoffNote"] == "default cutoff, not calibrated"
        assert second["cutoffNote"] == "no cutoff, scored only"


def test_no_text_can_break_a_line_or_steer_a_terminal(make_run, render):
    evil = "a\nb\r\nc\x1b[2Jd\u202ee\x85f\u2028g\x0bh"
    run = make_run([Case(id=evil, group=evil, references=("a",), response=evil)] * 1)
    text = render(run, "jsonl")
    assert text.count("\n") == len(text.splitlines()) == 1
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e]", text)
    assert json.loads(text)["name"] == json.loads(render(run, "json"))["results"][0]["name"]


def test_the_lines_are_json_in_any_encoding(make_run):
    run = make_run([Case(id="köln 🎈", references=("a",), response="a")])
    out = TextIOWrapper(BytesIO(), encoding="ascii")
    write(run, "jsonl", out)
    out.flush()
    assert json.loads(out.buffer.getvalue())["name"] == "köln 🎈"


def test_the_lines_are_written_one_by_one(run):
    written = []

    class Out(StringIO):
        def write(self, text):
            written.append(text)
            return len(text)

    write_lines(run, Out())
    assert len(written) == len(run)
    assert all(line.endswith("\n") for line in written)

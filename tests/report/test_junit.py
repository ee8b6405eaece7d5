"""The JUnit report: parses, counts agree, nothing absent counts as a pass."""

import dataclasses
import re
import xml.etree.ElementTree as ET
from io import BytesIO, TextIOWrapper

import pytest

from closecall import Case
from closecall.gates.evaluate import evaluate_gates, gates_exit
from closecall.report.formats import write


def parsed(text):
    return ET.fromstring(text)  # noqa: S314 - our own output


def counted(element):
    told = [int(element.get(name)) for name in ("tests", "failures", "errors")]
    # The common schema has no such count at the root.
    suites = [element] if element.tag == "testsuite" else element.findall("testsuite")
    return (*told, sum(int(suite.get("skipped")) for suite in suites))


def outcomes(suite):
    cases = suite.findall("testcase")
    found = [
        sum(c.find(tag) is not None for c in cases) for tag in ("failure", "error", "skipped")
    ]
    return (len(cases), *found)


def test_one_suite_a_metric_and_its_counts_agree_with_its_cases(run, render):
    root = parsed(render(run, "junit"))
    suites = root.findall("testsuite")
    assert [suite.get("name") for suite in suites] == [m.metric for m in run.metrics]
    for suite in suites:
        assert counted(suite) == outcomes(suite)
    assert counted(root) == tuple(map(sum, zip(*map(counted, suites), strict=True)))
    assert counted(suites[0]) == (7, 2, 0, 3)
    assert root.get("name") == "suite"


def test_cases_are_named_and_measured_in_time(run, render):
    suite = parsed(render(run, "junit")).find("testsuite")
    assert [c.get("name") for c in suite][1:] == [row.case.id for row in run]
    for case in suite.findall("testcase"):
        assert case.get("classname") == "embed_answer_similarity"
        assert float(case.get("time")) >= 0


def test_a_failure_shows_why_and_the_texts(run, render):
    suite = parsed(render(run, "junit")).find("testsuite")
    failure = suite.find("testcase[@name='far']/failure")
    assert "< 70.00 (default cutoff, not calibrated)" in failure.get("message")
    assert failure.text == "reference[0]: open at noon\nresponse: no idea at all"


def test_an_absence_is_skipped_with_its_reason(run, render):
    suite = parsed(render(run, "junit")).find("testsuite")
    skipped = suite.find("testcase[@name='blank']/skipped")
    assert skipped.get("message") == "the case's response is blank"


def test_what_broke_is_an_error(make_run, buggy_metric, render):
    run = make_run([Case(id="1", references=("a",), response="a")], [buggy_metric])
    root = parsed(render(run, "junit"))
    assert counted(root) == counted(root.find("testsuite")) == (1, 0, 1, 0)
    assert "no luck with 1" in root.find(".//error").get("message")


def test_the_model_stands_in_the_properties(run, render):
    root = parsed(render(run, "junit"))
    found = {p.get("name"): p.get("value") for p in root.iter("property")}
    assert found["EmbeddingModel"] == "words"
    assert found["EmbeddingProvider"] == "local"


def test_nothing_measured_is_all_skipped_and_one_error_a_metric_says_so(absent, render):
    root = parsed(render(absent, "junit"))
    *metrics, open_ = root.findall("testsuite")
    assert [counted(one) for one in metrics] == [(2, 0, 0, 2)] * 2
    assert [one.get("name") for one in open_] == [one.metric for one in absent.metrics]
    assert counted(root) == (6, 0, 2, 4)
    assert outcomes(open_) == (2, 0, 2, 0)
    assert open_.find(".//error").get("message").startswith("2 of 2 not measured: ")


def test_a_metric_whose_absences_are_errors_needs_no_other(make_run, buggy_metric, render):
    cases = [Case(id="1", references=("a",), response="a"), Case(id="2", response="a")]
    run = make_run(cases, [buggy_metric, "embed_answer_similarity"])
    root = parsed(render(run, "junit"))
    open_ = root.findall("testsuite")[-1]
    assert run.exit_code == 11
    assert [one.get("name") for one in open_] == ["embed_answer_similarity"]


def test_a_run_that_failed_is_red_already(run, render):
    assert run.exit_code == 1
    assert not parsed(render(run, "junit")).findall("testsuite[@name='not decided']")


def test_what_does_not_apply_keeps_nothing_from_being_green(partly, render):
    assert partly.exit_code == 0
    assert not list(parsed(render(partly, "junit")).iter("error"))


def test_cases_left_unsure_are_told_as_one_error(make_run, render):
    case = Case(id="n", references=("open 9 days",), response="open 8 days")
    run = make_run([case], ["embed_answer_similarity"], cutoffs={"embed_answer_similarity": 1})
    assert run.exit_code == 11
    root = parsed(render(run, "junit"))
    assert root.find(".//error").get("message") == "1 of 1 cases are left unsure"
    assert counted(root) == (2, 0, 1, 1)


def test_characters_that_xml_cannot_hold_are_spelt_out(make_run, render):
    bad = "a\x00b\x08c\x1bd\ufffee\uffff]]>&<\"'"
    case = Case(id="i", input=bad, references=("zzz",), response=bad, group=bad)
    text = render(make_run([case], ["embed_answer_similarity"]), "junit")
    shown = parsed(text).find(".//failure").text
    assert "a\\u0000b\\u0008c\\u001bd\\ufffee\\uffff]]>&<\"'" in shown
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", text)


def test_hostile_texts_stay_texts(hostile, hostile_text, render):
    root = parsed(render(hostile, "junit"))
    assert {element.tag for element in root.iter()} <= {
        "testsuites", "testsuite", "properties", "property", "testcase", "failure", "skipped",
        "error",
    }  # fmt: skip
    assert root.find(".//testcase").get("name") == '=HYPERLINK("x")|<b>'


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_the_document_is_in_the_encoding_it_declares(make_run, encoding):
    run = make_run([Case(id="köln 日本 🎈", references=("zzz",), response="café")])
    out = TextIOWrapper(BytesIO(), encoding=encoding, errors="backslashreplace")
    write(run, "junit", out)
    out.flush()
    root = parsed(out.buffer.getvalue())
    assert root.find(".//testcase").get("name") == "köln 日本 🎈"
    assert "café" in root.find(".//failure").text


def test_a_time_nobody_measured_is_left_out(run, render):
    unknown = dataclasses.replace(run, duration_ms=None)
    assert parsed(render(unknown, "junit")).get("time") is None
    assert float(parsed(render(run, "junit")).get("time")) >= 0


def test_cases_a_metric_does_not_apply_to_are_skipped(partly, render):
    root = parsed(render(partly, "junit"))
    assert counted(root) == counted(root.find("testsuite")) == (3, 0, 0, 2)
    assert outcomes(root.find("testsuite")) == (3, 0, 0, 2)


def test_gates_that_cannot_tell_are_told_as_one_error(make_run, render):
    cases = [Case(id=str(n), references=("yes",), response="yes") for n in range(3)]
    run = make_run(cases, ["token_f1"])
    results = evaluate_gates(run, ["surely pass_rate(token_f1) >= 0.9", "all(token_f1)"])
    run = dataclasses.replace(run, gates=results, gates_code=gates_exit(results, run))
    assert run.exit_code == 11
    root = parsed(render(run, "junit"))
    assert root.find(".//error").get("message") == "1 of 2 gates cannot tell"
    assert counted(root) == (3 + 2 + 1, 0, 1, 1)


def test_what_turns_a_line_around_or_ends_one_is_spelt_out(make_run, render):
    odd = "\u202e\u2066\u2069\u200f\u061c\u2028\u2029"
    run = make_run([Case(id=f"a{odd}", response=f"b{odd}", references=("c",))])
    text = render(run, "junit")
    assert not any(char in text for char in odd)
    assert "b\\u202e\\u2066\\u2069\\u200f\\u061c\\u2028\\u2029" in text
    joined = "👩\u200d🚒 न\u200dा"
    assert joined in render(make_run([Case(id="j", response=joined, references=("c",))]), "junit")

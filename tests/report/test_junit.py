"""The JUnit report: parses, counts agree, nothing absent counts as a pass."""

import dataclasses
import re
import xml.etree.ElementTree as ET
from io import BytesIO, TextIOWrapper

import pytest

from closecall import Case
from closecall.report.formats import write


def parsed(text):
    return ET.fromstring(text)  # noqa: S314 - our own output


def counted(element):
    return tuple(int(element.get(name)) for name in ("tests", "failures", "errors", "skipped"))


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


def test_nothing_measured_is_all_skipped(absent, render):
    root = parsed(render(absent, "junit"))
    assert counted(root) == (4, 0, 0, 4)


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

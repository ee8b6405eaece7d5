"""Repeated runs in the reports: agreement, shares of passes, and the flaky cases by name."""

import json
import xml.etree.ElementTree as ET
from collections import Counter

import pytest

from closecall import AnswerSimilarity, Case, evaluate
from closecall.report.repeats import repeat_lines
from closecall.testing import HashEmbedder


def repeated(cases=12, runs=3, given=1, **options):
    turns = Counter()

    def said(case):
        turns[case.id] += 1
        return "right" if case.input == "steady" or turns[case.id] != 2 else "bad"

    rows = [
        Case(id=f"flaky\x1b[31m-{n}", input="flaky", references=("right",)) for n in range(cases)
    ]
    rows.append(Case(id="steady", input="steady", references=("right",)))
    rows += [
        Case(id=f"given-{n}", input="x", references=("right",), response="right")
        for n in range(given)
    ]
    options = {"embedder": HashEmbedder(), "cache": False} | options
    return evaluate(rows, [AnswerSimilarity()], answers=said, runs=runs, **options)


@pytest.fixture(scope="module")
def run():
    return repeated()


def test_the_section_counts_and_names(run):
    told = list(repeat_lines(run))
    once, agreed, by_run, shares, flaky = told
    assert once == "1 case measured once, with the response there was already"
    assert agreed == (
        "embed_answer_similarity, 13 cases: 15 / 39 (38.5 %) of the pairs of runs agree; 1 of "
        "13 = 7.7% (95% interval 0.19-36%) of the cases decided pass (in 3 of 3 runs or more)"
    )
    assert by_run.endswith("passed / decided in each run: 13/13, 1/13, 13/13")
    assert shares.endswith(
        "by the runs they passed in: 1 case in 3 of 3 = 100% (95% interval 29-100%), 12 cases in 2 of "
        "3 = 67% (95% interval 9.4-99%)"
    )
    assert flaky.startswith("embed_answer_similarity, flaky, 12 cases: flaky")
    assert "[31m-0 (2 of 3), flaky" in flaky
    assert "\x1b" not in flaky
    assert flaky.count("2 of 3") == 10
    assert flaky.endswith("and 2 more (--format json names the first 12)")


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_what_people_read_has_the_section(run, render, form):
    text = " ".join(render(run, form).split())
    assert "3 runs" in text
    assert "15 / 39" in text
    assert "\x1b" not in text
    assert "the subject gave 39 answers" in text


def test_without_repeats_there_is_no_section(make_run, render):
    plain = make_run([Case(id="1", references=("a",), response="a")], [AnswerSimilarity()])
    assert list(repeat_lines(plain)) == []
    assert "runs" not in render(plain, "table")
    assert json.loads(render(plain, "json"))["repeats"] is None


def test_the_json_report_has_all_of_it(run, render):
    report = json.loads(render(run, "json"))
    (found,) = report["repeats"]
    assert (found["runs"], found["needed"], found["successThreshold"]) == (3, 3, 0.8)
    assert (found["cases"], found["measuredOnce"], found["flakyCases"]) == (13, 1, 12)
    assert found["agreement"] == 15 / 39
    assert found["flaky"][0]["share"]["count"] == 2
    assert found["casesPassed"]["n"] == 13
    first = report["results"][0]["metrics"][0]
    assert first["details"]["runs"]["states"] == ["passed", "failed", "passed"]
    assert first["reason"].startswith("passed in 2 of 3 runs (needed 3)")
    assert report["stats"]["total"] == 14


def test_junit_has_one_test_a_case(run, render):
    root = ET.fromstring(render(run, "junit"))  # noqa: S314 - our own output
    assert (root.get("tests"), root.get("failures")) == ("14", "12")
    messages = [one.get("message") for one in root.iter("failure")]
    assert all(one.startswith("passed in 2 of 3 runs (needed 3)") for one in messages)


def test_steady_runs_are_said_to_be(render):
    told = list(repeat_lines(repeated(cases=0, given=0)))
    assert told[-1].endswith("no case passed in one run and failed in another")


def test_a_report_from_the_folder_says_the_same(tmp_path):
    from closecall.runs.stored import load_run

    done = repeated(aef=tmp_path / "run")
    again = load_run(tmp_path / "run")
    assert list(repeat_lines(again)) == list(repeat_lines(done))


def test_of_given_answers_alone_only_that_is_said():
    (told,) = repeat_lines(evaluate(
        [Case(id="1", references=("a",), response="a")], [AnswerSimilarity()],
        embedder=HashEmbedder(), cache=False, runs=3, answers=lambda case: "never asked",
    ))  # fmt: skip
    assert told == "1 case measured once, with the response there was already"

"""The JUnit report against the common schema, and read back by a parser that others use."""

import dataclasses
from collections import Counter
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from junitparser import Error, Failure, JUnitXml, Skipped
from lxml import etree

from closecall import AnswerSimilarity, Case, Goal, Label, calibrate, evaluate
from closecall.gates.evaluate import evaluate_gates, gates_exit
from closecall.metrics.base import MetricSpec
from closecall.records import Measured, State, Unmeasured
from closecall.report.junit import MOST
from closecall.runs.stored import load_run
from closecall.testing import HashEmbedder

SCHEMA = etree.XMLSchema(etree.parse(Path(__file__).with_name("junit.xsd")))
SKIPPED = {State.NOT_MEASURED, State.NOT_APPLICABLE, State.SKIPPED, State.INCONCLUSIVE}


class Told:
    """A metric that finds in each case the state that the case asks for."""

    cutoff = 50.0
    spec = MetricSpec(
        id="told", name="told", version="1", needs=("response",), default_cutoff=50.0,
        low=0.0, high=100.0, description="As the response says.",
    )  # fmt: skip
    STATES: ClassVar = {
        "absent": State.NOT_MEASURED,
        "left": State.SKIPPED,
        "other": State.NOT_APPLICABLE,
    }

    def texts(self, case):
        state = self.STATES.get(case.response)
        return () if state is None else Unmeasured(f"it is {case.response}", state)

    def measure(self, case, vectors):
        if case.response == "broken":
            raise RuntimeError("no luck")
        value = 90.0 if case.response == "good" else 10.0
        return Measured(similarity=value / 100, value=value, score=value)


def told(*responses):
    return [
        Case(id=f"{n}-{what}", references=("x",), response=what)
        for n, what in enumerate(responses)
    ]


def gated(run, *rules):
    results = evaluate_gates(run, list(rules))
    return dataclasses.replace(run, gates=results, gates_code=gates_exit(results, run))


def graded(count, seed=3):
    """Answers that hold more of their reference where they are right; some of each in between."""
    draws = np.random.PCG64(seed).random_raw((count, 12)) % 400
    made = []
    for n, row in enumerate(draws.tolist()):
        reference = [f"word{value}" for value in row[:8]]
        kept = 5 + row[8] % 4 if n % 2 else row[8] % 6
        said = reference[:kept] + [f"noise{value}" for value in row[9:]]
        made.append(
            Case(
                id=f"c{n}",
                references=(" ".join(reference),),
                response=" ".join(said),
                label=Label.ACCEPT if n % 2 else Label.REJECT,
            )
        )
    return made


@pytest.fixture(scope="module")
def rungs():
    goal = Goal(max_far=0.1, max_frr=0.1)
    return [
        calibrate(graded(400, 7), metric, HashEmbedder(), goal, cache=False, lock=False)
        for metric in ("chrf", "embed_answer_similarity")
    ]


def plain(**_):
    every = told("good", "bad", "absent", "left", "other", "broken")
    return evaluate(every, [Told()], HashEmbedder(), cache=False)


def green(**_):
    return evaluate(told("good", "good"), [Told()], HashEmbedder(), cache=False)


def two_metrics(**_):
    every = told("good", "bad", "absent", "other", "broken")
    return evaluate(every, [Told(), "token_f1"], HashEmbedder(), cache=False)


def with_gates(**_):
    run = evaluate(told("good", "bad", "good"), [Told(), "token_f1"], HashEmbedder(), cache=False)
    rules = ("all(told)", "surely pass_rate(told) >= 0.6", "mean(told where tag = no) > 1")
    return gated(run, *rules, "mean(told) > 0")


def repeated(**_):
    turns = Counter()

    def said(case):
        turns[case.id] += 1
        return "bad" if case.id == "flaky" and turns[case.id] == 2 else "good"

    rows = [Case(id=i, input="?", references=("x",)) for i in ("flaky", "steady")]
    return evaluate(rows, [Told()], HashEmbedder(), answers=said, runs=3, cache=False)


def cascade(rungs, **_):
    return evaluate(
        graded(60), None, HashEmbedder(), calibration=rungs, cascade=True, cache=False,
        guards="off",
    )  # fmt: skip


def uncalibrated(rungs, **_):
    return evaluate(
        graded(20), None, HashEmbedder(model="others"), calibration=rungs[1], uncalibrated=True,
        cache=False, guards="off",
    )  # fmt: skip


def bad_rows(tmp_path, **_):
    path = tmp_path / "cases.jsonl"
    rows = ['{"id": "a", "response": "good", "reference": "x"}', '{"id": "b", "response": {}}']
    path.write_text("\n".join((*rows, "{]]>\x1b", "")), encoding="utf-8")
    return evaluate(path, [Told()], HashEmbedder(), cache=False, on_bad_row="skip")


def unsure(**_):
    return evaluate(
        [Case(id="n", references=("open 9 days",), response="open 8 days")],
        AnswerSimilarity(1.0), HashEmbedder(), cache=False,
    )  # fmt: skip


def hostile(**_):
    evil = "]]><![CDATA[<!DOCTYPE a [<!ENTITY e SYSTEM 'file:///x'>]>&e;\x00\x0b\x1b[31m\ufffe\r\n\t<b a='\"'>\u202e\x85"
    rows = [
        Case(id=f"{evil}{n}", input=evil, references=(evil,), response=text, group=evil)
        for n, text in enumerate((evil, "else", " "))
    ]
    return evaluate(
        rows, ["embed_answer_similarity", "token_f1"], HashEmbedder(), cache=False, name=evil
    )


def huge(**_):
    text = "&<é" * 4_000_000
    case = Case(id="h", input="q", references=("zzz",), response=text)
    return evaluate([case], [Told()], HashEmbedder(), cache=False, name=text)


RUNS = (
    plain, green, two_metrics, with_gates, repeated, cascade, uncalibrated, bad_rows, unsure,
    hostile,
)  # fmt: skip


@pytest.fixture(scope="module", params=RUNS, ids=lambda one: one.__name__)
def any_run(request, rungs, tmp_path_factory):
    return request.param(rungs=rungs, tmp_path=tmp_path_factory.mktemp("rows"))


def kinds(suites):
    """Count the tests that others read from a file, by what became of them."""
    found = Counter()
    for suite in suites:
        for case in suite:
            result = [type(one) for one in case.result]
            assert len(result) <= 1
            found[result[0] if result else "green"] += 1
    return found


def expected(run):
    """Count the same from the run, one test a case and metric."""
    found = Counter()
    for row in run:
        for result in row.results:
            if result.state in SKIPPED or (result.state is State.FAILED and run.gates):
                found[Skipped] += 1
            elif result.state is State.FAILED:
                found[Failure] += 1
            else:
                found[Error if result.state is State.ERROR else "green"] += 1
    return found


def test_the_document_is_valid(any_run, render):
    SCHEMA.assertValid(etree.fromstring(render(any_run, "junit").encode()))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("<testsuites ", '<testsuites skipped="3" '),
        (' type="failed"', ""),
        (' type="error"', ""),
        (' errors="1"', ' errors="one"'),
        (' failures="1"', ""),
        ("<properties>", "<system-out/><properties>"),
        (' classname="told"', ""),
        ("<skipped ", "<absent "),
    ],
)
def test_the_schema_refuses_what_a_common_one_refuses(right, wrong, render):
    text = render(plain(), "junit")
    assert right in text
    assert not SCHEMA.validate(etree.fromstring(text.replace(right, wrong).encode()))


def test_what_a_parser_reads_back_is_what_the_run_found(any_run, render):
    run = any_run
    xml = JUnitXml.fromstring(render(run, "junit").encode())
    suites = list(xml)
    names = [one.metric for one in run.metrics]
    assert [suite.name for suite in suites[: len(names)]] == names
    assert kinds(suites[: len(names)]) == expected(run)
    whole = kinds(suites)
    assert (xml.tests, xml.failures, xml.errors) == (
        whole.total(),
        whole[Failure],
        whole[Error],
    )
    for suite in suites:
        own = kinds([suite])
        told = (suite.tests, suite.failures, suite.errors, suite.skipped)
        assert told == (own.total(), own[Failure], own[Error], own[Skipped])
    # A file without failure or error is green wherever it is read; a run that is not must not be.
    assert bool(whole[Failure] + whole[Error]) == (run.exit_code != 0)
    assert xml.time == pytest.approx(run.duration_ms / 1000, abs=1e-6)


@pytest.mark.parametrize("made", [plain, green, repeated, bad_rows])
def test_of_one_metric_the_counts_are_those_of_the_cases(made, render, tmp_path):
    run = made(tmp_path=tmp_path)
    xml = JUnitXml.fromstring(render(run, "junit").encode())
    told, counts = next(iter(xml)), run.cases
    assert told.tests == counts.total
    assert told.failures == counts.failed
    assert told.errors + told.skipped == (
        counts.unmeasured + counts.not_applicable + counts.inconclusive
    )
    assert told.tests - told.failures - told.errors - told.skipped == counts.passed
    by_name = {suite.name: suite.errors for suite in xml}
    assert by_name.get("rows that cannot be read", 0) == counts.bad_rows


def test_each_absence_is_typed_and_says_why(render):
    found = {}
    for case in next(iter(JUnitXml.fromstring(render(plain(), "junit").encode()))):
        for one in case.result:
            found[case.name.partition("-")[2]] = (type(one), one.type, one.message)
    assert found.pop("bad")[:2] == (Failure, "failed")
    assert found.pop("broken")[:2] == (Error, "error")
    assert found == {
        "absent": (Skipped, "not_measured", "it is absent"),
        "left": (Skipped, "skipped", "it is left"),
        "other": (Skipped, "not_applicable", "it is other"),
    }


def test_the_times_of_all_suites_add_up_to_those_of_the_cases(render, tmp_path):
    kept = tmp_path / "run"
    cases = [Case(id=str(n), references=("x",), response="y") for n in range(4)]
    run = evaluate(cases, ["token_f1", "chrf", "bleu"], HashEmbedder(), cache=False, aef=kept)
    for found in (run, load_run(kept)):
        xml = JUnitXml.fromstring(render(found, "junit").encode())
        times = [case.time for suite in xml for case in suite]
        wanted = sum(row.duration_ms for row in found) / 1000
        assert sum(times) == pytest.approx(wanted, abs=1e-6 * len(times))


def test_a_rung_that_was_not_asked_took_no_time(rungs, render):
    run = cascade(rungs)
    first, second, *_ = JUnitXml.fromstring(render(run, "junit").encode())
    asked = [row.results[1].duration_ms is not None for row in run]
    assert [case.time is not None for case in second] == asked
    assert all(case.time is not None for case in first)
    assert 0 < sum(asked) < len(asked)


def test_hostile_texts_come_back_as_they_were_or_spelt_out(render):
    run = hostile()
    suite = next(iter(JUnitXml.fromstring(render(run, "junit").encode())))
    wanted = [
        row.case.id.replace("\x00", "\\u0000")
        .replace("\x0b", "\\u000b")
        .replace("\x1b", "\\u001b")
        .replace("\x85", "\\u0085")
        .replace("\u202e", "\\u202e")
        .replace("\ufffe", "\\ufffe")
        for row in run
    ]
    assert [case.name for case in suite] == wanted


def test_a_text_too_long_for_common_parsers_is_cut_and_counted(render):
    run = huge()
    text = render(run, "junit")
    root = etree.fromstring(text.encode())  # libxml2 refuses more than ten million characters
    SCHEMA.assertValid(root)
    (failure,) = root.iter("failure")
    assert len(failure.text) < MOST + 100
    shown = len("input: q\nreference[0]: zzz\nresponse: ") + 12_000_000 - MOST
    assert failure.text.endswith(f"… ({shown:,} characters more)")
    assert root.get("name").endswith(f"… ({12_000_000 - MOST:,} characters more)")

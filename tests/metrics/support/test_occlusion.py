"""Which part of a response counts most against it, and when that is asked at all."""

import re

import msgspec
import pytest

from closecall import Case, evaluate
from closecall.metrics.base import ExplainingMetric
from closecall.metrics.support.answer import AnswerSupport
from closecall.metrics.support.context import ContextSupport
from closecall.metrics.support.occlusion import MOST, parts_of
from closecall.records import State
from closecall.runs.explaining import NOT_EXPLAINED, nothing_explained
from closecall.runs.pair import score_pair
from closecall.testing import HashEmbedder

REFERENCE = "The pump is drained in autumn."
WRONG = "The pump, which nobody likes, is drained in autumn."
BAD = Case(id="bad", response="The pump is drained by hand in autumn.", references=(REFERENCE,))
GOOD = Case(id="good", response="The pump is drained in autumn.", references=(REFERENCE,))


def run(cases, *metrics, **options):
    return list(evaluate(cases, metrics, embedder=HashEmbedder(), cache=False, **options))


def against(result):
    return result.measurement.details.get("against")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("not red", ["not", "red"]),
        (
            "The pump was never drained in the autumn",
            ["The pump", "was never drained", "in the autumn"],
        ),
        ("It is red, blue; green", ["It is red,", "blue;", "green"]),
        ("One is. Two is. Three is. Four is. Five is. Six is.", None),
        (" ".join(f"Sentence {at} stands here." for at in range(40)), None),
        ("word " * 200, None),
        ("London Paris Berlin", ["London", "Paris", "Berlin"]),
        ("", []),
    ],
)
def test_the_parts_are_few_and_hold_every_word(text, parts):
    found = parts_of(text, ((0, len(text)),))
    assert len(found) <= MOST
    assert re.sub(r"[\s.,;]", "", "".join(text[a:b] for a, b in found)) == re.sub(
        r"[\s.,;]", "", text
    )
    if parts is not None:
        assert [text[a:b].rstrip(",;") for a, b in found] == [one.rstrip(",;") for one in parts]


def test_only_what_was_read_is_left_out():
    text = "The pump is old. The tank is new. The boiler hums."
    assert [text[a:b] for a, b in parts_of(text, ((0, 16), (34, 50)))] == [
        "The pump",
        "is old.",
        "The boiler hums.",
    ]


def test_the_part_that_counts_against_a_failed_answer_is_named(reader):
    (row,) = run([BAD], AnswerSupport(0.99, model=reader))
    (result,) = row.results
    assert result.state is State.FAILED
    found = against(result)
    assert found["text"] == "by hand"
    assert BAD.response[found["start"] : found["end"]] == "by hand"
    assert found["without"] == 1.0
    assert found["parts"] == len(reader.asked[1]) <= MOST


def test_a_negation_is_found(reader):
    case = msgspec.structs.replace(BAD, response="The pump is in no case drained in autumn.")
    (row,) = run([case], AnswerSupport(0.5, model=reader))
    assert against(row.results[0])["text"] == "is in no case drained"


def test_a_response_without_such_a_part_has_none(reader):
    case = msgspec.structs.replace(BAD, response="spring")
    other = msgspec.structs.replace(BAD, response="neither red nor green")
    rows = run([case, other], AnswerSupport(0.5, model=reader))
    assert [against(row.results[0]) for row in rows] == [None, None]


def test_what_was_accepted_or_has_no_cutoff_costs_nothing_more(reader):
    rows = run([GOOD], AnswerSupport(0.5, model=reader))
    rows += run([BAD], AnswerSupport(model=reader))
    assert [against(row.results[0]) for row in rows] == [None, None]
    assert len(reader.asked) == 2


def test_it_can_be_left_out(reader):
    (row,) = run([BAD], AnswerSupport(0.99, explain=False, model=reader))
    assert against(row.results[0]) is None
    with nothing_explained():
        (row,) = run([BAD], AnswerSupport(0.99, model=reader))
    assert against(row.results[0]) is None
    assert len(reader.asked) == 2
    (row,) = run([BAD], AnswerSupport(0.99, model=reader))
    assert against(row.results[0]) is not None


def test_all_failed_cases_of_a_batch_are_asked_about_at_once(reader):
    cases = [msgspec.structs.replace(BAD, id=str(at)) for at in range(20)]
    rows = run([*cases, GOOD], AnswerSupport(0.99, model=reader))
    assert len(reader.asked) == 2
    assert len(reader.asked[1]) <= MOST
    assert len({str(against(row.results[0])) for row in rows[:-1]}) == 1


def test_of_a_context_it_is_a_part_of_the_weakest_sentence(reader):
    case = Case(
        id="a",
        response="The tank is old. The pump is drained by hand in autumn.",
        context=(REFERENCE, "The tank is old."),
    )
    (row,) = run([case], ContextSupport(0.99, model=reader))
    found = against(row.results[0])
    assert case.response[found["start"] : found["end"]] == found["text"] == "by hand"
    assert {first for first, _ in reader.asked[1]} == {f"{REFERENCE} The tank is old."}


def test_of_a_long_response_it_is_a_part_of_what_was_read(reader):
    padding = "The boiler hums all day long here. " * 6
    case = msgspec.structs.replace(BAD, response=f"{padding}{BAD.response} {padding}")
    (row,) = run([case], AnswerSupport(0.9, model=reader))
    found = against(row.results[0])
    assert case.response[found["start"] : found["end"]] == found["text"]
    assert all(len(second) < len(case.response) / 2 for _, second in reader.asked[1])


def test_a_pair_is_explained_as_a_run_is(reader):
    found = score_pair(AnswerSupport(0.99, model=reader), REFERENCE, BAD.response, HashEmbedder())
    assert against(found)["text"] == "by hand"


def test_a_metric_that_fails_to_explain_keeps_its_verdict(reader):
    class Broken(AnswerSupport):
        def explain(self, cases, found):
            raise RuntimeError("out of words")

    assert isinstance(Broken(model=reader), ExplainingMetric)
    (row,) = run([BAD], Broken(0.99, model=reader))
    assert row.results[0].state is State.FAILED
    assert row.results[0].measurement.details[NOT_EXPLAINED] == (
        "answer_support failed: RuntimeError: out of words"
    )


def test_what_a_guard_holds_back_has_the_guards_finding(reader):
    case = Case(
        id="a", response="It holds 12 litres here.", references=("It holds 10 litres here.",)
    )
    (row,) = run([case], AnswerSupport(0.5, model=reader))
    assert row.results[0].held == ("numbers",)
    assert len(reader.asked) == 1


def test_a_folder_without_content_keeps_the_place_and_no_word(reader, tmp_path):
    metrics = [AnswerSupport(0.99, model=reader), ContextSupport(0.99, model=reader)]
    case = msgspec.structs.replace(BAD, context=(REFERENCE,))
    evaluate(
        [case], metrics, embedder=HashEmbedder(), cache=False, aef=tmp_path / "run", content=False
    )
    kept = "".join(p.read_text() for p in (tmp_path / "run").rglob("*") if p.is_file())
    assert '"without":1' in kept.replace(" ", "")
    assert "hand" not in kept
    assert "autumn" not in kept

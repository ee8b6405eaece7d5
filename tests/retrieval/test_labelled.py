"""Labelled cases out of a search: what calibrate is to learn from."""

import json

import pytest
from made_collections import made

from closecall.records import Label
from closecall.retrieval.estimates import Drawing
from closecall.retrieval.evaluate import evaluate_retrieval
from closecall.retrieval.labelled import labelled_cases, write_cases
from closecall.testing import HashEmbedder


def cases(collection, **options):
    _, rankings = evaluate_retrieval(
        collection, HashEmbedder(), drawing=Drawing(resamples=200), cache=False
    )
    return list(labelled_cases(rankings[0], collection, **options))


@pytest.fixture
def colours():
    notices = {
        "a": ("", "red apple on a tray"),
        "b": ("", "red apple"),
        "c": ("", "blue plum on a tray"),
    }
    questions = {
        "right": ("red apple", {"b": 2, "a": 1}),
        "wrong": ("red apple on a tray", {"b": 1}),
    }
    return made(notices, questions, right={"group": "fruit"})


def test_the_first_document_found_is_labelled_and_the_first_wrong_one_is_a_reject(colours):
    found = {case.id: case for case in cases(colours)}
    assert set(found) == {"right:found", "right:removed", "wrong:found"}
    assert found["right:found"].label is Label.ACCEPT
    assert found["right:found"].context == ("red apple",)
    assert found["right:removed"].label is Label.REJECT
    assert found["right:removed"].context == ("blue plum on a tray",)
    assert found["right:removed"].group == "fruit"
    # Found first and not relevant: also what is first once the relevant ones are gone.
    assert found["wrong:found"].label is Label.REJECT
    assert found["wrong:found"].tags == ("found", "removed")
    assert found["wrong:found"].group == "wrong"
    assert found["wrong:found"].metadata["retrieval"]["document"] == "a"


def test_relevance_is_by_grade(colours):
    found = {case.id: case for case in cases(colours, relevant_from=2)}
    assert found["right:removed"].context == ("red apple on a tray",)


def test_the_file_holds_what_calibrate_reads(colours, tmp_path):
    counted = write_cases(cases(colours), tmp_path / "cases.jsonl")
    assert counted == (1, 2)
    rows = [json.loads(line) for line in (tmp_path / "cases.jsonl").read_text().splitlines()]
    assert rows[0]["label"] == "accept"
    assert rows[0]["annotator"] == "qrels.tsv"
    assert {row["group"] for row in rows} == {"fruit", "wrong"}

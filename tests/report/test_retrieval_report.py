"""The words of a retrieval report."""

import io
from pathlib import Path

import msgspec
import pytest

from closecall.calibration.records import Interval
from closecall.report.retrieval import write
from closecall.report.retrieval_formats import format_of
from closecall.report.retrieval_words import cell, contrast, drawn, measure
from closecall.retrieval.collection import Document, Query, assembled
from closecall.retrieval.estimates import PERCENTILE, Drawing, Estimate
from closecall.retrieval.evaluate import evaluate_retrieval
from closecall.testing import HashEmbedder


@pytest.fixture(scope="module")
def result():
    words = [f"word{at}" for at in range(24)]
    found, _ = evaluate_retrieval(
        assembled(
            "words",
            {word: Document(id=word, text=f"{word} and more") for word in words},
            {
                f"q-{word}": Query(id=f"q-{word}", text=f"{word}?" if at % 4 else word)
                for at, word in enumerate(words)
            }
            | {"unasked": Query(id="unasked", text="nothing")},
            {f"q-{word}": {word: 1, "lost": 1} for word in words},
            qrels="grades.tsv",
        ),
        HashEmbedder(),
        cutoffs=[1, 10],
        drawing=Drawing(resamples=200, seed=3),
        cache=False,
    )
    return found


def text(result, width=90):
    out = io.StringIO()
    write(result, out, width)
    return out.getvalue()


def test_what_was_left_out_is_said(result):
    said = " ".join(text(result).split())
    assert "1 of 25 questions have no relevant document and are in no figure" in said
    assert "1 graded document not in the corpus" in said
    assert "24 questions, 200 resamples, seed 3" in said
    assert "A document that nobody graded counts as not relevant." in said


def test_the_method_of_every_interval_is_said(result):
    def one(value, why, method, count):
        span = None if method is None else Interval(low=0.4, high=1.0, level=0.95, method=method)
        estimate = Estimate(value=value, n=4, groups=4, count=count, interval=span, why=why)
        return {"ndcg@1": estimate}

    def said(measures):
        systems = (msgspec.structs.replace(result.systems[0], measures=measures),)
        return drawn(msgspec.structs.replace(result, systems=systems))

    assert "Clopper" not in said(one(0.5, "", PERCENTILE, None))
    assert "the same value" in said(one(1.0, "", "clopper-pearson, of questions", 4))
    few = "4 independent questions or groups are too few, 10 are needed"
    assert said(one(0.5, few, None, 2)).endswith(f" No interval: {few}.")


def test_no_line_is_wider_than_it_may_be(result):
    assert max(map(len, text(result, 80).splitlines())) <= 80


def test_a_worst_question_shows_where_the_right_document_stood(result):
    said = text(result, 200)
    assert "relevant (not in the corpus) lost" in said
    assert "relevant (rank " in said


def test_help_is_said_plainly(result):
    said = " ".join(text(result).split())
    assert "Embeddings do not help here: searching by words beats python:HashEmbedder." in said
    better = msgspec.structs.replace(
        result,
        contrasts=tuple(msgspec.structs.replace(c, verdict="better") for c in result.contrasts),
    )
    assert "Embeddings help here" in text(better)
    unsure = msgspec.structs.replace(
        result,
        contrasts=tuple(
            msgspec.structs.replace(c, verdict="cannot tell", why="cannot tell with n = 24: so")
            for c in result.contrasts
        ),
    )
    assert "these questions cannot tell" in " ".join(text(unsure).split())


def test_cells():
    interval = Interval(low=0.5, high=0.75, level=0.95, method="m")
    one = Estimate(value=2 / 3, n=9, groups=9, count=None, interval=interval)
    assert cell(one) == "0.667 (0.500-0.750)"
    assert cell(msgspec.structs.replace(one, interval=None)) == "0.667 (no interval)"
    assert cell(None) == "-"
    assert measure("mrr@5") == "MRR@5"


def test_a_contrast_in_words(result):
    said = contrast(result.contrasts[0])
    assert said.startswith("nDCG@10: python:HashEmbedder 0.")
    assert "95% interval -" in said
    assert "with n = 24" in said


def test_formats_go_by_suffix():
    assert format_of(Path("a.json")) == "json"

"""What a pair model costs stands beside what it sees: pairs a second, and the ratio to embedding."""

import io
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "runs"))
from number_reader import NumberReader, put

from closecall.metrics.registry import load_metric
from closecall.records import Case
from closecall.report.stress import write
from closecall.stress.cost import SAMPLE, pair_cost
from closecall.stress.measuring import stress_test
from closecall.testing import HashEmbedder

CASES = [
    Case(
        id=f"{n}",
        input=f"How long does the {thing} take?",
        references=(f"The {thing} takes {n + 20} days and is free of charge.",),
    )
    for n, thing in enumerate(["delivery", "repair", "refund", "exchange", "upgrade", "check"])
]


@pytest.fixture
def reader(monkeypatch, tmp_path):
    return put(monkeypatch, tmp_path, NumberReader())


def stressed(metrics=None, embedder=None, **options):
    return stress_test(CASES, metrics, embedder or HashEmbedder(), cache=False, **options)


@pytest.mark.usefixtures("reader")
def test_unless_others_are_named_the_pair_model_stands_beside_the_cosine():
    cosine, pair = stressed().metrics
    assert (cosine.metric, pair.metric) == ("embed_answer_similarity", "answer_support")
    numbers = next(one for one in pair.families if one.family == "number")
    assert (numbers.measured, numbers.median) == (6, 0.03)
    assert cosine.cost is None
    assert len(stressed("token_f1").metrics) == 1


def test_without_a_pair_model_the_cosine_stands_alone(monkeypatch, tmp_path):
    put(monkeypatch, tmp_path, None)
    assert [one.metric for one in stressed().metrics] == ["embed_answer_similarity"]


def test_its_cost_is_timed_on_the_answers_it_measured(reader):
    embedder = HashEmbedder()
    found = stressed(embedder=embedder)
    cost = found.metrics[1].cost
    assert cost.answers == len(found.cases) <= SAMPLE
    assert cost.pairs == len(set(reader.asked[-1])) <= cost.answers
    texts = {c.response for c in found.cases} | {t for c in found.cases for t in c.references}
    assert cost.texts == len(texts)
    assert set(embedder.texts[-len(texts) :]) == texts
    assert cost.embedder == embedder.instrument.model
    assert cost.pairs_per_second == cost.pairs / cost.seconds > 0
    assert cost.ratio == cost.seconds / cost.embedding_seconds > 0
    out = io.StringIO()
    write(found, out, width=100)
    said = " ".join(out.getvalue().split())
    assert f"Its cost: {cost.pairs} pairs of {cost.answers} answers read in" in said
    assert f"to embed the {cost.texts} texts of the same answers." in said


@pytest.mark.usefixtures("reader")
def test_where_nothing_is_embedded_there_is_no_ratio():
    alone = stress_test(CASES, "answer_support", None, cache=False).metrics[0].cost
    assert (alone.embedder, alone.ratio) == (None, None)
    out = io.StringIO()
    write(stress_test(CASES, "answer_support", None, cache=False), out, width=200)
    assert "pairs a second." in out.getvalue()


def test_of_many_answers_some_are_timed(reader):
    many = [
        Case(id=f"{n}", references=(f"word{n} takes 2 days",), response=f"word{n} takes 3 days")
        for n in range(3 * SAMPLE)
    ]
    cost = pair_cost(load_metric("answer_support"), many, None)
    assert cost.answers == cost.pairs == SAMPLE
    assert pair_cost(load_metric("token_f1"), many, None) is None
    assert pair_cost(load_metric("answer_support"), [], None) is None

"""How the public names are used; a type checker reads this file, nothing runs it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import assert_type

import numpy as np
from numpy.typing import NDArray

from closecall import (
    AnswerSimilarity,
    Case,
    CaseResult,
    ClosecallError,
    Counts,
    Embedder,
    EmbeddingSimilarity,
    Instrument,
    Label,
    Measured,
    Measurement,
    Metric,
    MetricResult,
    MetricSpec,
    MetricSummary,
    QueryContextSimilarity,
    ResponseContextSimilarity,
    Role,
    Run,
    ScoreNormalizer,
    SemanticSimilarity,
    State,
    Unmeasured,
    cases_from,
    cosine_similarity,
    evaluate,
    load_embedder,
    load_metric,
    load_run,
    open_dataset,
    resume,
)
from closecall.embedders.base import TextKey, VectorLookup, Vectors
from closecall.testing import HashEmbedder

CASES = [
    Case(id="1", response="said", references=("right",), label=Label.ACCEPT),
    Case(id="2", input="asked", context=("passage",)),
]


class Own:
    """An embedder of one's own needs these two members and no base class."""

    @property
    def instrument(self) -> Instrument:
        return Instrument(kind="own", model="mine", provider="local", dims=2)

    def embed(self, texts: Sequence[str], role: Role = Role.TEXT) -> Vectors:
        return np.ones((len(texts), 2), dtype=np.float32)


class Length:
    """A metric of one's own, likewise."""

    spec = MetricSpec(
        id="length",
        name="length",
        version="1",
        needs=("response",),
        default_cutoff=None,
        low=None,
        high=None,
        description="Characters of the response.",
    )
    cutoff: float | None = None

    def texts(self, case: Case) -> tuple[TextKey, ...] | Unmeasured:
        return () if case.response else Unmeasured("no response")

    def measure(self, case: Case, vectors: VectorLookup) -> Measurement:
        length = float(len(case.response or ""))
        return Measured(similarity=length, value=length, score=None)


def run_everything(folder: Path) -> None:
    embedder: Embedder = Own()
    fake: Embedder = HashEmbedder()
    local: Embedder = load_embedder("minilm", window="truncate", threads=2)
    metric: Metric = load_metric("semantic_similarity", 0.6)
    metrics: list[Metric] = [
        AnswerSimilarity(60),
        ResponseContextSimilarity(),
        QueryContextSimilarity(cutoff=40),
        SemanticSimilarity(),
        EmbeddingSimilarity("euclidean", normalize=False, references="mean", cutoff=0.4),
        Length(),
        metric,
    ]
    run = evaluate(CASES, metrics, embedder, aef=folder, cache=False)
    assert_type(run, Run)
    evaluate(folder / "cases.jsonl")
    evaluate("cases.csv", "embed_answer_similarity", fake, mapping={"response": "bot"})
    evaluate([{"response": "a", "reference": "b"}], ["semantic_similarity", Length()], local)
    assert_type(resume(folder), Run)
    assert_type(load_run(folder), Run)
    evaluate(open_dataset("cases.yaml"))
    evaluate(cases_from([{"response": "a", "reference": "b"}]))


def read(run: Run) -> list[str]:
    lines = [f"{run.exit_code} {run.passed} {run.cases.total}"]
    for summary in run.metrics:
        assert_type(summary, MetricSummary)
        assert_type(summary.mean, float | None)
        assert_type(summary.labelled, Counts | None)
    for row in run:
        assert_type(row, CaseResult)
        for result in row.results:
            assert_type(result, MetricResult)
            assert_type(result.state, State)
            if isinstance(result.measurement, Measured):
                assert_type(result.measurement.score, float | None)
                lines.append(f"{row.case.id} {result.measurement.similarity}")
            else:
                assert_type(result.measurement, Unmeasured)
                lines.append(result.measurement.reason)
    return lines


def numbers(a: NDArray[np.float32], b: NDArray[np.float32]) -> None:
    cosine_similarity(a, b)
    assert_type(ScoreNormalizer.from_similarity(0.5), float)
    assert_type(ScoreNormalizer.label(70), str)
    assert_type(ScoreNormalizer.passes(70.0), bool)


def caught() -> int:
    try:
        evaluate("nowhere.jsonl")
    except ClosecallError as error:
        assert_type(error.exit_code, int)
        return error.exit_code
    return 0

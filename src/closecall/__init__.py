"""closecall: is this text close enough to that one?

Scores with embeddings computed on your own machine and decides with a cutoff that belongs to
one model. ``evaluate`` runs metrics over cases, ``calibrate`` chooses a cutoff from labelled ones;
``closecall`` on the command line calls them.

Names below load on first use, so ``import closecall`` costs a few milliseconds and loads neither
numpy nor a model runtime.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from closecall._version import __version__

if TYPE_CHECKING:
    from closecall.bulk.merging import merge_runs
    from closecall.calibration.artefact import Calibration
    from closecall.calibration.calibrator import Calibrator
    from closecall.calibration.goals import Goal
    from closecall.calibration.records import Counts
    from closecall.calibration.store import load_calibration, save_calibration
    from closecall.datasets import cases_from, open_dataset
    from closecall.embedders.base import CountingEmbedder, Embedder, PieceEmbedder, Pieces, TextKey
    from closecall.embedders.registry import load_embedder
    from closecall.errors import ClosecallError
    from closecall.index.base import Hit, Index
    from closecall.index.building import build_index, open_index
    from closecall.instrument import Instrument
    from closecall.metrics.base import BatchMetric, Metric, MetricSpec
    from closecall.metrics.embedding_similarity import EmbeddingSimilarity
    from closecall.metrics.guards.policy import GuardPolicy
    from closecall.metrics.normalizer import ScoreNormalizer
    from closecall.metrics.pooled import (
        AnswerSimilarity,
        QueryContextSimilarity,
        ResponseContextSimilarity,
        SemanticSimilarity,
    )
    from closecall.metrics.registry import load_metric
    from closecall.records import Case, Label, Measured, Measurement, Role, State, Unmeasured
    from closecall.report.formats import save_report
    from closecall.runs.calibrate import calibrate
    from closecall.runs.comparing.compare import compare_runs
    from closecall.runs.comparing.records import RunComparison
    from closecall.runs.evaluate import evaluate
    from closecall.runs.parts.folder import PartsFolder
    from closecall.runs.record import Run
    from closecall.runs.refresh import refresh
    from closecall.runs.results import CaseResult, MetricResult
    from closecall.runs.resuming import resume
    from closecall.runs.stored import load_run
    from closecall.runs.summary import MetricSummary
    from closecall.signing.records import Verification
    from closecall.signing.sign import sign_run
    from closecall.signing.verify import verify_run
    from closecall.similarity import (
        cosine_similarity,
        dot_product,
        euclidean_distance,
        manhattan_distance,
        similarities,
        top_k,
    )
    from closecall.stress.measuring import stress_test
    from closecall.stress.results import StressResult

_HOMES = {
    "closecall.bulk.merging": ("merge_runs",),
    "closecall.calibration.artefact": ("Calibration",),
    "closecall.calibration.calibrator": ("Calibrator",),
    "closecall.calibration.goals": ("Goal",),
    "closecall.calibration.records": ("Counts",),
    "closecall.calibration.store": ("load_calibration", "save_calibration"),
    "closecall.datasets": ("cases_from", "open_dataset"),
    "closecall.embedders.base": (
        "CountingEmbedder",
        "Embedder",
        "PieceEmbedder",
        "Pieces",
        "TextKey",
    ),
    "closecall.embedders.registry": ("load_embedder",),
    "closecall.errors": ("ClosecallError",),
    "closecall.index.base": ("Hit", "Index"),
    "closecall.index.building": ("build_index", "open_index"),
    "closecall.instrument": ("Instrument",),
    "closecall.metrics.base": ("BatchMetric", "Metric", "MetricSpec"),
    "closecall.metrics.embedding_similarity": ("EmbeddingSimilarity",),
    "closecall.metrics.guards.policy": ("GuardPolicy",),
    "closecall.metrics.normalizer": ("ScoreNormalizer",),
    "closecall.metrics.pooled": (
        "AnswerSimilarity",
        "QueryContextSimilarity",
        "ResponseContextSimilarity",
        "SemanticSimilarity",
    ),
    "closecall.metrics.registry": ("load_metric",),
    "closecall.records": (
        "Case",
        "Label",
        "Measured",
        "Measurement",
        "Role",
        "State",
        "Unmeasured",
    ),
    "closecall.report.formats": ("save_report",),
    "closecall.runs.calibrate": ("calibrate",),
    "closecall.runs.comparing.compare": ("compare_runs",),
    "closecall.runs.comparing.records": ("RunComparison",),
    "closecall.runs.evaluate": ("evaluate",),
    "closecall.runs.parts.folder": ("PartsFolder",),
    "closecall.runs.record": ("Run",),
    "closecall.runs.refresh": ("refresh",),
    "closecall.runs.results": ("CaseResult", "MetricResult"),
    "closecall.runs.resuming": ("resume",),
    "closecall.runs.stored": ("load_run",),
    "closecall.runs.summary": ("MetricSummary",),
    "closecall.signing.records": ("Verification",),
    "closecall.signing.sign": ("sign_run",),
    "closecall.signing.verify": ("verify_run",),
    "closecall.stress.measuring": ("stress_test",),
    "closecall.stress.results": ("StressResult",),
    "closecall.similarity": (
        "cosine_similarity",
        "dot_product",
        "euclidean_distance",
        "manhattan_distance",
        "similarities",
        "top_k",
    ),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "AnswerSimilarity",
    "BatchMetric",
    "Calibration",
    "Calibrator",
    "Case",
    "CaseResult",
    "ClosecallError",
    "CountingEmbedder",
    "Counts",
    "Embedder",
    "EmbeddingSimilarity",
    "Goal",
    "GuardPolicy",
    "Hit",
    "Index",
    "Instrument",
    "Label",
    "Measured",
    "Measurement",
    "Metric",
    "MetricResult",
    "MetricSpec",
    "MetricSummary",
    "PartsFolder",
    "PieceEmbedder",
    "Pieces",
    "QueryContextSimilarity",
    "ResponseContextSimilarity",
    "Role",
    "Run",
    "RunComparison",
    "ScoreNormalizer",
    "SemanticSimilarity",
    "State",
    "StressResult",
    "TextKey",
    "Unmeasured",
    "Verification",
    "__version__",
    "build_index",
    "calibrate",
    "cases_from",
    "compare_runs",
    "cosine_similarity",
    "dot_product",
    "euclidean_distance",
    "evaluate",
    "load_calibration",
    "load_embedder",
    "load_metric",
    "load_run",
    "manhattan_distance",
    "merge_runs",
    "open_dataset",
    "open_index",
    "refresh",
    "resume",
    "save_calibration",
    "save_report",
    "sign_run",
    "similarities",
    "stress_test",
    "top_k",
    "verify_run",
]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'closecall' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

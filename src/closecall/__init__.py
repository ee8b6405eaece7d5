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
    from closecall.calibration.artefact import Calibration
    from closecall.calibration.calibrator import Calibrator
    from closecall.calibration.goals import Goal
    from closecall.calibration.records import Counts
    from closecall.calibration.store import load_calibration, save_calibration
    from closecall.datasets import cases_from, open_dataset
    from closecall.embedders.base import Embedder
    from closecall.embedders.registry import load_embedder
    from closecall.errors import ClosecallError
    from closecall.instrument import Instrument
    from closecall.metrics.base import Metric, MetricSpec
    from closecall.metrics.embedding_similarity import EmbeddingSimilarity
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
    from closecall.runs.calibrate import calibrate, refresh
    from closecall.runs.evaluate import evaluate, load_run, resume
    from closecall.runs.record import Run
    from closecall.runs.results import CaseResult, MetricResult
    from closecall.runs.summary import MetricSummary
    from closecall.similarity import (
        cosine_similarity,
        dot_product,
        euclidean_distance,
        manhattan_distance,
        similarities,
        top_k,
    )

_HOMES = {
    "closecall.calibration.artefact": ("Calibration",),
    "closecall.calibration.calibrator": ("Calibrator",),
    "closecall.calibration.goals": ("Goal",),
    "closecall.calibration.records": ("Counts",),
    "closecall.calibration.store": ("load_calibration", "save_calibration"),
    "closecall.datasets": ("cases_from", "open_dataset"),
    "closecall.embedders.base": ("Embedder",),
    "closecall.embedders.registry": ("load_embedder",),
    "closecall.errors": ("ClosecallError",),
    "closecall.instrument": ("Instrument",),
    "closecall.metrics.base": ("Metric", "MetricSpec"),
    "closecall.metrics.embedding_similarity": ("EmbeddingSimilarity",),
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
    "closecall.runs.calibrate": ("calibrate", "refresh"),
    "closecall.runs.evaluate": ("evaluate", "load_run", "resume"),
    "closecall.runs.record": ("Run",),
    "closecall.runs.results": ("CaseResult", "MetricResult"),
    "closecall.runs.summary": ("MetricSummary",),
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
    "Calibration",
    "Calibrator",
    "Case",
    "CaseResult",
    "ClosecallError",
    "Counts",
    "Embedder",
    "EmbeddingSimilarity",
    "Goal",
    "Instrument",
    "Label",
    "Measured",
    "Measurement",
    "Metric",
    "MetricResult",
    "MetricSpec",
    "MetricSummary",
    "QueryContextSimilarity",
    "ResponseContextSimilarity",
    "Role",
    "Run",
    "ScoreNormalizer",
    "SemanticSimilarity",
    "State",
    "Unmeasured",
    "__version__",
    "calibrate",
    "cases_from",
    "cosine_similarity",
    "dot_product",
    "euclidean_distance",
    "evaluate",
    "load_calibration",
    "load_embedder",
    "load_metric",
    "load_run",
    "manhattan_distance",
    "open_dataset",
    "refresh",
    "resume",
    "save_calibration",
    "save_report",
    "similarities",
    "top_k",
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

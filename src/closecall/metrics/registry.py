"""Metrics by name, as the command line and ``evaluate`` take them.

A name may carry options: ``embedding_similarity:method=euclidean:normalize=false``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from closecall.errors import UnknownNameError, UsageError
from closecall.metrics.base import Metric, MetricSpec
from closecall.plugins import METRICS, plugin, plugin_names

if TYPE_CHECKING:
    from closecall.metrics.function import Evaluator

_POOLED = "closecall.metrics.pooled"
_ALIGNMENT = "closecall.metrics.alignment"
_LEXICAL = "closecall.metrics.lexical"
_SUPPORT = "closecall.metrics.support"
_FACTS = "closecall.metrics.facts"
_QUALITY = "closecall.metrics.judge.quality"
_AGENTS = "closecall.metrics.judge.agents"
_SAFETY = "closecall.metrics.judge.safety"

BUILT_IN: dict[str, tuple[str, str]] = {
    "embed_answer_similarity": (_POOLED, "AnswerSimilarity"),
    "embed_response_context": (_POOLED, "ResponseContextSimilarity"),
    "embed_query_context": (_POOLED, "QueryContextSimilarity"),
    "semantic_similarity": (_POOLED, "SemanticSimilarity"),
    "embedding_similarity": ("closecall.metrics.embedding_similarity", "EmbeddingSimilarity"),
    "answer_alignment": (f"{_ALIGNMENT}.answer", "AnswerAlignment"),
    "context_alignment": (f"{_ALIGNMENT}.context", "ContextAlignment"),
    "alignment_f1": (f"{_ALIGNMENT}.answer", "AlignmentF1"),
    "alignment_min": (f"{_ALIGNMENT}.answer", "AlignmentMinimum"),
    "answer_window_similarity": (f"{_ALIGNMENT}.windows", "AnswerWindowSimilarity"),
    "context_window_similarity": (f"{_ALIGNMENT}.windows", "ContextWindowSimilarity"),
    "token_f1": (f"{_LEXICAL}.token_overlap", "TokenF1"),
    "token_recall": (f"{_LEXICAL}.token_overlap", "TokenRecall"),
    "token_precision": (f"{_LEXICAL}.token_overlap", "TokenPrecision"),
    "exact_match": (f"{_LEXICAL}.token_overlap", "ExactMatch"),
    "contains_reference": (f"{_LEXICAL}.token_overlap", "ContainsReference"),
    "bleu": (f"{_LEXICAL}.bleu", "Bleu"),
    "gleu": (f"{_LEXICAL}.gleu", "Gleu"),
    "rouge_l": (f"{_LEXICAL}.rouge_l", "RougeL"),
    "chrf": (f"{_LEXICAL}.chrf", "Chrf"),
    "expected_fact": (f"{_FACTS}.expected_fact", "ExpectedFact"),
    "refusal": (f"{_FACTS}.refusal", "Refusal"),
    "forbidden_text": (f"{_FACTS}.forbidden_text", "ForbiddenText"),
    "guards": ("closecall.metrics.guards", "Guards"),
    "answer_support": (f"{_SUPPORT}.answer", "AnswerSupport"),
    "context_support": (f"{_SUPPORT}.context", "ContextSupport"),
    "cross_encoder": ("closecall.metrics.pairs.metric", "CrossEncoderScore"),
    "llm_relevance": (_QUALITY, "LlmRelevance"),
    "llm_coherence": (_QUALITY, "LlmCoherence"),
    "llm_fluency": (_QUALITY, "LlmFluency"),
    "llm_groundedness": (_QUALITY, "LlmGroundedness"),
    "llm_completeness": (_QUALITY, "LlmCompleteness"),
    "llm_equivalence": (_QUALITY, "LlmEquivalence"),
    "llm_retrieval": (_QUALITY, "LlmRetrieval"),
    "llm_relevance_truth_completeness": (_QUALITY, "LlmRelevanceTruthCompleteness"),
    "llm_intent_resolution": (_AGENTS, "LlmIntentResolution"),
    "llm_task_adherence": (_AGENTS, "LlmTaskAdherence"),
    "llm_tool_call_accuracy": (_AGENTS, "LlmToolCallAccuracy"),
    "llm_safety_hate_and_unfairness": (_SAFETY, "LlmHateAndUnfairness"),
    "llm_safety_violence": (_SAFETY, "LlmViolence"),
    "llm_safety_self_harm": (_SAFETY, "LlmSelfHarm"),
    "llm_safety_sexual": (_SAFETY, "LlmSexual"),
    "llm_safety_protected_material": (_SAFETY, "LlmProtectedMaterial"),
    "llm_safety_indirect_attack": (_SAFETY, "LlmIndirectAttack"),
    "llm_safety_code_vulnerability": (_SAFETY, "LlmCodeVulnerability"),
    "llm_safety_ungrounded_attributes": (_SAFETY, "LlmUngroundedAttributes"),
}
"""Where each metric lives: module and class. Each loads when it is asked for."""

DEFAULT = "embed_answer_similarity"

JUDGE = "fitted_judge"
"""A metric that is no name alone: a calibration holds what labels made of it."""


def metric_class(name: str) -> Any:
    """Return the class of a built-in metric."""
    module, attribute = BUILT_IN[name]
    return getattr(import_module(module), attribute)


def is_named(name: str) -> bool:
    """Whether a name stands for a metric, of closecall's own or of another package."""
    return name in BUILT_IN or plugin(METRICS, name) is not None


def load_metric(name: str, cutoff: float | None = None) -> Metric:
    """Return the metric of this name, with options after colons.

    Raises
    ------
    UnknownNameError
        No metric of that name; lists those there are.
    UsageError
        An option or a cutoff is not allowed.
    ConfigurationError
        Another package brings it, and it cannot be made.
    """
    base, *pairs = name.strip().split(":")
    if base == JUDGE:
        raise UsageError(
            f"{JUDGE} is fitted to labels and comes with a calibration: make one with closecall "
            "calibrate FILE --judge -o judge.json, and use it with --calibration judge.json"
        )
    plugged = None if base in BUILT_IN else plugin(METRICS, base)
    if base not in BUILT_IN and plugged is None:
        import difflib

        near = difflib.get_close_matches(base, BUILT_IN, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise UnknownNameError(
            f"there is no metric {base!r}.{hint} Metrics: "
            f"{', '.join((*BUILT_IN, *plugin_names(METRICS)))}"
        )
    options: dict[str, Any] = {}
    for pair in pairs:
        key, sep, value = pair.partition("=")
        if not sep or not key:
            raise UsageError(f"{name}: options are written NAME=VALUE, got {pair!r}")
        key, value = key.strip(), value.strip()
        if key in options:
            raise UsageError(f"{name}: the option {key!r} is given twice")
        options[key] = {"true": True, "false": False}.get(value.lower(), value)
    made = metric_class(base) if plugged is None else plugged
    allowed = getattr(made, "DEFAULTS", {})
    unknown = [key for key in options if key not in allowed]
    if unknown:
        there_are = f"its options are {', '.join(allowed)}" if allowed else "it has no options"
        raise UsageError(f"{base} has no option {unknown[0]!r}; {there_are}")
    if plugged is not None:
        from closecall.metrics.plugged import plugged_metric

        return plugged_metric(base, plugged, cutoff, options)
    metric: Metric = made(cutoff=cutoff, **options)
    return metric


def load_metrics(
    names: str | Metric | Evaluator | Iterable[str | Metric | Evaluator],
    cutoffs: Mapping[str, float] | None = None,
) -> list[Metric]:
    """Return metrics from names (also comma-separated) and instances, each at most once.

    ``cutoffs`` maps a metric's name or id to its cutoff.
    """
    if not isinstance(cutoffs, Mapping | None):
        raise UsageError(
            f'cutoffs must be a mapping such as {{"NAME": VALUE}}, got {cutoffs!r:.60}'
        )
    if isinstance(names, str) or not isinstance(names, Iterable):
        names = [names]
    cutoffs = dict(cutoffs or {})
    flat: list[str | Metric | Evaluator] = []
    for item in names:
        flat.extend(part for part in item.split(",") if part.strip()) if isinstance(
            item, str
        ) else flat.append(item)
    if not flat:
        raise UsageError(f"name at least one metric: {', '.join(BUILT_IN)}")
    used: set[str] = set()
    metrics = [_made(item, cutoffs, used) for item in flat]
    _refuse_unused(cutoffs, used, metrics)
    ids = [metric.spec.id for metric in metrics]
    twice = sorted({i for i in ids if ids.count(i) > 1})
    if twice:
        raise UsageError(f"metric {twice[0]} is named twice; each metric counts once")
    return metrics


def _made(item: Any, cutoffs: Mapping[str, float], used: set[str]) -> Metric:
    """Return the metric that was meant: by its name, its class, itself or a function."""
    if isinstance(item, str):
        return _with_cutoff(item, cutoffs, used)
    made = item() if isinstance(item, type) else item
    if not hasattr(made, "spec") and callable(made):
        from closecall.metrics.function import FunctionMetric

        made = FunctionMetric(made)
    if not isinstance(getattr(made, "spec", None), MetricSpec):
        raise UsageError(f"expected a metric or the name of one, got {item!r}")
    metric: Metric = made
    return metric


def _with_cutoff(name: str, cutoffs: Mapping[str, float], used: set[str]) -> Metric:
    metric = load_metric(name)
    for key in (metric.spec.id, metric.spec.name, name.strip()):
        if key in cutoffs:
            used.add(key)
            return load_metric(name, cutoffs[key])
    return metric


def _refuse_unused(
    cutoffs: Mapping[str, float], used: set[str], metrics: Sequence[Metric]
) -> None:
    left = [key for key in cutoffs if key not in used]
    given = {name for metric in metrics for name in (metric.spec.id, metric.spec.name)}
    if left and left[0] in given:
        raise UsageError(
            f"the cutoff for {left[0]!r} has no effect: name the metric by its name, or give the "
            "cutoff to the metric itself, and each metric one cutoff"
        )
    if left:
        raise UsageError(
            f"a cutoff was given for {left[0]!r}, which is not among the metrics of this run: "
            f"{', '.join(metric.spec.id for metric in metrics)}"
        )

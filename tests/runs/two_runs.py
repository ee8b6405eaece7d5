"""Two run folders to compare, made with an embedder of hashes; and pairs of verdicts made up."""

from closecall import evaluate
from closecall.metrics.pooled import AnswerSimilarity
from closecall.records import Case, State
from closecall.runs.comparing.figures import figures
from closecall.runs.comparing.pairs import MetricPairs, Seen
from closecall.runs.header import MetricPlan
from closecall.testing import HashEmbedder

GOOD, BAD, UNSURE = "the sky is blue", "we open at nine", "we open at 9"
"""Responses to the reference GOOD: 100, far below the cutoff, and one that a test may move."""


def cases(responses, **more):
    return [
        {
            "id": f"c{at:03}",
            "input": f"question {at}?",
            "response": response,
            "references": [GOOD],
            **{name: value[at] for name, value in more.items()},
        }
        for at, response in enumerate(responses)
    ]


def run(folder, rows, metrics="embed_answer_similarity", embedder=None, **options):
    evaluate(rows, metrics, embedder or HashEmbedder(), aef=folder, cache=False, **options)
    return folder


PLAN = MetricPlan.of(AnswerSimilarity(), HashEmbedder().instrument)


def compared(before, after, groups=None, metric="m", **options):
    """Figures of made-up results: states, or (state, value)."""
    pairs = MetricPairs(metric, 100.0, len(before), 10)
    for at, (one, other) in enumerate(zip(before, after, strict=True)):
        pairs.first(at, _seen(one))
        group = at if groups is None else groups[at]
        pairs.second(at, group, _seen(other), Case(id=f"c{at}"), None)
    return figures(pairs, PLAN, PLAN, options.get("level", 0.95), values=True)


def _seen(given):
    state, value = given if isinstance(given, tuple) else (given, 50.0)
    return Seen(state, value if State(state).measured else None, "because")

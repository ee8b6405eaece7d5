"""Which labelled rows the bundled pair model has not learnt from, and what a pair costs there.

The model is trained on some groups of some of the very sets that are measured here
(``models/pair/sets.py`` says which). A row counts only where its question, or its group where it
has none, is not among those; whole groups go or stay. Sets that nothing was learnt from stay as
they are, but for questions that a learnt set asks too.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

from closecall import load_embedder
from closecall.metrics.base import Metric
from closecall.metrics.registry import load_metric
from closecall.stress.cost import PairCost, pair_cost

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "models"))

from pair import sets  # noqa: E402 - found where it was just looked for


@cache
def learnt(data: Path) -> frozenset[str]:
    """Return the questions and groups that were learnt from, or chosen by."""
    kept_out = sets.questions(data)
    found = {
        group
        for name in sets.LEARNT
        if (data / f"{name}.jsonl").is_file()
        for row in sets.rows_of(data, name)
        if sets.side(group := sets.group_of(row)) != "test"
        and sets.folded(row["input"]) not in kept_out
    }
    return frozenset(found)


def unseen(data: Path, cases: list) -> list:
    """Return the cases that the model has not learnt from, in order."""
    known = learnt(data)
    return [case for case in cases if _group(case) not in known]


def left_out(before: list, after: list) -> str:
    """Return how many rows are gone, in words; empty for none."""
    gone = len(before) - len(after)
    return f"; {gone} rows that the pair model learnt from are left out" if gone else ""


def cost_of(metric: str | Metric, cases: list) -> PairCost | None:
    """Time a metric of the pair model, and embedding, on some of the cases."""
    made = load_metric(metric) if isinstance(metric, str) else metric
    able = [case for case in cases if made.texts(case) == ()]
    return pair_cost(made, able, load_embedder())


def cost_words(metric: str, cost: PairCost) -> str:
    """Return a cost as one line."""
    return (
        f"`{metric}`: {cost.pairs} pairs of {cost.answers} answers in {cost.seconds:.2f} s, "
        f"{cost.pairs_per_second:.0f} pairs/s; {cost.ratio:.1f} times as long as embedding their "
        f"{cost.texts} texts"
    )


def cost_facts(cost: PairCost) -> dict:
    """Return a cost as JSON."""
    return {
        "answers": cost.answers,
        "pairs": cost.pairs,
        "seconds": cost.seconds,
        "pairsPerSecond": cost.pairs_per_second,
        "texts": cost.texts,
        "embeddingSeconds": cost.embedding_seconds,
        "ratio": cost.ratio,
    }


def _group(case) -> str:
    return sets.group_of(
        {"input": case.input, "context": list(case.context), "group": case.group or case.id}
    )

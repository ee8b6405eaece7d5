"""How good one question's ranking is. Each measure is of one question; a mean is over questions.

``recall@k``
    Relevant documents among the first k, of all that are relevant.
``precision@k``
    Relevant documents among the first k, of k, also where fewer than k were found.
``hit@k``
    1 where any of the first k is relevant, else 0: also called success.
``mrr@k``
    1 over the rank of the first relevant document, 0 where it stands below k or was not found:
    the reciprocal rank (Voorhees, The TREC-8 Question Answering Track Report, 1999).
``ndcg@k``
    ``sum of gain(grade) / log2(rank + 1)`` over the first k, of the same sum over the best
    ranking there could be (Jarvelin and Kekalainen, Cumulated Gain-Based Evaluation of IR
    Techniques, ACM TOIS 2002). The gain is the grade, as in trec_eval, or ``2**grade - 1``
    (Burges et al., Learning to Rank Using Gradient Descent, ICML 2005). Grades below 1 gain 0.
``map``
    The precision at the rank of each relevant document, 0 for one that was not found, over all
    that are relevant: the average precision (Buckley and Voorhees, Retrieval System Evaluation,
    in TREC: Experiment and Evaluation in Information Retrieval, 2005).
``rprec``
    Relevant documents among the first R, of R, where R are relevant.

All range from 0 to 1, the higher the better, and are those of trec_eval and ir-measures
(``R@k, P@k, Success@k, RR@k, nDCG@k, AP, Rprec``). A document without a grade counts as not
relevant; a relevant one that is not in the corpus counts and cannot be found. ``map`` sees as
many ranks as the ranking has.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from closecall.errors import UsageError
from closecall.retrieval.ranking import Ranking

Gains: TypeAlias = Literal["linear", "exponential"]
GAINS: tuple[Gains, ...] = get_args(Gains)

AT_K = ("recall", "precision", "hit", "mrr", "ndcg")
WHOLE = ("map", "rprec")
MOST_EXPONENT = 60
"""The highest grade of which ``2**grade - 1`` is taken."""
MOST_K = 1_000_000

_NAME = re.compile(rf"({'|'.join(AT_K)})@([0-9]{{1,7}})")


class Judged(NamedTuple):
    """What a ranking did with the graded documents of one question.

    ``ranks`` (from 1, ascending) and ``grades`` are of the documents found that have a grade
    above 0; ``ideal`` holds all grades above 0, the highest first, found or not; ``relevant`` of
    those reach ``relevant_from``.
    """

    ranks: tuple[int, ...]
    grades: tuple[int, ...]
    ideal: tuple[int, ...]
    relevant: int
    relevant_from: int

    @property
    def hits(self) -> tuple[int, ...]:
        """The ranks of the relevant documents that were found."""
        return tuple(
            rank
            for rank, grade in zip(self.ranks, self.grades, strict=True)
            if grade >= self.relevant_from
        )


def judged(
    ranking: Ranking, grades: Mapping[str, Mapping[str, int]], relevant_from: int
) -> list[Judged | None]:
    """Return what became of each question's graded documents; None where it has no ranking."""
    place = {document: at for at, document in enumerate(ranking.ids)}
    found: list[Judged | None] = []
    for row, query in enumerate(ranking.queries):
        if query in ranking.absent:
            found.append(None)
            continue
        positive = {d: grade for d, grade in grades[query].items() if grade > 0}
        at = {place[d]: grade for d, grade in positive.items() if d in place}
        rows = ranking.positions[row]
        where = np.flatnonzero(np.isin(rows, list(at))) if at else np.empty(0, dtype=np.int64)
        found.append(
            Judged(
                ranks=tuple(int(rank) + 1 for rank in where),
                grades=tuple(at[int(rows[rank])] for rank in where),
                ideal=tuple(sorted(positive.values(), reverse=True)),
                relevant=sum(grade >= relevant_from for grade in positive.values()),
                relevant_from=relevant_from,
            )
        )
    return found


def measure_names(cutoffs: Sequence[int]) -> tuple[str, ...]:
    """Return the names of all measures at these ranks, in the order of a report.

    Raises
    ------
    UsageError
        There are none, one is no whole number from 1 up, or stands there twice.
    """
    if not cutoffs:
        raise UsageError("name at least one rank to measure at, such as 10")
    for k in cutoffs:
        if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= MOST_K:
            raise UsageError(
                f"a rank to measure at is a whole number from 1 to {MOST_K:,}, got {k!r:.40}"
            )
    if len(set(cutoffs)) < len(cutoffs):
        raise UsageError(f"a rank to measure at stands there twice: {list(cutoffs)}")
    ordered = sorted(cutoffs)
    return (*(f"{name}@{k}" for name in AT_K for k in ordered), *WHOLE)


def checked_name(name: str) -> str:
    """Return the name of a measure in this module's spelling.

    >>> checked_name(" nDCG@10 "), checked_name("MAP")
    ('ndcg@10', 'map')

    Raises
    ------
    UsageError
        There is no such measure.
    """
    plain = name.strip().lower()
    found = _NAME.fullmatch(plain)
    if found is not None and int(found[2]) >= 1:
        return f"{found[1]}@{int(found[2])}"
    if plain in WHOLE:
        return plain
    raise UsageError(
        f"there is no measure {name!r}; measures: {', '.join(f'{one}@K' for one in AT_K)} "
        f"(such as ndcg@10), {', '.join(WHOLE)}"
    )


def cutoff_of(name: str) -> int:
    """Return the rank a measure looks at, 0 for one that looks at all."""
    return int(name.partition("@")[2] or 0)


def values(one: Judged, names: Iterable[str], gains: Gains = "linear") -> dict[str, float]:
    """Return the measures of one question, by name; it has a relevant document.

    >>> one = Judged(ranks=(2,), grades=(1,), ideal=(1, 1), relevant=2, relevant_from=1)
    >>> values(one, ["recall@3", "hit@1", "mrr@3", "map"])
    {'recall@3': 0.5, 'hit@1': 0.0, 'mrr@3': 0.5, 'map': 0.25}
    """
    return {name: _value(one, name, gains) for name in names}


def check_gains(gains: str, highest: int) -> None:
    """Refuse gains there are none of, and grades too high for the exponential ones."""
    if gains not in GAINS:
        raise UsageError(f"gains must be one of {', '.join(GAINS)}, got {gains!r}")
    if gains == "exponential" and highest > MOST_EXPONENT:
        raise UsageError(
            f"exponential gains take grades up to {MOST_EXPONENT}, and one here is {highest:,}: "
            "use linear gains"
        )


def _value(one: Judged, name: str, gains: Gains) -> float:
    what, k = name.partition("@")[0], cutoff_of(name)
    if what == "ndcg":
        return _ndcg(one, k, gains)
    hits = one.hits
    if what == "map":
        return math.fsum(n / rank for n, rank in enumerate(hits, start=1)) / one.relevant
    if what == "rprec":
        return sum(rank <= one.relevant for rank in hits) / one.relevant
    within = sum(rank <= k for rank in hits)
    return {
        "recall": within / one.relevant,
        "precision": within / k,
        "hit": float(within > 0),
        "mrr": 1 / hits[0] if within else 0.0,
    }[what]


def _ndcg(one: Judged, k: int, gains: Gains) -> float:
    found = math.fsum(
        _gain(grade, gains) / math.log2(rank + 1)
        for rank, grade in zip(one.ranks, one.grades, strict=True)
        if rank <= k
    )
    best = math.fsum(
        _gain(grade, gains) / math.log2(rank + 1)
        for rank, grade in enumerate(one.ideal[:k], start=1)
    )
    return found / best


def _gain(grade: int, gains: Gains) -> float:
    return float(grade) if gains == "linear" else float(2**grade - 1)

"""How far judges agree over a run, beyond what they would reach by chance.

Of two judges Cohen's kappa with quadratic weights (Cohen 1968): a 4 against a 5 is nearly agreed,
a 1 against a 5 is not. Of three and more the kappa of Fleiss (1971), which only knows equal and
unequal. The two are not to be compared with each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction

import msgspec

from closecall.errors import UsageError
from closecall.records import Measured, Measurement

COHEN = "Cohen's kappa, quadratic weights"
FLEISS = "Fleiss' kappa"
TWO = 2


class PanelAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """How far the judges of a panel agree over the cases that all of them scored.

    ``kappa`` is at most 1; 0 is what chance reaches. None where every score is the same, which
    chance would reach too. ``equal`` of the ``items`` got the same score from all. ``method``
    names the formula, ``raters`` are the judges in their order.
    """

    kappa: float | None
    method: str
    items: int
    equal: int
    raters: tuple[str, ...]


def cohen_kappa(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return Cohen's kappa with quadratic weights of two judges' scores, item by item.

    One minus the mean squared difference over the one that chance gives. None where chance
    differs nowhere, which is where all scores are equal, or where there is no item.

    Raises
    ------
    UsageError
        The two do not score the same number of items.
    """
    n = len(first)
    if n != len(second):
        raise UsageError(f"kappa needs pairs: {n} scores against {len(second)}")
    a, b = [Fraction(score) for score in first], [Fraction(score) for score in second]
    seen = n * sum((one - two) ** 2 for one, two in zip(a, b, strict=True))
    squares = n * sum(one * one for one in a) + n * sum(two * two for two in b)
    chance = squares - 2 * sum(a) * sum(b)
    return float(1 - Fraction(seen) / chance) if chance else None


def fleiss_kappa(items: Sequence[Sequence[float]]) -> float | None:
    """Return the kappa of Fleiss; ``items[i]`` are the scores of one item, one a judge.

    None where every score is the same, or where there is no item.

    Raises
    ------
    UsageError
        An item has fewer than two scores, or not as many as the others.
    """
    if not items:
        return None
    raters = len(items[0])
    if raters < TWO or any(len(scores) != raters for scores in items):
        raise UsageError("kappa needs the same number of scores for every item, at least two")
    counts = [Counter(scores) for scores in items]
    pairs = sum(n * (n - 1) for count in counts for n in count.values())
    seen = Fraction(pairs, len(items) * raters * (raters - 1))
    whole: Counter[float] = Counter()
    for count in counts:
        whole.update(count)
    all_scores = len(items) * raters
    chance = Fraction(sum(n * n for n in whole.values()), all_scores * all_scores)
    return float((seen - chance) / (1 - chance)) if chance < 1 else None


def panel_agreement(measurements: Iterable[Measurement]) -> PanelAgreement | None:
    """Return how far the judges of a run agree, from one judge metric's measurements.

    With ``samples`` the voices of one judge count one by one, as raters of their own. None where
    no measurement has more than one vote.

    Raises
    ------
    UsageError
        The measurements come from different panels.
    """
    rows: list[list[float]] = []
    raters: tuple[str, ...] = ()
    for one in measurements:
        votes = one.details.get("votes") if isinstance(one, Measured) else None
        if not votes:
            continue
        names = tuple(vote["judge"] for vote in votes)
        if raters and names != raters:
            raise UsageError("the measurements come from different panels of judges")
        raters = names
        rows.append([float(vote["score"]) for vote in votes])
    if not rows:
        return None
    two = len(raters) == TWO
    kappa = (
        cohen_kappa([row[0] for row in rows], [row[1] for row in rows])
        if two
        else fleiss_kappa(rows)
    )
    return PanelAgreement(
        kappa=kappa,
        method=COHEN if two else FLEISS,
        items=len(rows),
        equal=sum(len(set(row)) == 1 for row in rows),
        raters=raters,
    )

"""How far judges agree over a run, beyond what they would reach by chance.

Of two judges Cohen's kappa with quadratic weights (Cohen 1968): a 4 against a 5 is nearly agreed,
a 1 against a 5 is not. Of three and more the kappa of Fleiss (1971), which only knows equal and
unequal. The two are not to be compared with each other.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import msgspec

from closecall.errors import UsageError
from closecall.records import Measured, Measurement

COHEN = "Cohen's kappa, quadratic weights"
FLEISS = "Fleiss' kappa"
TWO = 2


class PanelAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """How far the judges of a panel agree over the cases that all of them scored.

    ``kappa`` is at most 1; 0 is what chance reaches. Where it is None, ``undefined`` says why.
    ``equal`` of the ``items`` got the same score from all; ``agreed`` of the ``pairs`` of votes on
    one item are equal. ``method`` names the formula, ``raters`` are the judges in their order.
    """

    kappa: float | None
    method: str
    items: int
    equal: int
    pairs: int
    agreed: int
    raters: tuple[str, ...]
    undefined: str = ""


ALL_THE_SAME = "every score is the same, and chance would reach that too"
MIXED = "the votes come from different panels of judges"


def cohen_kappa(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return Cohen's kappa with quadratic weights of two judges' scores, item by item.

    One minus the mean squared difference over the one that chance gives. None where chance
    differs nowhere, which is where all scores are equal, or where there is no item.

    Raises
    ------
    UsageError
        The two do not score the same number of items.
    """
    if len(first) != len(second):
        raise UsageError(f"kappa needs pairs: {len(first)} scores against {len(second)}")
    found = _Two()
    for scores in zip(first, second, strict=True):
        found.add(scores)
    return found.kappa()


def fleiss_kappa(items: Sequence[Sequence[float]]) -> float | None:
    """Return the kappa of Fleiss; ``items[i]`` are the scores of one item, one a judge.

    None where every score is the same, or where there is no item.

    Raises
    ------
    UsageError
        An item has fewer than two scores, or not as many as the others.
    """
    raters = len(items[0]) if items else TWO
    if raters < TWO or any(len(scores) != raters for scores in items):
        raise UsageError("kappa needs the same number of scores for every item, at least two")
    found = _Many(raters)
    for scores in items:
        found.add(scores)
    return found.kappa()


class _Two:
    """The sums that Cohen's kappa with quadratic weights is made of, exact."""

    def __init__(self) -> None:
        self.n = 0
        self.first = self.second = self.squares = self.apart = Fraction(0)

    def add(self, scores: Sequence[float]) -> None:
        one, two = map(Fraction, scores)
        self.n += 1
        self.first += one
        self.second += two
        self.squares += one * one + two * two
        self.apart += (one - two) ** 2

    def kappa(self) -> float | None:
        chance = self.n * self.squares - 2 * self.first * self.second
        return float(1 - self.n * self.apart / chance) if chance else None


class _Many:
    """The counts that the kappa of Fleiss is made of."""

    def __init__(self, raters: int) -> None:
        self.raters = raters
        self.n = self.pairs = 0
        self.whole: Counter[float] = Counter()

    def add(self, scores: Sequence[float]) -> None:
        counts = Counter(scores)
        self.n += 1
        self.pairs += sum(n * (n - 1) for n in counts.values())
        self.whole.update(counts)

    def kappa(self) -> float | None:
        if not self.n:
            return None
        seen = Fraction(self.pairs, self.n * self.raters * (self.raters - 1))
        votes = self.n * self.raters
        chance = Fraction(sum(n * n for n in self.whole.values()), votes * votes)
        return float((seen - chance) / (1 - chance)) if chance < 1 else None


class AgreementTally:
    """Adds up how far the judges of one metric agree, case by case.

    Memory holds a few sums, and of three judges and more one count a different score.
    """

    def __init__(self) -> None:
        self.mixed = False
        self._raters: tuple[str, ...] = ()
        self._sums: _Two | _Many = _Two()
        self._items = self._equal = self._pairs = self._agreed = 0

    def add(self, measurement: Measurement) -> None:
        """Count one measurement; what has fewer than two votes says nothing of agreement."""
        votes = _votes(measurement)
        if votes is None:
            return
        raters, scores = tuple(name for name, _ in votes), [score for _, score in votes]
        if not self._raters:
            self._raters = raters
            self._sums = _Two() if len(raters) == TWO else _Many(len(raters))
        elif raters != self._raters:
            self.mixed = True
            return
        self._items += 1
        self._equal += len(set(scores)) == 1
        self._pairs += len(scores) * (len(scores) - 1) // 2
        self._agreed += sum(n * (n - 1) // 2 for n in Counter(scores).values())
        self._sums.add(scores)

    def found(self) -> PanelAgreement | None:
        """Return what was counted; None where no case has more than one vote."""
        if not self._items:
            return None
        kappa = None if self.mixed else self._sums.kappa()
        undefined = MIXED if self.mixed else ALL_THE_SAME if kappa is None else ""
        return PanelAgreement(
            kappa=kappa,
            method=COHEN if len(self._raters) == TWO else FLEISS,
            items=self._items,
            equal=self._equal,
            pairs=self._pairs,
            agreed=self._agreed,
            raters=self._raters,
            undefined=undefined,
        )


def panel_agreement(measurements: Iterable[Measurement]) -> PanelAgreement | None:
    """Return how far the judges of a run agree, from one judge metric's measurements.

    With ``samples`` the voices of one judge count one by one, as raters of their own. None where
    no measurement has more than one vote.

    Raises
    ------
    UsageError
        The measurements come from different panels.
    """
    tally = AgreementTally()
    for one in measurements:
        tally.add(one)
    if tally.mixed:
        raise UsageError(MIXED)
    return tally.found()


def _votes(measurement: Measurement) -> list[tuple[str, float]] | None:
    """Return each vote's judge and score; None where there are not several that can be read."""
    votes = measurement.details.get("votes") if isinstance(measurement, Measured) else None
    if not isinstance(votes, list | tuple) or len(votes) < TWO:
        return None
    found = [_vote(vote) for vote in votes]
    return None if any(vote is None for vote in found) else [vote for vote in found if vote]


def _vote(vote: object) -> tuple[str, float] | None:
    if not isinstance(vote, Mapping):
        return None
    judge, score = vote.get("judge"), vote.get("score")
    if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
        return None
    return (judge, float(score)) if isinstance(judge, str) else None

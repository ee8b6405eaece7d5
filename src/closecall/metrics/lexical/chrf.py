"""``chrf``: which runs of one to six characters do response and reference share?

chrF (Popovic 2015) as sacreBLEU computes it, on a scale of 0 to 1: for each run length that both
texts have, precision and recall of the shared runs, white space left out; their means P and R
over the run lengths::

    chrF = (1 + beta**2) P R / (beta**2 P + R)

It needs no words, so inflections and scripts without spaces are no trouble. Two texts of one
language share many runs by chance: unrelated sentences reach 0.2.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from closecall.metrics.lexical.ngrams import char_ngrams, shared
from closecall.metrics.lexical.options import positive, switch, whole_number
from closecall.metrics.lexical.references import Compared, ReferenceMetric
from closecall.records import JSON

ORDER = 6
BETA = 2.0
MOST_ORDER = 12
MOST_BETA = 100.0


class ChrfParts(NamedTuple):
    """A chrF with its mean precision and recall, and shared runs by length."""

    score: float
    precision: float
    recall: float
    matches: tuple[int, ...]


def chrf_parts(
    reference: str, response: str, *, order: int = ORDER, beta: float = BETA
) -> ChrfParts:
    """Return the chrF of two texts, 0 to 1; O(order * characters) time.

    Runs longer than either text have no say. ``beta`` weighs recall: 1 makes the score symmetric.

    >>> round(chrf_parts("blue sky", "blue skies").score, 3)
    0.672
    """
    ours, theirs = "".join(response.split()), "".join(reference.split())
    matches: list[int] = []
    precision = recall = 0.0
    for n in range(1, order + 1):
        ours_total, theirs_total = len(ours) - n + 1, len(theirs) - n + 1
        if min(ours_total, theirs_total) < 1:
            break
        found = shared(char_ngrams(ours, n), char_ngrams(theirs, n))
        matches.append(found)
        precision += found / ours_total
        recall += found / theirs_total
    if not matches or not matches[0]:
        return ChrfParts(0.0, 0.0, 0.0, tuple(matches))
    precision, recall = precision / len(matches), recall / len(matches)
    factor = beta**2
    score = (1 + factor) * precision * recall / (factor * precision + recall)
    return ChrfParts(min(1.0, score), precision, recall, tuple(matches))


class Chrf(ReferenceMetric):
    """``chrf``: shared runs of one to six characters, 0 to 1; cutoff 0.5, not calibrated.

    With several references the best counts and is named.

    Parameters
    ----------
    order
        The longest run, 1 to 12.
    beta
        How many times as much recall counts as precision.
    lowercase
        True: upper and lower case are the same.
    cutoff
        0 to 1.
    """

    NAME = "chrf"
    DESCRIPTION = "chrF of response and best reference, 0 to 1."
    DEFAULTS: ClassVar[dict[str, JSON]] = {"order": ORDER, "beta": BETA, "lowercase": False}

    def __init__(
        self,
        cutoff: float | None = None,
        *,
        order: int | str = ORDER,
        beta: float | str = BETA,
        lowercase: bool = False,
    ) -> None:
        self.order = whole_number(self.NAME, "order", order, 1, MOST_ORDER)
        self.beta = positive(self.NAME, "beta", beta, MOST_BETA)
        self.lowercase = switch(self.NAME, "lowercase", lowercase)
        self._settle(cutoff, {"order": self.order, "beta": self.beta, "lowercase": self.lowercase})

    def _each(self, references: list[str], response: str) -> list[Compared]:
        return [self._compared(reference, response) for reference in references]

    def _compared(self, reference: str, response: str) -> Compared:
        if self.lowercase:
            reference, response = reference.lower(), response.lower()
        parts = chrf_parts(reference, response, order=self.order, beta=self.beta)
        details: dict[str, JSON] = {
            "precision": round(parts.precision, 6),
            "recall": round(parts.recall, 6),
            "matches": list(parts.matches),
            "referenceCharacters": len("".join(reference.split())),
            "responseCharacters": len("".join(response.split())),
        }
        return Compared(parts.score, details)

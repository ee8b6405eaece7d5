"""The scales judges write on: 1 to 5, true or false, severity 0 to 7.

The words for a rating, and what passes by default, are those of Microsoft.Extensions.AI.Evaluation
(4 and above pass); a severity of 0 to 3 passes. A missing value has no place here: it neither
passes nor fails.
"""

from __future__ import annotations

import math
import re

import msgspec

from closecall.metrics.base import DECIMALS, SCORE_DECIMALS
from closecall.metrics.cutoffs import PERCENT
from closecall.records import JSON

_NUMBER = re.compile(r"(\d{1,3}(?:\.\d{1,6})?)(?:\s*(?:/|out of)\s*(\d{1,3}))?", re.IGNORECASE)
_TRUTHS = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}
_AROUND = " \t\r\n*_`\"'."

RATINGS = ("Unacceptable", "Poor", "Average", "Good", "Exceptional")
"""Of numbers up to 1, 2, 3, 4 and 5, each limit included."""

LEVELS = ("very low", "low", "medium", "high")
"""Of severities from 0, 2, 4 and 6."""


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """What a judge may write, and what becomes of it.

    ``low`` and ``high`` bound what it writes. ``cutoff`` is on the scale of the metric's value,
    where higher is better: with ``reverse`` that is ``high`` minus what was written. ``whole``
    allows only the choices themselves; otherwise what lies between two is taken as well.
    """

    low: float
    high: float
    cutoff: float
    choices: tuple[JSON, ...]
    words: str
    reverse: bool = False
    whole: bool = False

    def written(self, given: object) -> float | None:
        """Return the number a judge wrote, None where it is none of this scale.

        Also reads ``"4"``, ``"4/5"`` and ``"4 out of 5"``. True is a number only where the scale
        is of true and false.
        """
        if isinstance(given, str):
            return self._spelled(given.strip(_AROUND))
        if isinstance(given, bool):
            return float(given) if self.whole else None
        if not isinstance(given, int | float) or not self.low <= given <= self.high:
            return None
        number = float(given)
        if not math.isfinite(number) or (self.whole and not number.is_integer()):
            return None
        return round(number, DECIMALS) + 0.0

    def _spelled(self, text: str) -> float | None:
        if self.whole:
            return _TRUTHS.get(text.casefold())
        match = _NUMBER.fullmatch(text)
        if match is None or (match[2] is not None and float(match[2]) != self.high):
            return None
        return self.written(float(match[1]))

    def value(self, written: float) -> float:
        """Return the metric's value: higher is better."""
        return self.high - written if self.reverse else written

    def score(self, value: float) -> float:
        """Return a value on 0 to 100; of 1 to 5 that is ``(value - 1) * 25``."""
        return round(PERCENT * (value - self.low) / (self.high - self.low), SCORE_DECIMALS)


FIVE = Scale(low=1.0, high=5.0, cutoff=4.0, choices=(1, 2, 3, 4, 5), words="1 to 5")
TRUTH = Scale(
    low=0.0, high=1.0, cutoff=1.0, choices=(True, False), words="true or false", whole=True
)
SEVERITY = Scale(
    low=0.0, high=7.0, cutoff=4.0, choices=tuple(range(8)), words="0 to 7", reverse=True
)


def rating(scale: Scale, written: float) -> dict[str, JSON]:
    """Return the words for a number a judge wrote, as details of a measurement.

    >>> rating(FIVE, 3.5), rating(TRUTH, 0.0), rating(SEVERITY, 2.0)
    ({'rating': 'Good'}, {'rating': 'Unacceptable'}, {'severity': 2.0, 'severityLevel': 'low'})
    """
    if scale.reverse:
        level = LEVELS[min(int(written) // 2, len(LEVELS) - 1)]
        return {"severity": written, "severityLevel": level}
    if scale.whole:
        words = {0.0: RATINGS[0], 1.0: RATINGS[-1]}
        return {"rating": words.get(written, "Inconclusive")}
    return {"rating": RATINGS[min(max(math.ceil(written) - 1, 0), len(RATINGS) - 1)]}

"""Watching scores as they come: an alarm once they no longer look like those of the calibration.

Each new score gets a conformal p-value against all scores before it, those of the calibration and
those of the stream. As long as all of them are exchangeable, these p-values are independent and
uniform, and nobody can get rich betting against that. The simple jumper bets (Vovk et al. 2021);
its fortune is the evidence: the probability that it ever reaches 1 / level is at most the level,
however long one watches (Ville's inequality).

The reference must grow with the stream. Against a fixed reference the p-values depend on each
other, and 100 reference scores give several times as many false alarms as promised.
"""

from __future__ import annotations

import math
import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Self

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from closecall.calibration.binomial import check_share
from closecall.calibration.drift.streams import Use, raw_stream
from closecall.calibration.inputs import round_score, round_scores
from closecall.errors import DataError, ShapeError

JUMPING = 0.01
"""The share of the fortune that is spread anew over the bets at each step."""

_BETS = (-1.0, 0.0, 1.0)
_LARGE, _SMALL = 2.0**256, 2.0**-256


class _State(msgspec.Struct, frozen=True, kw_only=True, tag="exchangeability-test/1"):
    level: float
    seed: int
    steps: int
    alarm_at: int | None
    fortunes: tuple[float, float, float]
    exponent: int
    scores: list[float]


class ExchangeabilityTest:
    """An alarm when incoming scores and those of the calibration stop looking alike.

    It sees that scores moved up or down, not why: a change in the share of good answers moves
    them as well. Scores that come in bunches, several of one question, are not exchangeable; give
    it one of each. A long quiet stream makes it slow: begin a new test now and then, each of them
    with its own level.

    Parameters
    ----------
    reference_scores
        (n,), n >= 1: scores of the calibration, in any order.
    level
        Probability of ever raising a false alarm, between 0 and 1.
    seed
        Breaks ties.

    Raises
    ------
    ShapeError
        There is no score.
    NonFiniteError
        A score is NaN or infinite.
    UsageError
        An argument is out of range.
    """

    def __init__(self, reference_scores: ArrayLike, *, level: float = 0.01, seed: int) -> None:
        check_share("level", level)
        scores = round_scores(reference_scores)
        if scores.ndim != 1 or not scores.size:
            raise ShapeError(
                f"reference scores must be (n,) with n of at least 1, got {scores.shape}"
            )
        self._level = level
        self._seed = seed
        self._stream = raw_stream(seed, Use.TIES)
        self._scores = array("d", np.sort(scores).tolist())
        self._steps = 0
        self._alarm_at: int | None = None
        # The fortune is sum(fortunes) * 2**exponent: exact scaling, so never 0 and never infinite.
        self._fortunes = (1 / 3, 1 / 3, 1 / 3)
        self._exponent = 0

    def update(self, score: float) -> bool:
        """Take the next score and return whether there is an alarm, now or before.

        O(log n) comparisons, and one block of memory moved to keep the scores sorted.

        Raises
        ------
        NonFiniteError
            The score is NaN or infinite; the test is as it was before.
        """
        # One float is rounded in a tenth of the time that an array of one takes.
        value = round_score(score) if type(score) is float else float(round_scores(score))
        self._bet(self._p_value(value))
        self._steps += 1
        if self._alarm_at is None and self.value >= 1 / self._level:
            self._alarm_at = self._steps
        return self.alarm

    def _p_value(self, score: float) -> float:
        """Return the conformal p-value of a score, and add it to those before."""
        low, high = bisect_left(self._scores, score), bisect_right(self._scores, score)
        above, tied = len(self._scores) - high, high - low + 1
        part = (int(self._stream.random_raw()) >> 11) * 2.0**-53
        self._scores.insert(high, score)
        return (above + part * tied) / len(self._scores)

    def _bet(self, p: float) -> None:
        # Plain products and sums only: the same fortune, bit for bit, on every machine.
        spread = JUMPING / 3 * sum(self._fortunes)
        low, middle, high = (
            ((1 - JUMPING) * fortune + spread) * (1 + bet * (p - 0.5))
            for fortune, bet in zip(self._fortunes, _BETS, strict=True)
        )
        total = low + middle + high
        if not _SMALL < total < _LARGE:
            _, shift = math.frexp(total)
            low, middle, high = (math.ldexp(part, -shift) for part in (low, middle, high))
            self._exponent += shift
        self._fortunes = (low, middle, high)

    @property
    def value(self) -> float:
        """The fortune, from a stake of 1; 0 and the largest float stand for what lies beyond."""
        try:
            return math.ldexp(sum(self._fortunes), self._exponent)
        except OverflowError:
            return sys.float_info.max

    @property
    def log_value(self) -> float:
        """The natural logarithm of the fortune, always finite."""
        return math.log(sum(self._fortunes)) + self._exponent * math.log(2)

    @property
    def steps(self) -> int:
        """How many scores have come."""
        return self._steps

    @property
    def alarm(self) -> bool:
        """Whether the fortune ever reached 1 / level."""
        return self._alarm_at is not None

    @property
    def alarm_at(self) -> int | None:
        """The step of the first alarm, counted from 1; None so far."""
        return self._alarm_at

    def state(self) -> dict[str, Any]:
        """Return all there is to go on from, as a JSON object; it holds every score, O(n)."""
        state = _State(
            level=self._level,
            seed=self._seed,
            steps=self._steps,
            alarm_at=self._alarm_at,
            fortunes=self._fortunes,
            exponent=self._exponent,
            scores=self._scores.tolist(),
        )
        built: dict[str, Any] = msgspec.to_builtins(state)
        return built

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Return the test that had this state; it goes on as if it had never stopped.

        Raises
        ------
        DataError
            It is not what ``state`` returns.
        """
        try:
            kept = msgspec.convert(state, _State)
        except msgspec.ValidationError as error:
            raise DataError(f"not the state of an exchangeability test: {error}") from error
        scores = kept.scores
        if not (
            0 <= kept.steps < len(scores)
            and all(map(math.isfinite, scores))
            and all(a <= b for a, b in pairwise(scores))
            and all(0 < part <= _LARGE for part in kept.fortunes)
            and (kept.alarm_at is None or 1 <= kept.alarm_at <= kept.steps)
        ):
            raise DataError("not the state of an exchangeability test: its numbers do not fit")
        test = cls(scores, level=kept.level, seed=kept.seed)
        test._steps, test._alarm_at = kept.steps, kept.alarm_at
        test._fortunes, test._exponent = kept.fortunes, kept.exponent
        test._stream.advance(kept.steps)  # one number was drawn a step
        return test

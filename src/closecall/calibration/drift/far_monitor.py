"""Watching a promise with a trickle of labels: an alarm once the false-accept rate is too high.

Each time a person labels a response as a reject, the monitor is told whether the cutoff had
accepted it. It bets against the promise, that at most ``limit`` of the rejects are accepted:
a bet of ``b`` multiplies its fortune by 1 + b (1 - limit) at a false accept and by 1 - b * limit
otherwise, which is no gain on average while the promise holds. The mean fortune over several bets
is the evidence (an e-process); the probability that it ever reaches 1 / level is at most the
level, however often one looks and whenever one stops (Ville's inequality).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any, Self

import msgspec

from closecall.calibration.binomial import check_share
from closecall.errors import DataError, UsageError

BETS = 16
LEAST_BET = 0.05
MOST_AT_RISK = 0.9
"""The largest bet loses this share of its fortune at a reject that is not accepted."""


class _State(msgspec.Struct, frozen=True, kw_only=True, tag="far-monitor/1"):
    limit: float
    level: float
    rejects: int
    false_accepts: int
    alarm_at: int | None


class FarMonitor:
    """An alarm when the false-accept rate of a cutoff in use exceeds its limit.

    The labelled rejects must be a random sample of those that come, whatever the cutoff said of
    them: labels of accepted responses alone, or picked by score, give false alarms. It keeps four
    numbers, however long it watches. Evidence against a promise long kept fades, so begin a new
    monitor now and then, each of them with its own level.

    Parameters
    ----------
    limit
        The false-accept rate that was promised, between 0 and 1.
    level
        Probability of ever raising a false alarm, between 0 and 1.

    Raises
    ------
    UsageError
        An argument is out of range.
    """

    def __init__(self, limit: float, level: float = 0.01) -> None:
        check_share("limit", limit)
        check_share("level", level)
        self._limit, self._level = limit, level
        self._factors = _factors(limit)
        self._rejects = self._false_accepts = 0
        self._alarm_at: int | None = None

    def update(self, accepted: bool) -> bool:  # noqa: FBT001 - it is the one thing there is to say
        """Take one labelled reject and return whether there is an alarm, now or before; O(1).

        Parameters
        ----------
        accepted
            Whether the cutoff accepted the response that a person rejects.

        Raises
        ------
        UsageError
            It is not True or False; a score is not a decision.
        """
        if not isinstance(accepted, bool):
            raise UsageError(
                f"accepted must be True or False, got {accepted!r}: "
                "whether the cutoff accepted this reject"
            )
        self._rejects += 1
        self._false_accepts += accepted
        if self._alarm_at is None and self.log_value >= -math.log(self._level):
            self._alarm_at = self._rejects
        return self.alarm

    @property
    def rejects(self) -> int:
        """How many labelled rejects have come."""
        return self._rejects

    @property
    def false_accepts(self) -> int:
        """How many of them the cutoff accepted."""
        return self._false_accepts

    @property
    def log_value(self) -> float:
        """The natural logarithm of the evidence, always finite."""
        n, k = self._rejects, self._false_accepts
        logs = [k * gain + (n - k) * loss for gain, loss in self._factors]
        most = max(logs)
        return most + math.log(sum(math.exp(log - most) for log in logs) / BETS)

    @property
    def value(self) -> float:
        """The evidence against the promise; 1 says nothing, and the largest float is the most."""
        log = self.log_value
        return math.exp(log) if log < math.log(sys.float_info.max) else sys.float_info.max

    @property
    def alarm(self) -> bool:
        """Whether the evidence ever reached 1 / level."""
        return self._alarm_at is not None

    @property
    def alarm_at(self) -> int | None:
        """The labelled reject of the first alarm, counted from 1; None so far."""
        return self._alarm_at

    def state(self) -> dict[str, Any]:
        """Return all there is to go on from, as a JSON object."""
        state = _State(
            limit=self._limit,
            level=self._level,
            rejects=self._rejects,
            false_accepts=self._false_accepts,
            alarm_at=self._alarm_at,
        )
        built: dict[str, Any] = msgspec.to_builtins(state)
        return built

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Return the monitor that had this state; it goes on as if it had never stopped.

        Raises
        ------
        DataError
            It is not what ``state`` returns.
        """
        try:
            kept = msgspec.convert(state, _State)
        except msgspec.ValidationError as error:
            raise DataError(f"not the state of a false-accept monitor: {error}") from error
        if not (
            0 <= kept.false_accepts <= kept.rejects
            and (kept.alarm_at is None or 1 <= kept.alarm_at <= kept.rejects)
        ):
            raise DataError("not the state of a false-accept monitor: its counts do not fit")
        monitor = cls(kept.limit, kept.level)
        monitor._rejects, monitor._false_accepts = kept.rejects, kept.false_accepts
        monitor._alarm_at = kept.alarm_at
        return monitor


def _factors(limit: float) -> tuple[tuple[float, float], ...]:
    """Return the logarithms of what each bet gains and loses; each is so many times the last."""
    most = MOST_AT_RISK / limit
    bets = [LEAST_BET * (most / LEAST_BET) ** (at / (BETS - 1)) for at in range(BETS)]
    return tuple((math.log1p(bet * (1 - limit)), math.log1p(-bet * limit)) for bet in bets)

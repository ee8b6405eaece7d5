"""What several runs say of all cases by one metric: how many pass, and how often they agree.

Counted as the cases come, so that memory holds the counts and the first flaky cases only.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from closecall.calibration.binomial import observed_rate
from closecall.calibration.records import Rate
from closecall.records import State
from closecall.subjects.repeats import Repeated, passes_needed

MOST_FLAKY = 100
"""Flaky cases kept by name, the first in the file's order."""


class Flaky(msgspec.Struct, frozen=True, kw_only=True):
    """A case that passed in some runs and failed in others; ``share`` is of those decided."""

    id: str
    share: Rate


class SharedBy(msgspec.Struct, frozen=True, kw_only=True):
    """How many cases passed in ``share.count`` of their ``share.n`` decided runs."""

    share: Rate
    cases: int


class Repeats(msgspec.Struct, frozen=True, kw_only=True):
    """All cases by one metric over several runs.

    A case passes in at least ``needed`` of ``runs`` runs. ``cases`` were repeated; ``once`` had
    their response already, and were measured once. ``cases_passed`` counts the repeated ones by
    their state over all runs, ``by_run`` has the passes among the decided cases of each run; None
    where nothing was decided. ``shares`` counts the cases by their share of passes, the highest
    first, without those decided in no run. ``agreeing`` of ``pairs`` pairs of measured runs say
    the same of a case. ``flaky`` names the first of ``flaky_cases``.
    """

    metric: str
    runs: int
    threshold: float
    needed: int
    cases: int
    once: int
    cases_passed: Rate | None
    by_run: tuple[Rate | None, ...]
    shares: tuple[SharedBy, ...]
    agreeing: int
    pairs: int
    flaky_cases: int
    flaky: tuple[Flaky, ...]

    @property
    def agreement(self) -> float | None:
        """The share of pairs of runs that agree, 0 to 1; None where there is no pair."""
        return self.agreeing / self.pairs if self.pairs else None


class RepeatsTally:
    """Adds up the repeated cases of one metric as they come."""

    def __init__(self, metric: str, runs: int, threshold: float) -> None:
        self.metric, self.runs, self.threshold = metric, runs, threshold
        self.cases = self.once = self.agreeing = self.pairs = self.flaky_cases = 0
        self._passed = [0] * runs
        self._decided = [0] * runs
        self._outcomes: dict[State, int] = {}
        self._shares: dict[tuple[int, int], int] = {}
        self._flaky: list[Flaky] = []

    def add(self, states: Sequence[State], found: Repeated) -> None:
        """Count one case: its state in each run, and what ``repeated`` makes of them."""
        self.cases += 1
        self.agreeing += found.agreeing
        self.pairs += found.pairs
        self._outcomes[found.state] = self._outcomes.get(found.state, 0) + 1
        for at, state in enumerate(states):
            self._passed[at] += state is State.PASSED
            self._decided[at] += state in _DECIDED
        if found.share is None:
            return
        key = (found.share.count, found.share.n)
        self._shares[key] = self._shares.get(key, 0) + 1
        if found.flaky:
            self.flaky_cases += 1
            if len(self._flaky) < MOST_FLAKY:
                self._flaky.append(Flaky(id=found.id, share=found.share))

    def add_once(self) -> None:
        """Count a case that was measured once."""
        self.once += 1

    def repeats(self) -> Repeats:
        """Return what was counted so far."""
        passed, failed = (self._outcomes.get(state, 0) for state in (State.PASSED, State.FAILED))
        shares = sorted(self._shares.items(), key=_highest_first)
        return Repeats(
            metric=self.metric,
            runs=self.runs,
            threshold=self.threshold,
            needed=passes_needed(self.runs, self.threshold),
            cases=self.cases,
            once=self.once,
            cases_passed=observed_rate(passed, passed + failed),
            by_run=tuple(map(observed_rate, self._passed, self._decided)),
            shares=tuple(
                SharedBy(share=rate, cases=cases)
                for (count, n), cases in shares
                if (rate := observed_rate(count, n)) is not None
            ),
            agreeing=self.agreeing,
            pairs=self.pairs,
            flaky_cases=self.flaky_cases,
            flaky=tuple(self._flaky),
        )


_DECIDED = frozenset({State.PASSED, State.FAILED})


def _highest_first(counted: tuple[tuple[int, int], int]) -> tuple[float, int]:
    (count, n), _ = counted
    return -count / n, -n

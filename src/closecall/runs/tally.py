"""Adding up one metric over the results of a run, exactly.

Sums are the exact sum of the doubles, rounded once; a mean is that sum divided once by the
integer count. So the figures do not depend on the order of the lines, and anyone can recompute
them to the last bit.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from closecall.errors import UsageError
from closecall.records import State
from closecall.runs.values import MAX_PATH, require_plain

KINDS = ("score", "rate", "count", "duration", "cost", "verdict")
FROM_STATE = frozenset({"rate", "verdict"})
"""Kinds whose value on a line is 1 for passed and 0 for another verdict; scores do not count."""
PENDING = "pending"

_DECIDED = (State.PASSED, State.FAILED, State.WARN, State.INCONCLUSIVE)
_STATES = frozenset({*(s.value for s in State), PENDING})
_MEASURED = frozenset(s.value for s in State if s.measured)


def exact_sum(values: Sequence[float]) -> float | None:
    """Return the exact sum, rounded once to a double; None when it is beyond a double.

    Raises
    ------
    UsageError
        A value is NaN or infinite.
    """
    try:
        total = math.fsum(values)
    except (OverflowError, ValueError):
        total = math.inf
    if math.isfinite(total):
        return total
    if not all(map(math.isfinite, values)):
        raise UsageError("only finite numbers can be added up")
    # fsum gives up when a running sum overflows, though the whole may still be a double.
    try:
        return float(sum(map(Fraction, values), Fraction(0)))
    except OverflowError:
        return None


def summary_entry(
    metric: str,
    kind: str,
    path: str,
    states: Mapping[str, int],
    values: Sequence[float] = (),
) -> dict[str, Any]:
    """Return one entry of summary.json.

    Parameters
    ----------
    metric, kind, path
        The declared metric, its kind, and the path whose lines are counted.
    states
        How many lines of that path are in each state.
    values
        The lines' scores for the metric; must be empty for the kinds ``rate`` and ``verdict``,
        which count states.

    Returns
    -------
    dict
        ``N`` asked (without ``not_applicable``), ``n`` measured, ``notMeasured``, ``sum``,
        ``sumSq``, ``value`` (the mean; of a ``count`` the sum), ``verdict``: ``scored``. With
        n = 0, or a sum beyond a double, ``value`` is None and ``verdict`` ``not_measured``.

    Raises
    ------
    UsageError
        An unknown kind or state; more values than measured lines; a value not finite.
    """
    require_plain(path, "path", MAX_PATH)
    asked, numbers = _counted(kind, states, values)
    n, total = len(numbers), exact_sum(numbers)
    entry: dict[str, Any] = {"metric": metric, "path": path, "N": asked, "n": n}
    entry["notMeasured"] = asked - n
    value: float | None = None
    if total is not None:
        entry["sum"] = total
        own = array("d", (v * v for v in numbers)) if _squares_fit(numbers) else None
        squares = None if own is None else exact_sum(own)
        if squares is not None:
            entry["sumSq"] = squares
        if n:
            value = total if kind == "count" else total / n
    entry["value"] = value
    entry["verdict"] = "not_measured" if value is None else "scored"
    return entry


def _squares_fit(numbers: Sequence[float]) -> bool:
    largest = max(map(abs, numbers), default=0.0)
    return math.isfinite(largest * largest)


def _counted(
    kind: str, states: Mapping[str, int], values: Sequence[float]
) -> tuple[int, Sequence[float]]:
    """Return how many lines were asked for, and the number of each that counts."""
    if kind not in KINDS:
        raise UsageError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    unknown = sorted(set(map(str, states)) - _STATES)
    if unknown:
        raise UsageError(f"no such state: {unknown[0]!r}")
    asked = sum(count for state, count in states.items() if state != State.NOT_APPLICABLE)
    if kind in FROM_STATE:
        if len(values):
            raise UsageError(f"a {kind} counts states; it takes no values")
        passed = states.get(State.PASSED, 0)
        others = sum(states.get(state, 0) for state in _DECIDED) - passed
        return asked, array("d", [1.0]) * passed + array("d", [0.0]) * others
    if len(values) > sum(count for state, count in states.items() if state in _MEASURED):
        raise UsageError(f"{len(values)} values, but fewer lines are measured")
    return asked, values


class Tally:
    """The running count of one metric on one path: give it lines, ask for the entry.

    Holds 8 bytes a measured line. Lines of other paths, and single trials, are passed over.
    """

    def __init__(self, metric: str, kind: str, path: str) -> None:
        self.metric, self.kind, self.path = metric, kind, path
        self.states: Counter[str] = Counter()
        self.values = array("d")

    def add(self, line: Mapping[str, Any]) -> None:
        """Count one line of results.ndjson."""
        if line["path"] != self.path or "trial" in line:
            return
        state = str(line["state"])
        self.states[state] += 1
        if self.kind not in FROM_STATE and state in _MEASURED:
            found = [s["value"] for s in line.get("scores", ()) if s["metric"] == self.metric]
            if len(found) == 1:
                self.values.append(found[0])

    def entry(self) -> dict[str, Any]:
        """Return the summary entry of the lines so far."""
        return summary_entry(self.metric, self.kind, self.path, self.states, self.values)

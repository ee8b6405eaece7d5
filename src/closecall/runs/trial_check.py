"""Whether the lines of repeated cases and those over all their runs say the same.

Recomputed from the lines, in whatever order they come: at every path that has runs, one line over
all of them, with their number, how many passed, and whether all are in one state.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from closecall.records import State
from closecall.runs.case_order import TRIAL
from closecall.runs.wire import Document

TRIALS = "trials"


class _Runs:
    """The runs of one case at one path."""

    __slots__ = ("lines", "passed", "said", "state", "unlike")

    def __init__(self) -> None:
        self.lines = self.passed = 0
        self.state: str | None = None
        self.unlike = False
        self.said: tuple[str, Any] | None = None


class TrialCheck:
    """Feed it every line, then ask for the problems. Holds about 200 bytes a repeated result."""

    def __init__(self) -> None:
        self._runs: dict[tuple[str, str], _Runs] = {}

    def add(self, place: str, line: Document) -> Iterator[str]:
        """Count a line of results.ndjson; yield what is wrong with it by itself."""
        if TRIAL not in line and TRIALS not in line:
            return
        if TRIAL in line and TRIALS in line:
            yield f"{place}: is of one run and over all of them at once"
            return
        runs = self._runs.setdefault((line["caseId"], line["path"]), _Runs())
        if TRIALS in line:
            runs.said = (place, line[TRIALS])
            return
        state = line["state"]
        runs.lines += 1
        runs.passed += state == State.PASSED
        runs.unlike = runs.unlike or (runs.state is not None and runs.state != state)
        runs.state = state

    def compare(self) -> Iterator[str]:
        """Yield where the lines over all runs are missing, or say otherwise than the runs."""
        for (case, path), runs in self._runs.items():
            if runs.said is None:
                yield f"case {case!r} at {path!r}: {runs.lines} runs, and no line over all of them"
                continue
            place, said = runs.said
            if not isinstance(said, dict):
                yield f"{place}: {TRIALS} must be an object"
                continue
            expected = {"n": runs.lines, "passed": runs.passed, "agree": not runs.unlike}
            for name, value in expected.items():
                if said.get(name) != value:
                    yield (f"{place}: {TRIALS}.{name} should be {value!r}, is {said.get(name)!r}")

"""Unsure answers beside the nearest labelled ones: what people accepted, what they rejected."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from closecall.records import Measured, State
from closecall.report.words import shorten
from closecall.runs.nearest import NEAREST_LABELLED
from closecall.runs.results import CaseResult

_TEXT = 90
_ID = 40
_WORDS = {"accept": "accepted", "reject": "rejected"}


class UnsureLines:
    """Keeps the first ``most`` unsure answers that come by with what is nearest among labels."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._found: list[tuple[CaseResult, list[dict[str, Any]]]] = []

    def look(self, row: CaseResult) -> None:
        """Keep a case if it is one of them."""
        if len(self._found) < self._most:
            found = nearest_of(row)
            if found:
                self._found.append((row, found))

    def lines(self, unsure: int) -> Iterator[str]:
        """Yield what was kept; the last line says how many ``unsure`` cases there are, if more.

        Nothing where a run has none, or was given no labels.
        """
        for row, found in self._found:
            response = row.case.response or ""
            said = f': "{shorten(response, _TEXT)}"' if response.strip() else ""
            yield f"{shorten(row.case.id, _ID)} (unsure){said}"
            yield from (f"  {_told(entry)}" for entry in found)
        shown = len(self._found)
        rest = unsure - shown
        if shown and rest > 0:
            yield f"{shown:,} of {shown + rest:,} unsure cases; the JSON report has all of them"


def nearest_of(row: CaseResult) -> list[dict[str, Any]]:
    """Return what stands beside a case, as its details hold it; empty where nothing does."""
    for result in row.results:
        if result.state is State.INCONCLUSIVE and isinstance(result.measurement, Measured):
            found = result.measurement.details.get(NEAREST_LABELLED)
            if isinstance(found, list):
                return [entry for entry in found if isinstance(entry, dict)]
    return []


def _told(entry: dict[str, Any]) -> str:
    word = _WORDS.get(str(entry.get("label")), "labelled")
    same = ", same question" if entry.get("sameQuestion") else ""
    response = entry.get("response")
    said = f': "{shorten(response, _TEXT)}"' if isinstance(response, str) else ""
    similarity = entry.get("similarity")
    number = f"{similarity:.3f}" if isinstance(similarity, int | float) else "-"
    return f"{word} {number} {shorten(str(entry.get('id', '')), _ID)}{same}{said}"

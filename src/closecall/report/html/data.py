"""The data of the page: one record a case, packed in blocks that are unpacked when looked at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from closecall.records import JSON, Case, Measured
from closecall.report.html.escaping import compact_json, packed_text
from closecall.runs.kept_metadata import keep_metadata
from closecall.runs.results import CaseResult, MetricResult

CHUNK_CASES = 200
"""Cases of a block at most."""

CHUNK_CHARACTERS = 2_000_000
"""A block is closed once its cases have so many characters."""


def case_json(row: CaseResult) -> dict[str, Any]:
    """Return all that the page shows of one case; members without a value are left out.

    Of the metadata that is what a run folder keeps, so that a report is the same from memory and
    from the folder.
    """
    return _filled(
        {
            **_texts(row.case),
            "state": row.state.value,
            "score": row.score,
            "results": [_result(result) for result in row.results],
            "trials": [_trial(trial) for trial in row.trials],
            "answered": [msgspec.to_builtins(one) for one in row.answered],
        }
    )


def _texts(case: Case) -> dict[str, Any]:
    return {
        "id": case.id,
        "label": case.label,
        "group": case.group,
        "tags": list(case.tags),
        "place": case.place,
        "metadata": keep_metadata(case.metadata).kept,
        "input": case.input,
        "response": case.response,
        "references": list(case.references),
        "context": list(case.context),
    }


def _trial(trial: CaseResult) -> dict[str, Any]:
    return _filled(
        {
            "response": trial.case.response,
            "state": trial.state.value,
            "score": trial.score,
            "results": [_result(result) for result in trial.results],
        }
    )


def _result(result: MetricResult) -> dict[str, Any]:
    found = result.measurement
    told: dict[str, Any] = {
        "state": result.state.value,
        "cutoff": result.cutoff,
        "reason": result.reason,
        "borderline": result.borderline or None,
        "held": list(result.held),
    }
    if isinstance(found, Measured):
        told |= {
            "value": found.value,
            "score": found.score,
            "similarity": found.similarity,
            "details": found.details,
            "tokens": msgspec.to_builtins(found.tokens),
        }
    return _filled(told)


def _filled(members: dict[str, Any]) -> dict[str, Any]:
    empty: tuple[JSON, ...] = (None, "", [], {})
    return {name: value for name, value in members.items() if value not in empty}


class Chunks:
    """Packs cases, one after another, into blocks.

    ``starts`` holds the place in the file of each block's first case.
    """

    def __init__(self) -> None:
        self.starts: list[int] = []
        self._open: list[str] = []
        self._characters = 0
        self._count = 0

    def add(self, row: CaseResult) -> Iterator[str]:
        """Add the next case; yields a block whenever one is full."""
        if not self._open:
            self.starts.append(self._count)
        document = compact_json(case_json(row))
        self._open.append(document)
        self._count += 1
        self._characters += len(document)
        if len(self._open) >= CHUNK_CASES or self._characters >= CHUNK_CHARACTERS:
            yield from self.finish()

    def finish(self) -> Iterator[str]:
        """Yield the block that is not full, if there is one."""
        if self._open:
            yield packed_text(f"[{','.join(self._open)}]")
        self._open, self._characters = [], 0

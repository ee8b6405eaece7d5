"""Which cases of a batch a budget cut, so that they are asked again and not written as failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from closecall.embedders.metering import BUDGET_REACHED
from closecall.records import Unmeasured
from closecall.runs.results import CaseResult

ASKED_CASES = 8
"""Cases a batch holds under a budget: what is asked side by side, and no more is lost by a cut."""


def whole_rows(
    rows: Sequence[CaseResult], missing: Mapping[str, Unmeasured]
) -> Sequence[CaseResult]:
    """Return the cases before the first that a budget cut, after something was not let through.

    Where none of them shows it, whoever hid it might have made a number of it: then none is kept,
    unless it was an answer to a later case, of which ``missing`` tells.
    """
    for at, row in enumerate(rows):
        if any(map(_is_cut, _results(row))):
            return rows[:at]
    if any(BUDGET_REACHED in absent.reason for absent in missing.values()):
        return rows
    return ()


def _results(row: CaseResult) -> Iterable[object]:
    for one in (row, *row.trials):
        for result in one.results:
            yield result.measurement


def _is_cut(measurement: object) -> bool:
    return isinstance(measurement, Unmeasured) and BUDGET_REACHED in measurement.reason

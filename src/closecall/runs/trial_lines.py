"""A decided case as its lines in results.ndjson, and such lines as a case again.

A case that was answered several times has a line a metric for each run, with ``trial``, and one
over all runs, with ``trials``; see ``case_order``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from closecall.records import Case, State
from closecall.runs.case_order import TRIAL, Order
from closecall.runs.case_tokens import USAGE
from closecall.runs.header import RunHeader
from closecall.runs.lines import EXT, case_result, to_line
from closecall.runs.results import CaseResult, CaseTokens

AT_LEAST, MEAN = "AtLeast", "Mean"
"""How the runs of a metric with a cutoff, and of one without, come to one state."""


NOT_A_ROW = (
    ArithmeticError,
    AttributeError,
    LookupError,
    StopIteration,
    TypeError,
    ValueError,
    msgspec.ValidationError,
)
"""What reading lines ends in that are not those of one case: anyone may have written them."""


def order_of(header: RunHeader) -> Order:
    """Return in which order the lines of a case of this run stand."""
    return Order(tuple(plan.id for plan in header.metrics), header.runs)


def row_lines(header: RunHeader, row: CaseResult) -> Iterator[dict[str, Any]]:
    """Yield the lines of a case, in their order."""
    every = [_lines(header, trial, trial=number) for number, trial in enumerate(row.trials)]
    found = [line for lines in (*every, _lines(header, row)) for line in lines]
    if row.answered:
        ext = found[0].setdefault("ext", {})
        ext[EXT] = {**ext.get(EXT, {}), USAGE: msgspec.to_builtins(row.answered)}
    yield from found


def _lines(
    header: RunHeader, row: CaseResult, trial: int | None = None
) -> Iterator[dict[str, Any]]:
    share = _share(row)
    for at, (plan, result) in enumerate(zip(header.metrics, row.results, strict=True)):
        trials = None
        if row.trials:
            states = [one.results[at].state for one in row.trials]
            trials = trials_member(states, AT_LEAST if plan.cutoff is not None else MEAN)
        yield to_line(header, plan, row.case, result, share, trial=trial, trials=trials)


def trials_member(states: Sequence[State | str], aggregation: str) -> dict[str, Any]:
    """Return what the line over all runs says of them."""
    return {
        "n": len(states),
        "passed": sum(state == State.PASSED for state in states),
        "aggregation": aggregation,
        "agree": len(set(states)) == 1,
    }


def _share(row: CaseResult) -> float | None:
    """Return the time of each result, where it is not known result by result."""
    if row.cascade or row.duration_ms is None:
        return None
    return round(row.duration_ms / len(row.results), 3)


def row_of(
    header: RunHeader,
    case: Case,
    lines: list[dict[str, Any]],
    responses: Sequence[str | None] = (),
) -> CaseResult:
    """Return the case that these lines are of, in their order.

    Parameters
    ----------
    header
        Of the run.
    case
        As far as its texts are known.
    lines
        All of the case, as ``order_of`` says.
    responses
        Of each run; empty where they were not kept, and then no run has one.
    """
    found = _row(header, case, lines, responses)
    usage = lines[0].get("ext", {}).get(EXT, {}).get(USAGE, [])
    answered = msgspec.convert(usage, tuple[CaseTokens, ...])
    return msgspec.structs.replace(found, answered=answered) if answered else found


def _row(
    header: RunHeader, case: Case, lines: list[dict[str, Any]], responses: Sequence[str | None]
) -> CaseResult:
    order = order_of(header)
    if not order.is_repeated(lines[0]):
        return case_result(header, case, lines)
    size = len(order.paths)
    given = list(responses) or [case.response] + [None] * (header.runs - 1)
    if len(given) != header.runs:
        raise ValueError(f"{header.runs} runs, and {len(given)} responses")
    trials = []
    for number in range(header.runs):
        own = lines[number * size : (number + 1) * size]
        if any(line.get(TRIAL) != number for line in own):
            raise ValueError(f"these are not the lines of run {number}")
        said = msgspec.structs.replace(case, response=given[number])
        trials.append(case_result(header, said, own))
    whole = case_result(header, case, lines[header.runs * size :])
    return msgspec.structs.replace(whole, trials=tuple(trials))

"""Whether a run folder can hold what a run will write, found out before the work.

The format bounds the lines of a file and its bytes, and a run that meets a bound on its way could
never be closed. A line's length is that of a case with large numbers; a metric that keeps more in
its details, or gives long reasons a million times, may still meet the bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from closecall.errors import UsageError
from closecall.metrics.base import Metric
from closecall.records import Case, Measured, Tokens
from closecall.runs.caselines import case_line, dump_case, without_texts
from closecall.runs.folder import TEXT_BUDGET
from closecall.runs.header import MetricPlan, RunHeader
from closecall.runs.lines import to_line
from closecall.runs.results import decide
from closecall.runs.values import MAX_CASE_ID, case_id
from closecall.runs.wire import MAX_FILE, MAX_LINES, dump_line

_WIDEST_ID = 4 * MAX_CASE_ID
_BARE_LINE = 200
"""Bytes of a case listed without its texts, apart from its id."""
_MANY = 9_999_999
_LARGE = Measured(
    similarity=-0.123456,
    value=-0.123456,
    score=12.3456,
    details={
        "cosineSimilarity": -0.123456,
        "interpretation": "Needs Improvement",
        "groundTruthLength": _MANY,
        "outputLength": _MANY,
        "references": _MANY,
        "bestReference": _MANY,
    },
    tokens={name: Tokens(_MANY, _MANY, _MANY, _MANY, _MANY) for name in ("reference", "response")},
)
_SMALLER = (
    "Write the run in parts instead, which have no such limit: --parts DIR (in Python: "
    "aef=PartsFolder(DIR)); or use fewer metrics or shorter ids, or write no run folder: --no-aef "
    "(in Python: aef=None)"
)


def require_room(header: RunHeader, metrics: Sequence[Metric], cases: Iterable[Case]) -> None:
    """Refuse a run that its folder could not hold at its end.

    ``cases`` is only read where ids of the greatest length would not fit: about 400,000 results
    or 200,000 cases.

    Raises
    ------
    UsageError
        Too many results, or too many bytes of them; or a metric's id is none the format allows.
    """
    rows = header.cases
    what, count = require_lines(header)
    times = count // len(metrics)
    pairs = zip(header.metrics, metrics, strict=True)
    own = times * sum(_line_bytes(header, *pair) for pair in pairs)
    spare = MAX_FILE - TEXT_BUDGET
    if rows * (own + count * _WIDEST_ID) <= MAX_FILE and rows * (_BARE_LINE + _WIDEST_ID) <= spare:
        return
    ids = sum(_id_bytes(case) for case in cases)
    results = rows * own + count * ids
    if results > MAX_FILE:
        raise UsageError(
            f"{what} are about {results:,} bytes of results; a run folder holds at most "
            f"{MAX_FILE:,}. {_SMALLER}"
        )
    # Cases past the budget of texts are listed without theirs, which also takes room.
    if rows * _BARE_LINE + ids > spare and _texts_bytes(header, cases) > TEXT_BUDGET:
        raise UsageError(
            f"the ids and texts of {rows:,} cases are more than the {MAX_FILE:,} bytes that a "
            f"run folder holds of them. {_SMALLER}"
        )


def require_lines(header: RunHeader) -> tuple[str, int]:
    """Refuse a run of more results than a run folder holds.

    Returns the run in words, and the results of a case.
    """
    rows, count = header.cases, len(header.metrics)
    what = f"{rows:,} cases with {count} metric{'s' if count > 1 else ''}"
    # A repeated case has the results of each run, and those over all of them.
    times = 1 if header.runs == 1 else header.runs + 1
    if times > 1:
        what += f" in {header.runs} runs each"
    count *= times
    if rows * count > MAX_LINES:
        raise UsageError(
            f"{what} are {rows * count:,} results; a run folder holds at most {MAX_LINES:,}. "
            f"{_SMALLER}"
        )
    return what, count


def _line_bytes(header: RunHeader, plan: MetricPlan, metric: Metric) -> int:
    """Return the bytes of a long line of this metric, apart from the case's id."""
    used = plan.calibration
    values = [_LARGE]
    if used is not None:
        # A value between two cutoffs takes the longest sentence.
        least = used.accept if used.reject is None else used.reject
        values.append(msgspec.structs.replace(_LARGE, value=least))
    lines = (
        to_line(header, plan, Case(id="1"), decide(metric, value, used), float(_MANY))
        for value in values
    )
    return max(len(dump_line(line)) for line in lines)


def _id_bytes(case: Case) -> int:
    return len(dump_line({"caseId": case_id(case.id)}))


def _texts_bytes(header: RunHeader, cases: Iterable[Case]) -> int:
    lines = map(case_line, cases)
    return sum(len(dump_case(line if header.content else without_texts(line))) for line in lines)

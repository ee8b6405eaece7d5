"""The section of two runs: whether the second is worse, and the cases that moved most.

Figures and words are those of ``closecall compare``; nothing is worked out anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from closecall.errors import NotComparableError
from closecall.report.charts.chart import Chart
from closecall.report.charts.movers import Moved, movers
from closecall.report.charts.svg import svg
from closecall.report.compared_runs.overview import HEADS, NUMERIC, Section
from closecall.report.compared_runs.overview import page as compared_page
from closecall.report.html.worst_first import ORDER
from closecall.runs.claim import quoted
from closecall.runs.comparing.compare import NAMED, compare_runs
from closecall.runs.comparing.records import (
    ALIKE,
    BETTER,
    CANNOT_TELL,
    NOT_DECIDED,
    WORSE,
    MetricCompared,
    RunComparison,
)
from closecall.runs.summary import EXIT_FAILED, EXIT_PASSED

if TYPE_CHECKING:
    from closecall.report.html.page import Page


BADGES = {
    WORSE: "failed",
    BETTER: "passed",
    ALIKE: "passed",
    CANNOT_TELL: "inconclusive",
    NOT_DECIDED: "not_measured",
}
"""Outcome to the state whose badge it wears."""

_TONES = {EXIT_PASSED: "good", EXIT_FAILED: "bad"}
_BEST_FIRST = tuple(state.value for state in reversed(ORDER))
_AXIS, _ADVICE = "  ", "    "


class Apart(NamedTuple):
    """One thing that keeps two runs from being compared, and what to do about it."""

    what: str
    advice: str


class Verdicts(NamedTuple):
    """How verdicts of A became verdicts of B: ``cells`` has a row of counts for each of A's."""

    heads: tuple[str, ...]
    cells: tuple[tuple[str, tuple[str, ...]], ...]


class Shown(NamedTuple):
    """One metric."""

    section: Section
    badge: str
    row: tuple[str, ...]
    chart: Any
    verdicts: Verdicts | None


def context(page: Page) -> dict[str, Any] | None:
    """Return the comparison of two runs, or what keeps them apart; None of a single run."""
    if page.compared is None:
        return None
    a, b = page.compared
    said = {
        "names": [f"{letter}: {run.header.name}" for letter, run in (("A", a), ("B", b))],
        "data": {"linked": b is page.run},
        "apart": [],
        "unread": "",
    }
    if a.folder is None or b.folder is None:
        return said | {
            "unread": "Two runs are compared from their folders, and these were not both kept in "
            "one; closecall eval --aef FOLDER keeps a run."
        }
    try:
        found = compare_runs(a.folder, b.folder, named=NAMED)
    except NotComparableError as error:
        return said | {
            "apart": list(_apart(str(error))),
            "command": f"closecall compare {quoted(a.folder)} {quoted(b.folder)}",
        }
    return said | _compared(found)


def _apart(message: str) -> Iterator[Apart]:
    """Yield each axis of the error's message, which has it on a line above its advice."""
    what: list[str] = []
    for line in message.splitlines()[1:]:
        if line.startswith(_ADVICE):
            yield Apart("\n".join(what), line.strip())
            what = []
        else:
            what.append(line.removeprefix(_AXIS))
    if what:
        yield Apart("\n".join(what), "")


def _compared(found: RunComparison) -> dict[str, Any]:
    seen = compared_page(found)
    return {
        "seen": seen,
        "heads": HEADS,
        "numeric": NUMERIC,
        "tone": _TONES.get(found.exit_code, "warn"),
        "metrics": [
            Shown(
                section=section,
                badge=BADGES[one.outcome],
                row=row,
                chart=_chart(one, f"compare-movers-{at}"),
                verdicts=_verdicts(one),
            )
            for at, (one, section, row) in enumerate(
                zip(found.metrics, seen.sections, seen.rows, strict=True)
            )
        ],
    }


def _chart(one: MetricCompared, name: str) -> Any:
    """Return the cases whose value moved most; None where none did."""
    from markupsafe import Markup

    moved = [
        Moved(case.id, case.value_a, case.value_b)
        for case in (*one.fell, *one.rose)
        if case.value_a is not None and case.value_b is not None
    ]
    drawn = movers(moved, of_n=one.measured, score="value", of=one.metric, most=NAMED)
    if not isinstance(drawn, Chart):
        return None
    # So many are named that fell, and that rose: the largest of all changes are among them.
    shown = min(len(moved), NAMED)
    note = (
        f"the {shown:,} largest of {one.moved:,} changes beyond rounding; n = {one.measured:,} "
        "cases measured in both"
    )
    return Markup(svg(drawn._replace(notes=(note,)), name))  # noqa: S704 - the charts escape every text


def _verdicts(one: MetricCompared) -> Verdicts | None:
    """Return the counts of verdicts, A's down and B's across; None where there are no two."""
    if not one.verdict_flips:
        return None
    after = [name for name in _BEST_FIRST if any(name in row for row in one.verdicts.values())]
    return Verdicts(
        tuple(map(_word, after)),
        tuple(
            (_word(name), tuple(f"{one.verdicts[name].get(to, 0):,}" for to in after))
            for name in _BEST_FIRST
            if name in one.verdicts
        ),
    )


def _word(state: str) -> str:
    return "unsure" if state == "inconclusive" else state.replace("_", " ")

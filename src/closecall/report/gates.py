"""What became of each gate, for the terminal, Markdown, JSON and JUnit.

Every surface shows the value, its interval, its margin, and measured beside asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from closecall.report.words import plural
from closecall.runs.gate_results import GateResult, GateState
from closecall.runs.gate_rule import compares, spelt
from closecall.runs.record import Run

STATE_WORDS = {
    GateState.PASSED: "passed",
    GateState.FAILED: "FAILED",
    GateState.INCONCLUSIVE: "cannot tell",
    GateState.NOT_MEASURED: "not measured",
}

HEADINGS = ("gate", "", "value", "limit", "margin", "95% interval", "measured / asked", "")
"""Of a table of gates; ``gate_rows`` has its cells. The last column says why."""

_FEWEST, _MOST = 4, 12
"""Decimals shown: more only where fewer would hide on which side of the limit a value lies."""

_OUTCOMES = {
    GateState.PASSED: None,
    GateState.FAILED: "failure",
    GateState.INCONCLUSIVE: "skipped",
    GateState.NOT_MEASURED: "error",
}


class GateTest(NamedTuple):
    """A gate as a test case: ``outcome`` is the element it has within, None where it passed."""

    name: str
    outcome: str | None
    message: str


def gate_lines(results: Sequence[GateResult]) -> list[str]:
    """Return one line a gate, what failed first, and what belongs to it."""
    order = list(STATE_WORDS)
    by_weight = sorted(results, key=lambda one: _WEIGHT[order.index(one.state)])
    return [line for one in by_weight for line in _lines(one)]


_WEIGHT = (3, 0, 1, 2)


def gates_verdict(results: Sequence[GateResult], run: Run) -> str:
    """Return what decides a run with gates, in a sentence; empty without gates."""
    if not results:
        return ""
    counts = [
        (sum(one.state is state for one in results), word) for state, word in STATE_WORDS.items()
    ]
    told = ", ".join(f"{count:,} {word}" for count, word in counts if count)
    line = f"{plural(len(results), 'gate')}: {told}"
    cases = run.cases
    left = cases.failed + cases.inconclusive
    if left:
        line += (
            f"; with gates, {plural(left, 'case')} that failed or stayed unsure "
            f"{'does' if left == 1 else 'do'} not fail the run"
        )
    return line


def gate_words(one: GateResult) -> str:
    """Return what was found of a gate: value, relation, margin, interval, counts, reason."""
    return "; ".join(_parts(one))


def gate_brief(one: GateResult) -> str:
    """Return the value beside its limit, and why where that says nothing."""
    return _relation(one) if one.value is not None else one.reason


def gate_rows(results: Sequence[GateResult]) -> list[tuple[str, ...]]:
    """Return the cells under ``HEADINGS``."""
    return [
        (
            str(one.gate),
            STATE_WORDS[one.state],
            _value(one),
            "-" if one.limit is None else spelt(one.limit),
            "-" if one.margin is None else _number(one.margin, None),
            _interval(one) or "-",
            f"{one.measured:,} / {one.asked:,}",
            "; ".join(filter(None, (one.reason, _span(one), *one.notes))),
        )
        for one in results
    ]


def gates_json(results: Sequence[GateResult]) -> list[dict[str, Any]]:
    """Return the gates as JSON values; what is not known is null."""
    return [
        {
            "rule": one.rule,
            "name": one.gate.name or None,
            "place": one.gate.place or None,
            "metric": one.metric,
            "mode": "surely" if one.gate.surely else "point",
            "state": one.state.value,
            "value": one.value,
            "limit": one.limit,
            "margin": one.margin,
            "count": one.count,
            "measured": one.measured,
            "asked": one.asked,
            "interval": None
            if one.interval is None
            else {
                "low": one.interval.low,
                "high": one.interval.high,
                "level": one.interval.level,
                "method": one.interval.method,
            },
            "lowest": one.lowest,
            "highest": one.highest,
            "moreCases": one.more,
            "reason": one.reason or None,
            "notes": list(one.notes),
        }
        for one in results
    ]


def gate_tests(results: Sequence[GateResult]) -> list[GateTest]:
    """Return the gates as tests of a JUnit suite: only a pass is green."""
    return [
        GateTest(
            str(one.gate), _OUTCOMES[one.state], f"{STATE_WORDS[one.state]}: {gate_words(one)}"
        )
        for one in results
    ]


def _lines(one: GateResult) -> Iterator[str]:
    yield f"{STATE_WORDS[one.state]}: {one.gate}: {gate_words(one)}"
    for note in one.notes:
        yield f"  {note}"


def _parts(one: GateResult) -> Iterator[str]:
    if one.value is not None:
        margin = "" if one.margin is None else f", margin {_number(one.margin, None)}"
        yield f"{_relation(one)}{margin}"
        interval = _interval(one)
        if interval and one.interval is not None:
            yield f"{100 * one.interval.level:g}% interval {interval} ({one.interval.method})"
    if one.reason:
        yield one.reason
    span = _span(one)
    if span:
        yield span
    yield f"{one.measured:,} measured of {one.asked:,} asked"


def _relation(one: GateResult) -> str:
    """Return ``23 of 24 = 0.9583 >= 0.9``, with digits enough to show the order."""
    if one.value is None or one.limit is None:
        return _value(one)
    op = one.gate.op or (">=" if one.gate.aggregate == "all" else "<=")
    if op == "==":
        sign = "=" if one.value == one.limit else "is not"
    else:
        sign = op if compares(one.value, op, one.limit) else _OTHER[op]
    # A share is compared as a fraction, and at the limit its float may lie a hair beside it.
    if one.margin == 0 and op in {"<=", ">="}:
        sign = op
    return f"{_value(one)} {sign} {spelt(one.limit)}"


_OTHER = {"<=": ">", ">=": "<", "<": ">=", ">": "<="}


def _value(one: GateResult) -> str:
    if one.value is None:
        return "-"
    shown = _number(one.value, one.limit)
    if one.gate.kind in {"count", "every", "measured"}:
        return f"{one.value:,.0f}"
    if one.count is None:
        return shown
    counted = f"{one.count:,} of {one.measured:,}"
    return f"{counted}, at most {shown}" if one.gate.kind == "upper" else f"{counted} = {shown}"


def _span(one: GateResult) -> str:
    """Say what the absent cases could make of the value."""
    if one.lowest is None or one.highest is None or one.lowest == one.highest:
        return ""
    whole = one.gate.kind in {"count", "every"}
    low, high = (
        f"{end:,.0f}" if whole else _number(end, one.limit) for end in (one.lowest, one.highest)
    )
    left = one.asked - one.measured
    come = "case not measured comes" if left == 1 else f"{left:,} cases not measured come"
    return f"{low} to {high}, however the {come} out"


def _interval(one: GateResult) -> str:
    found = one.interval
    if found is None:
        return ""
    return f"{_number(found.low, one.limit)} to {_number(found.high, one.limit)}"


def _number(value: float, limit: float | None) -> str:
    """Return a number to four decimals, or to more where fewer would hide its side of the limit.

    A number that is not nothing never looks like it either.
    """
    for places in range(_FEWEST, _MOST):
        text = f"{value:.{places}f}"
        seen = float(text)
        same = limit is None or (seen > limit, seen < limit) == (value > limit, value < limit)
        if same and (seen or not value):
            break
    shown = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if shown in {"-0", ""} else shown

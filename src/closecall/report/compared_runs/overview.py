"""What every report of a comparison says, in the same words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from closecall.calibration.records import Rate
from closecall.metrics.cutoffs import PERCENT, shown
from closecall.report.words import blind, plural, rate, shorten
from closecall.runs.comparing.records import (
    ALIKE,
    BETTER,
    CANNOT_TELL,
    NOT_DECIDED,
    Changed,
    Labelled,
    MetricCompared,
    RunComparison,
    RunSide,
)

TEXT = 160
"""Characters of a response in a table."""
REASONS = 5

HEADS = ("metric", "in both / asked", "A passes", "B passes", "mean A", "mean B", "B less A")
NUMERIC = (1, 2, 3, 4, 5, 6)
"""Columns of ``HEADS`` that hold numbers."""

WORDS = {
    "worse": "B is worse",
    BETTER: "B is better",
    ALIKE: "same verdicts",
    CANNOT_TELL: "cannot tell",
    NOT_DECIDED: "no verdict",
}


class Entry(NamedTuple):
    """One case that came out differently, as text."""

    case_id: str
    a: str
    b: str
    response_a: str
    response_b: str
    reason: str


class Listed(NamedTuple):
    """Cases under a heading."""

    heading: str
    entries: tuple[Entry, ...]


class Section(NamedTuple):
    """One metric: its outcome, statements, and the cases that are named."""

    metric: str
    outcome: str
    why: str
    lines: tuple[str, ...]
    lists: tuple[Listed, ...]


class Page(NamedTuple):
    """The report. ``rows`` has one a metric, with the columns of ``HEADS``."""

    title: str
    verdict: str
    failed: tuple[str, ...]
    open: tuple[str, ...]
    sides: tuple[str, ...]
    cases: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    sections: tuple[Section, ...]
    notes: tuple[str, ...]
    rule: str
    blind: str
    exit_code: int


def page(found: RunComparison) -> Page:
    """Return what a report says of a comparison."""
    return Page(
        title=f"{_called(found.a)} (A) against {_called(found.b)} (B)",
        verdict=verdict(found),
        failed=found.failed,
        open=found.open,
        sides=(_side("A", found.a), _side("B", found.b)),
        cases=tuple(_cases(found)),
        rows=tuple(map(_row, found.metrics)),
        sections=tuple(map(_section, found.metrics)),
        notes=found.notes,
        rule=_rule(found),
        blind=blind(one.metric for one in found.metrics),
        exit_code=found.exit_code,
    )


def verdict(found: RunComparison) -> str:
    """Return the outcome in a sentence."""
    if found.failed:
        return f"Regression: {'; '.join(found.failed)}."
    outcomes = {one.outcome for one in found.metrics}
    better = [one.metric for one in found.metrics if one.outcome == BETTER]
    if found.open:
        return f"Not green: {'; '.join(found.open)}."
    if outcomes == {ALIKE}:
        return "No regression: every verdict is the same in both."
    if better:
        return f"No regression; B passes more, beyond chance, by {', '.join(better)}."
    if outcomes == {NOT_DECIDED}:
        return "No verdicts to compare, so nothing was gated; the values are below."
    return "No regression is shown, which is not to say that there is none: it cannot be told."


def value(number: float | None, one: MetricCompared, cutoff: float | None = None) -> str:
    """Return a value of a metric with the digits of its scale."""
    if number is None:
        return "-"
    return shown(number, cutoff, 1 if one.high == PERCENT else 3)


def difference(one: MetricCompared) -> str:
    """Return the mean difference with its interval, or that there is none."""
    if one.difference is None:
        return "-"
    digits = 1 if one.high == PERCENT else 3
    text = f"{one.difference:+.{digits}f}"
    if one.interval is None:
        return f"{text} (too few differ)" if one.moved else text
    ends = f"{one.interval.low:+.{digits}f} to {one.interval.high:+.{digits}f}"
    return f"{text} ({ends})"


def _called(side: RunSide) -> str:
    return shorten(side.name or side.run_id, 60)


def _side(letter: str, side: RunSide) -> str:
    parts = [
        f"{letter}: {side.name}" if side.name else letter,
        side.started_at.partition(".")[0].replace("T", " "),
        f"answers of {side.subject}" if side.subject else "",
        f"{side.cases:,} cases",
        f"run folder {side.folder}",
    ]
    return ", ".join(filter(None, parts))


def _cases(found: RunComparison) -> Iterator[str]:
    made = found.cases
    groups = f" in {plural(made.groups, 'group')}" if made.groups < made.compared else ""
    differ = (
        ""
        if made.responses_differ is None
        else f"; {made.responses_differ:,} have another response"
    )
    yield f"{plural(made.compared, 'case')} compared{groups}{differ}."
    left = [
        (made.only_a, "only in A"),
        (made.only_b, "only in B"),
        (made.changed, "with another question, reference or context"),
    ]
    said = [f"{count:,} {what}" for count, what in left if count]
    if said:
        yield f"Left out, as allowed: {', '.join(said)}; for example {', '.join(made.named)}."


def _row(one: MetricCompared) -> tuple[str, ...]:
    n = 0 if one.flips is None else one.flips.n
    passed = [f"{count:,} / {n:,}" if n else "-" for count in (one.passed_a, one.passed_b)]
    return (
        one.metric,
        f"{one.measured:,} / {one.asked:,}",
        *passed,
        value(one.mean_a, one),
        value(one.mean_b, one),
        difference(one),
    )


def _section(one: MetricCompared) -> Section:
    return Section(
        metric=one.metric,
        outcome=WORDS[one.outcome],
        why=one.why,
        lines=tuple(_lines(one)),
        lists=tuple(
            Listed(heading, tuple(_entry(case, one) for case in cases))
            for heading, cases in (
                ("Verdicts that got worse, the first", one.first_worse),
                ("Verdicts that got better, the first", one.first_better),
                ("Measured by A and not by B, the first", one.first_absent),
                ("Fell most", one.fell),
                ("Rose most", one.rose),
            )
            if cases
        ),
    )


def _lines(one: MetricCompared) -> Iterator[str]:
    if one.flips is not None:
        yield _flips(one)
        unsure = one.verdict_flips - one.verdicts.get("passed", {}).get("failed", 0)
        unsure -= one.verdicts.get("failed", {}).get("passed", 0)
        if unsure:
            yield f"{unsure:,} of {one.flips.n:,} verdicts became unsure, or no longer are"
    if one.mean_a is not None:
        of = (
            ""
            if one.interval is None
            else (
                f"; the mean difference has a {100 * one.interval.level:.6g}% interval "
                f"({one.interval.method})"
            )
        )
        yield f"{one.moved:,} of {one.measured:,} values differ by more than rounding{of}"
    for letter, errors in (("A", one.labelled_a), ("B", one.labelled_b)):
        if errors is not None:
            yield f"against your labels, {letter}: {_labelled(errors)}"
    if one.only_a:
        told = [f"{count:,}: {reason}" for reason, count in one.absent_reasons.items()]
        rest = len(told) - REASONS
        more = f"; and {plural(rest, 'other reason')}" if rest > 0 else ""
        yield f"measured by A and not by B, {one.only_a:,}: {'; '.join(told[:REASONS])}{more}"
    if one.only_b:
        failed = f", {one.only_b_failed:,} of which fail" if one.only_b_failed else ""
        yield f"measured by B and not by A, {one.only_b:,}{failed}; these are not compared"
    if one.neither:
        yield f"measured by neither, {one.neither:,}"


def _flips(one: MetricCompared) -> str:
    flips = one.flips
    if flips is None:
        raise TypeError("no verdicts")
    lost = one.verdicts.get("passed", {}).get("failed", 0)
    gained = one.verdicts.get("failed", {}).get("passed", 0)
    by = "" if flips.groups is None else f" over {plural(flips.groups, 'group')} that differ"
    p = "" if flips.p is None else f"; {flips.method}{by}, two-sided p = {flips.p:.2g}"
    return (
        f"passed by A and failed by B: {lost:,}; failed by A and passed by B: {gained:,}; "
        f"{flips.discordant:,} of {flips.n:,} passed by one alone{p if flips.discordant else ''}"
    )


def _labelled(errors: Labelled) -> str:
    parts = [
        f"{what} {_rate(found)}"
        for what, found in (
            ("wrong answers accepted", errors.false_accepts),
            ("good answers rejected", errors.false_rejects),
        )
        if found is not None
    ]
    if errors.unsure:
        parts.append(f"unsure {errors.unsure:,}")
    return ", ".join(parts)


def _rate(found: Rate) -> str:
    low, high = 100 * found.interval.low, 100 * found.interval.high
    return (
        f"{rate(found.count, found.n)}, {100 * found.interval.level:.6g}% interval {low:.1f} to "
        f"{high:.1f} %"
    )


def _entry(case: Changed, one: MetricCompared) -> Entry:
    def came_out(state: str, number: float | None, cutoff: float | None) -> str:
        said = state.replace("_", " ").replace("inconclusive", "unsure")
        return said if number is None else f"{value(number, one, cutoff)} {said}"

    return Entry(
        case.id,
        came_out(case.a, case.value_a, one.cutoff_a),
        came_out(case.b, case.value_b, one.cutoff_b),
        case.response_a or "",
        case.response_b or "",
        case.reason,
    )


def _rule(found: RunComparison) -> str:
    tested = sum(one.outcome != NOT_DECIDED for one in found.metrics)
    over = f" over {plural(tested, 'metric')} together" if tested > 1 else ""
    said = (
        "B counts as worse where it passes fewer of the same cases beyond chance: one-sided exact "
        f"test, false alarms at most {100 * found.alpha:.6g} %{over}"
    )
    parts = [said]
    if found.max_new_failures is not None:
        parts.append(f"or has more than {plural(found.max_new_failures, 'new failure')}")
    if found.any_flip:
        parts.append("or where any verdict differs")
    return f"{', '.join(parts)}."

"""What several runs of the cases say: how often they agree, what passes, and what is flaky."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from closecall.calibration.figures import count_of
from closecall.calibration.records import Rate
from closecall.report.words import plural, rate, shorten
from closecall.runs.record import Run
from closecall.subjects.agreement import Repeats

NAMED = 10
"""Flaky cases named; ``--format json`` has more."""


def repeats_heading(run: Run) -> str:
    """Return the heading of the section, such as ``5 runs``."""
    return f"{run.header.runs} runs"


def repeat_lines(run: Run) -> Iterator[str]:
    """Yield what the runs say, metric by metric; nothing of a run that was not repeated."""
    every = run.repeats or ()
    if every and every[0].once:
        yield f"{plural(every[0].once, 'case')} measured once, with the response there was already"
    for found in every:
        if found.cases:
            yield from _metric(found)


def _metric(found: Repeats) -> Iterator[str]:
    decided = any(found.by_run)
    head = f"{found.metric}, {plural(found.cases, 'case')}"
    if found.pairs:
        told = f"{head}: {rate(found.agreeing, found.pairs)} of the pairs of runs agree"
    else:
        told = f"{head}: no case has two runs with a result"
    if not decided:
        yield told
        return
    if found.cases_passed is not None:
        told += f"; {count_of(found.cases_passed)} of the cases decided pass"
    yield f"{told} (in {found.needed} of {found.runs} runs or more)"
    by_run = ", ".join("-" if one is None else f"{one.count}/{one.n}" for one in found.by_run)
    yield f"{found.metric}, passed / decided in each run: {by_run}"
    shares = ", ".join(
        f"{plural(one.cases, 'case')} in {count_of(one.share)}" for one in found.shares
    )
    yield f"{found.metric}, cases by the runs they passed in: {shares}"
    if not found.flaky_cases:
        yield f"{found.metric}: no case passed in one run and failed in another"
        return
    named = ", ".join(
        f"{shorten(one.id, 40)} ({one.share.count} of {one.share.n})"
        for one in found.flaky[:NAMED]
    )
    left = found.flaky_cases - len(found.flaky[:NAMED])
    more = (
        f", and {left:,} more (--format json names the first {len(found.flaky)})" if left else ""
    )
    yield f"{found.metric}, flaky, {plural(found.flaky_cases, 'case')}: {named}{more}"


def repeats_json(run: Run) -> list[dict[str, Any]] | None:
    """Return the same for the JSON report; None of a run that was not repeated."""
    if run.repeats is None:
        return None
    return [
        {
            "metric": found.metric,
            "runs": found.runs,
            "successThreshold": found.threshold,
            "needed": found.needed,
            "cases": found.cases,
            "measuredOnce": found.once,
            "casesPassed": _rate_json(found.cases_passed),
            "byRun": [_rate_json(one) for one in found.by_run],
            "shares": [
                {"share": _rate_json(one.share), "cases": one.cases} for one in found.shares
            ],
            "agreeing": found.agreeing,
            "pairs": found.pairs,
            "agreement": found.agreement,
            "flakyCases": found.flaky_cases,
            "flaky": [{"name": one.id, "share": _rate_json(one.share)} for one in found.flaky],
        }
        for found in run.repeats
    ]


def _rate_json(found: Rate | None) -> dict[str, Any] | None:
    if found is None:
        return None
    interval = found.interval
    return {
        "count": found.count,
        "n": found.n,
        "value": found.value,
        "interval": {"low": interval.low, "high": interval.high, "level": interval.level},
    }

"""Slices in words, and as JSON: the same figures wherever they are shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from closecall.calibration.figures import percent, span
from closecall.calibration.records import Rate
from closecall.report.slices import MOST_FIELDS, MOST_NOTED, MOST_VALUES, SliceFigures, Slices
from closecall.report.words import plural, shorten
from closecall.runs.kept_metadata import MOST_VALUE

COLUMNS = ("measured / asked", "mean", "passed", "false accepts", "false rejects")
"""The heads of ``figures``; the last two are of labelled answers."""

NAMED = 8
_NAME = 60


def uses_labels(found: Slices) -> bool:
    """Whether any slice has a rate of errors."""
    return any(
        figure.false_accepts or figure.false_rejects
        for one in found.fields
        for part in one.slices
        for figure in part.metrics
    )


def figures(found: SliceFigures) -> tuple[str, ...]:
    """Return the cells of one metric on one slice, as ``COLUMNS`` names them."""
    return (
        f"{found.measured:,} / {found.asked:,}",
        "-" if found.mean is None else f"{found.mean:.4g}",
        *(
            "-" if rate is None else _share(rate)
            for rate in (found.passed, found.false_accepts, found.false_rejects)
        ),
    )


def _share(rate: Rate) -> str:
    """Return ``7 of 118 = 5.9% (2.4-12%)``; the notes say what the interval is."""
    share = percent(rate.value, rate.n)
    return f"{rate.count:,} of {rate.n:,} = {share} ({span(rate.interval, rate.n)})"


def left_out(found: Slices) -> Iterator[str]:
    """Yield what the tables do not show."""
    if found.many:
        named = ", ".join(shorten(name, _NAME) for name in found.many[:NAMED])
        rest = len(found.many) - NAMED
        more = f" and {plural(rest, 'other')}" if rest > 0 else ""
        yield (
            f"Not shown, with more than {MOST_VALUES} values or beyond {MOST_FIELDS} fields: "
            f"{named}{more}."
        )
    if found.unnoted:
        yield f"Cases have more than {MOST_NOTED} different fields; the first were looked at."
    yield (
        "In brackets: 95% intervals, which allow for several answers to one question. Each slice "
        "is looked at by itself, so of many some differ by chance. Values of over "
        f"{MOST_VALUE} characters, and lists, make no slice."
    )


def slices_json(found: Slices) -> dict[str, Any]:
    """Return the slices as the JSON report has them."""
    return {
        "fields": [
            {
                "field": one.field,
                "absent": one.absent,
                "values": [
                    {
                        "value": part.value,
                        "cases": part.cases,
                        "metrics": [_figures_json(figure) for figure in part.metrics],
                    }
                    for part in one.slices
                ],
            }
            for one in found.fields
        ],
        "notShown": list(found.many),
        "fieldsBeyondLimit": found.unnoted,
    }


def _figures_json(found: SliceFigures) -> dict[str, Any]:
    return {
        "metric": found.metric,
        "asked": found.asked,
        "measured": found.measured,
        "mean": found.mean,
        "passed": _rate_json(found.passed),
        "falseAccepts": _rate_json(found.false_accepts),
        "falseRejects": _rate_json(found.false_rejects),
    }


def _rate_json(rate: Rate | None) -> dict[str, Any] | None:
    if rate is None:
        return None
    span = rate.interval
    return {
        "count": rate.count,
        "n": rate.n,
        "rate": rate.value,
        "interval": {
            "low": span.low,
            "high": span.high,
            "level": span.level,
            "method": span.method,
        },
    }

"""Demands on a mean, such as ``recall@10=0.9``, that the interval must bear out."""

from __future__ import annotations

import math
from collections.abc import Mapping

from closecall.errors import UsageError
from closecall.retrieval.estimates import Estimate
from closecall.retrieval.measures import checked_name
from closecall.retrieval.results import AtLeast


def parse_demand(text: str) -> tuple[str, float]:
    """Return the measure and the least mean that is asked of it.

    >>> parse_demand("Recall@10=0.9")
    ('recall@10', 0.9)

    Raises
    ------
    UsageError
        It is no ``MEASURE=VALUE`` with a value from 0 to 1.
    """
    name, sep, rest = text.partition("=")
    try:
        limit = float(rest)
    except ValueError:
        limit = math.nan
    if not sep or not 0 <= limit <= 1:
        raise UsageError(
            f"a demand is MEASURE=VALUE with a value from 0 to 1, such as recall@10=0.9; got "
            f"{text!r:.80}"
        )
    return checked_name(name), limit


def judge_demand(measure: str, limit: float, estimates: Mapping[str, Estimate]) -> AtLeast:
    """Return whether a mean is at least ``limit``.

    Met where the whole interval is, missed where none of it is, and otherwise these questions
    cannot tell.
    """
    estimate = estimates[measure]
    interval = estimate.interval
    if interval is None:
        return AtLeast(
            measure=measure,
            limit=limit,
            estimate=estimate,
            outcome="cannot tell",
            why=f"cannot tell with n = {estimate.n:,}: there is no interval, {estimate.why}",
        )
    span = f"{interval.low:.3f} to {interval.high:.3f}"
    if interval.low >= limit:
        outcome, why = "met", f"the whole interval {span} is at least {limit:g}"
    elif interval.high < limit:
        outcome, why = "missed", f"the whole interval {span} is below {limit:g}"
    else:
        outcome = "cannot tell"
        why = f"cannot tell with n = {estimate.n:,}: the interval {span} holds {limit:g}"
    return AtLeast(measure=measure, limit=limit, estimate=estimate, outcome=outcome, why=why)  # type: ignore[arg-type]

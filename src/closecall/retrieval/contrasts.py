"""The tested search held against others, question by question; "cannot tell" is an answer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from closecall.calibration.binomial import complement
from closecall.retrieval.estimates import Drawing, difference_interval
from closecall.retrieval.randomisation import randomisation_test
from closecall.retrieval.results import Contrast, Verdict

_TINY = 1e-4


class Column(NamedTuple):
    """One search's measure: question id to value, without the questions it has no ranking of."""

    name: str
    baseline: bool
    values: Mapping[str, float]


def contrasts(
    tested: Column,
    others: Sequence[Column],
    groups: Mapping[str, str],
    measure: str,
    drawing: Drawing,
) -> tuple[Contrast, ...]:
    """Return the contrast of the tested search with each other one.

    One of the two is named when the p-value, corrected for all contrasts by Holm's (1979) method,
    is at most 1 - level and the interval of the difference, where there is one, excludes 0. Of two
    that are alike it names either with probability 1 - level at most.

    Parameters
    ----------
    tested, others
        The same measure of each search. A pair that shares no question has no contrast.
    groups
        Question id to group.
    measure
        Its name, for the words.
    drawing
        Resamples, seed and level.
    """
    found = []
    for other in others:
        units = {q: groups[q] for q in sorted(tested.values.keys() & other.values.keys())}
        if units:
            found.append(_contrast(tested, other, units, measure, drawing))
    adjusted = _holm([one.p for one in found])
    return tuple(
        _decided(msgspec.structs.replace(one, adjusted_p=p), drawing)
        for one, p in zip(found, adjusted, strict=True)
    )


def _contrast(
    tested: Column,
    other: Column,
    shared: Mapping[str, str],
    measure: str,
    drawing: Drawing,
) -> Contrast:
    ours, theirs = ([one.values[query] for query in shared] for one in (tested, other))
    apart = [mine - yours for mine, yours in zip(ours, theirs, strict=True)]
    units = list(shared.values())
    interval, _ = difference_interval(apart, units, drawing)
    test = randomisation_test(apart, units, seed=drawing.seed)
    n = len(shared)
    return Contrast(
        measure=measure,
        tested=tested.name,
        other=other.name,
        baseline=other.baseline,
        value_tested=math.fsum(ours) / n,
        value_other=math.fsum(theirs) / n,
        difference=math.fsum(apart) / n,
        n=n,
        groups=len(set(units)),
        interval=interval,
        p=test.p,
        adjusted_p=test.p,
        method=test.method,
        draws=test.draws,
        seed=test.seed,
        verdict="cannot tell",
        why="",
    )


def _holm(values: Sequence[float]) -> list[float]:
    """Return p-values corrected for how many there are."""
    order = sorted(range(len(values)), key=lambda at: values[at])
    adjusted = [0.0] * len(values)
    highest = 0.0
    for rank, at in enumerate(order):
        highest = max(highest, min(1.0, (len(values) - rank) * values[at]))
        adjusted[at] = highest
    return adjusted


def _decided(one: Contrast, drawing: Drawing) -> Contrast:
    rows = f"n = {one.n:,}" + (f" in {one.groups:,} groups" if one.groups < one.n else "")
    certain = one.adjusted_p <= complement(drawing.level) and (
        one.interval is None or one.interval.low > 0 or one.interval.high < 0
    )
    verdict: Verdict = "cannot tell"
    if certain:
        verdict = "better" if one.difference > 0 else "worse"
        first, second = (one.tested, one.other) if verdict == "better" else (one.other, one.tested)
        why = f"{first} is better than {second} with {rows} ({_p(one.adjusted_p)})"
    elif one.difference == 0 and one.p == 1 and one.interval is None:
        why = f"cannot tell with {rows}: no question comes out differently"
    else:
        why = f"cannot tell with {rows}: the difference may be chance ({_p(one.adjusted_p)})"
    return msgspec.structs.replace(one, verdict=verdict, why=why)


def _p(p: float) -> str:
    return f"p < {_TINY:.4f}" if p < _TINY else f"p = {p:.2g}"

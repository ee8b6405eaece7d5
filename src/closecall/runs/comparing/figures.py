"""From paired results to figures: means, verdicts, flips and errors, each with its n."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from closecall.calibration.comparing.mean_difference import mean_difference
from closecall.calibration.comparing.paired import flips
from closecall.calibration.groups import rate_of_groups
from closecall.calibration.inputs import Bools, Ints
from closecall.calibration.records import Rate
from closecall.records import Label, State
from closecall.runs.comparing.pairs import (
    RANK,
    MetricPairs,
    columns,
    label_code,
    state_codes,
    state_of,
)
from closecall.runs.comparing.records import Labelled, MetricCompared
from closecall.runs.header import MetricPlan

DECIMALS = 10
"""Decimals of a mean: beyond them are the last digits of adding up."""

(_PASSED,) = state_codes(State.PASSED)
(_FAILED,) = state_codes(State.FAILED)
_VERDICTS = sorted(state_codes(*RANK))
_WRONG = {Label.REJECT: State.PASSED, Label.ACCEPT: State.FAILED}


def figures(
    pairs: MetricPairs, a: MetricPlan, b: MetricPlan, level: float, *, values: bool
) -> MetricCompared:
    """Return the figures of one metric, without an outcome yet.

    ``values`` False: of a cascade as a whole there are verdicts only.
    """
    found = columns(pairs)
    ours, theirs = found["a_states"], found["b_states"]
    n = len(ours)
    means: dict[str, Any] = dict.fromkeys(("mean_a", "mean_b", "difference", "interval"))
    if values and n:
        means = _means(found, level)
    decided = np.isin(ours, _VERDICTS) & np.isin(theirs, _VERDICTS)
    a_not, b_not = ours[decided] != _PASSED, theirs[decided] != _PASSED
    groups = found["groups"][decided]
    tested = flips(a_not, b_not, _grouped(groups)) if len(groups) else None
    a_failed, b_failed = ours == _FAILED, theirs == _FAILED
    worse = None
    if tested is not None and tested.p is not None and tested.only_b > tested.only_a:
        # Both tests are of a distribution that is the same on either side.
        worse = tested.p / 2
    return MetricCompared(
        metric=pairs.metric,
        low=a.low if values else None,
        high=a.high if values else None,
        cutoff_a=a.cutoff if values else None,
        cutoff_b=b.cutoff if values else None,
        asked=n + pairs.only_a + pairs.only_b + pairs.neither,
        measured=n,
        only_a=pairs.only_a,
        only_b=pairs.only_b,
        only_b_failed=pairs.only_b_failed,
        neither=pairs.neither,
        absent_reasons=dict(sorted(pairs.reasons.items(), key=lambda kv: (-kv[1], kv[0]))),
        **means,
        moved=pairs.moved,
        verdicts=_matrix(ours, theirs),
        passed_a=int(np.count_nonzero(ours == _PASSED)),
        passed_b=int(np.count_nonzero(theirs == _PASSED)),
        flips=tested,
        p_worse=worse,
        new_failures=int(np.count_nonzero(decided & b_failed & ~a_failed)),
        fixed=int(np.count_nonzero(decided & a_failed & ~b_failed)),
        verdict_flips=int(np.count_nonzero(decided & (ours != theirs))),
        labelled_a=_labelled(ours, found["a_labels"], found["groups"], decided),
        labelled_b=_labelled(theirs, found["b_labels"], found["groups"], decided),
        fell=pairs.fell.best(),
        rose=pairs.rose.best(),
        first_worse=pairs.worse.best(),
        first_better=pairs.better.best(),
        first_absent=pairs.absent.best(),
    )


def _means(found: dict[str, Any], level: float) -> dict[str, Any]:
    before, after = found["a_values"], found["b_values"]
    n = len(before)
    _, codes = np.unique(found["groups"], return_inverse=True)
    sizes = np.bincount(codes)
    summed = np.bincount(codes, weights=after - before, minlength=len(sizes))
    sums = summed.astype(np.float64)
    mean_a, mean_b = (round(float(np.sum(values)) / n, DECIMALS) for values in (before, after))
    return {
        "mean_a": mean_a,
        "mean_b": mean_b,
        "difference": round(float(np.sum(after - before)) / n, DECIMALS) + 0.0,
        "interval": mean_difference(sizes, sums, level),
    }


def _grouped(groups: Ints) -> Ints | None:
    """Return the groups, None where each case is one of its own."""
    return None if len(np.unique(groups)) == len(groups) else groups


def _matrix(ours: Ints, theirs: Ints) -> dict[str, dict[str, int]]:
    counted = Counter(zip(ours.tolist(), theirs.tolist(), strict=True))
    found: dict[str, dict[str, int]] = {}
    for (before, after), count in sorted(counted.items()):
        found.setdefault(state_of(before).value, {})[state_of(after).value] = count
    return found


def _labelled(states: Ints, labels: Ints, groups: Ints, decided: Bools) -> Labelled | None:
    rates: dict[Label, Rate | None] = {}
    unsure = 0
    for label in Label:
        chosen = decided & (labels == label_code(label))
        wrong = states[chosen] == next(iter(state_codes(_WRONG[label])))
        unsure += int(np.count_nonzero(np.isin(states[chosen], [*_UNSURE])))
        rates[label] = _rate(wrong, groups[chosen])
    if not any(rates.values()):
        return None
    return Labelled(
        false_accepts=rates[Label.REJECT], false_rejects=rates[Label.ACCEPT], unsure=unsure
    )


_UNSURE = state_codes(State.INCONCLUSIVE, State.WARN)


def _rate(wrong: Bools, groups: Ints) -> Rate | None:
    if not len(wrong):
        return None
    _, codes = np.unique(groups, return_inverse=True)
    sizes = np.bincount(codes)
    return rate_of_groups(sizes, np.bincount(codes[wrong], minlength=len(sizes)))

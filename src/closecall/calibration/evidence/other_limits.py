"""What the same labels say of other limits on the rate that is promised."""

from __future__ import annotations

import msgspec
import numpy as np

from closecall.calibration.artefact import OtherPromise
from closecall.calibration.goals import Goal
from closecall.calibration.inputs import Labelled
from closecall.calibration.records import Certificate, Cutoff, Infeasible
from closecall.calibration.sample import units

MENU = (0.01, 0.02, 0.03, 0.05, 0.10, 0.20)
"""Limits that are looked up beside the one asked for."""


def other_limits(goal: Goal, data: Labelled) -> tuple[OtherPromise, ...]:
    """Return what each limit of ``MENU`` would give; none where two or no rates are promised.

    Each is a promise by itself: whoever picks one after seeing several has looked more than once.
    """
    if goal.two or not goal.promises:
        return ()
    name = "max_far" if goal.max_far is not None else "max_frr"
    asked = goal.max_far if goal.max_far is not None else goal.max_frr
    return tuple(
        _other(msgspec.structs.replace(goal, **{name: limit}), limit, data)
        for limit in MENU
        if limit != asked
    )


def _other(goal: Goal, limit: float, data: Labelled) -> OtherPromise:
    found = goal.fit(data)
    if isinstance(found, Infeasible):
        at_risk = data.accept if goal.max_far is None else ~data.accept
        rows = goal.guarantee == "approximate"
        return OtherPromise(
            limit=limit,
            value=None,
            counts=None,
            observed=None,
            n=int(np.count_nonzero(at_risk)) if rows else units(data, at_risk),
            more=found.more_accepts if goal.max_far is None else found.more_rejects,
        )
    cutoff = found if isinstance(found, Cutoff) else found.accept
    evidence = cutoff.evidence
    if not isinstance(evidence, Certificate):
        raise TypeError("a promise has a certificate")
    return OtherPromise(
        limit=limit,
        value=cutoff.value,
        counts=cutoff.counts,
        observed=evidence.observed,
        n=evidence.n,
        more=None,
    )

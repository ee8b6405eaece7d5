"""Independent scores of one class, which a promise rests on, and what a rule does to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from closecall.calibration.curve import ErrorCurve
from closecall.calibration.inputs import Floats
from closecall.calibration.records import Errors


@dataclass(frozen=True, eq=False, slots=True)
class Sample:
    """Scores of one class that stand for it: (n,) float64, each independent of the others.

    ``seed`` drew one row from each group; None where every row is there.
    """

    scores: Floats
    per: Literal["row", "group"]
    seed: int | None


def all_rows(curve: ErrorCurve, errors: Errors) -> Sample:
    """Return every row of the class at risk."""
    counts = curve.true_accepts if errors == "false_rejects" else curve.false_accepts
    return Sample(np.repeat(curve.levels, counts[1:] - counts[:-1]), "row", None)


def row_for(curve: ErrorCurve, sample: Sample, errors: Errors, allowed: int) -> int:
    """Return the row that uses ``allowed`` errors, fewer than there are, as far as ties let it.

    The most accepting such row for false accepts, the most rejecting for false rejects.
    """
    n = len(sample.scores)
    if errors == "false_accepts":
        # The reject that must not be accepted: the (allowed + 1)-th from the top.
        first = float(np.partition(sample.scores, n - 1 - allowed)[n - 1 - allowed])
        return int(np.searchsorted(-curve.levels, -first, side="left"))
    # The accept that must not be rejected: the (allowed + 1)-th from the bottom.
    return curve.row(float(np.partition(sample.scores, allowed)[allowed]))


def observed_errors(curve: ErrorCurve, row: int, sample: Sample, errors: Errors) -> int:
    """Return how many scores of the sample a row decides wrongly."""
    accepted = int(np.count_nonzero(sample.scores >= curve.levels[row - 1])) if row else 0
    return len(sample.scores) - accepted if errors == "false_rejects" else accepted


def least_errors(curve: ErrorCurve, sample: Sample, errors: Errors) -> int:
    """Return the fewest errors of any rule that accepts somebody."""
    row = 1 if errors == "false_accepts" else len(curve.levels)
    return observed_errors(curve, row, sample, errors)

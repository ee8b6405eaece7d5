"""What a cutoff says of scores: the one place where a score is compared with it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from closecall.calibration.inputs import Bools, round_scores
from closecall.calibration.records import Cutoff, Decision, TwoCutoffs


def accepted(cutoff: Cutoff, scores: ArrayLike) -> Bools:
    """Return which scores a cutoff accepts, in the shape of ``scores``: those at least as high.

    Scores are rounded as they were when the cutoff was fitted, so applied to the rows it was
    fitted on it gives the very counts it carries. NaN and infinity raise ``NonFiniteError``.
    """
    return np.asarray(round_scores(scores, cutoff.decimals) >= cutoff.value)


def decide(rule: Cutoff | TwoCutoffs, score: float) -> Decision:
    """Return the decision on one score; UNSURE only between two cutoffs."""
    if isinstance(rule, Cutoff):
        return Decision.ACCEPT if accepted(rule, score) else Decision.REJECT
    if accepted(rule.accept, score):
        return Decision.ACCEPT
    return Decision.UNSURE if accepted(rule.reject, score) else Decision.REJECT

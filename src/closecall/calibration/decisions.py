"""What a cutoff says of scores: the one place where a score is compared with it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from closecall.calibration.inputs import Bools, round_score, round_scores
from closecall.calibration.records import Cutoff, Decision, TwoCutoffs


def accepted(cutoff: Cutoff, scores: ArrayLike) -> Bools:
    """Return which scores a cutoff accepts, in the shape of ``scores``: those at least as high.

    Scores are rounded as they were when the cutoff was fitted, so applied to the rows it was
    fitted on it gives the very counts it carries. NaN and infinity raise ``NonFiniteError``.
    """
    return np.asarray(round_scores(scores, cutoff.decimals) >= cutoff.value)


def decide(rule: Cutoff | TwoCutoffs, score: float) -> Decision:
    """Return the decision on one score; UNSURE only between two cutoffs."""
    accept, reject = (rule, rule) if isinstance(rule, Cutoff) else (rule.accept, rule.reject)
    value = round_score(score, accept.decimals)
    if value >= accept.value:
        return Decision.ACCEPT
    return Decision.UNSURE if value >= reject.value else Decision.REJECT

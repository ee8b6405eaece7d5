"""Rows of made-up features whose true error rates are known in closed form."""

from statistics import NormalDist

import numpy as np

from closecall.calibration.head.crossed import Training
from closecall.calibration.head.judge import Asked
from closecall.metrics.fitted.features import REFERENCES

NORMAL = NormalDist()
FEATURES = len(REFERENCES)
SIGNS = np.array([one.sign for one in REFERENCES])

SHIFT = np.zeros(FEATURES)
"""How far the accepts lie from the rejects in each feature, in standard deviations."""
SHIFT[[0, 1, 3, 4, 7, 9]] = 1.3, 1.0, -0.8, -0.8, 0.7, 0.7


def normal_rows(n, rng, *, shift=SHIFT, rejects=0.5, a_group=1):
    """n rows: a share of rejects at 0, accepts at ``shift``; rows of one group share an offset."""
    accept = np.arange(n) >= round(rejects * n)
    rng.shuffle(accept)
    groups = np.arange(n) // a_group
    own = rng.normal(size=(n, FEATURES))
    if a_group > 1:
        common = rng.normal(size=(groups[-1] + 1, FEATURES))[groups]
        own = np.sqrt(0.5) * own + np.sqrt(0.5) * common
    values = own + accept[:, None] * shift
    return Training(values, accept, tuple(f"g{name}" for name in groups))


def true_far(head, cutoff):
    """The share of rejects, drawn from N(0, 1) in each feature, that the head accepts."""
    count = len(head.features)
    weights = np.array(head.coefficients) / np.array(head.sds)
    middle = head.intercept - float(weights @ np.array(head.means))
    spread = float(np.sqrt((weights * weights).sum()))
    logit = float(np.log(cutoff / (1 - cutoff))) if 0 < cutoff < 1 else 40.0
    assert count
    return 1 - NORMAL.cdf((logit - middle) / spread)


def asked(way="crossed"):
    return Asked("references", way, "0" * 64)

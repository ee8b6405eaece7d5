"""Lets the tests of this folder import its helper modules."""

import functools
import sys
from pathlib import Path

import pytest
import scipy.special  # noqa: F401 - loaded here, not within the time hypothesis allows an example

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def few_draws(monkeypatch):
    """Fit judges at an eighth of the price: the standard error of a gain from 50 draws, not 500.

    It is then off by a tenth, which hardly changes what is kept, and no score or cutoff.
    """
    from closecall.calibration.head import judge

    monkeypatch.setattr(judge, "gain", functools.partial(judge.gain, resamples=50))

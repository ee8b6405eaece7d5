"""Replies of a hub, damaged at random: the model is had, or refused, and nothing else is kept."""

import os

import pytest
from trials.targets import hub

from trials import inputs

pytestmark = [
    pytest.mark.loopback,
    pytest.mark.skipif(os.name != "posix", reason="the trials use alarms and pipes of POSIX"),
]


@pytest.mark.parametrize("target", hub.TARGETS, ids=lambda target: target.name)
def test_damaged_replies_are_read_or_refused(target):
    (row,) = inputs.run([target], 10, 8)
    assert row.held == row.tried, "\n".join(row.failures)

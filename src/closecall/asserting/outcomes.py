"""What an assertion raises.

::

    AssertionError
    └── AnswerError               the answer is not what was asserted
        └── UnsureAnswerError     nobody knows: between two cutoffs, or held back by a guard
    ClosecallError
    └── NotMeasuredError          there is no number, so neither a pass nor a failure
    unittest.SkipTest
    └── NotAskedError             the metric has nothing to ask of this answer
"""

from __future__ import annotations

import unittest
from typing import TYPE_CHECKING

from closecall.errors import ClosecallError

if TYPE_CHECKING:
    from closecall.runs.results import MetricResult


class AnswerError(AssertionError):
    """An answer is not what a test asserts; the message shows what was found.

    ``result`` is the decided measurement (``MetricResult``).
    """

    def __init__(self, message: str, result: MetricResult) -> None:
        super().__init__(message)
        self.result = result


class UnsureAnswerError(AnswerError):
    """An answer lies between two cutoffs, or a guard holds it back: a person has to look."""


class NotMeasuredError(ClosecallError, RuntimeError):
    """Nothing was measured, for the reason in the message; neither a pass nor a failure.

    ``result`` is the absence (``MetricResult``).
    """

    exit_code = 11

    def __init__(self, message: str, result: MetricResult) -> None:
        super().__init__(message)
        self.result = result


class NotAskedError(unittest.SkipTest):
    """The metric asks nothing of this answer: test runners skip the test, with the reason."""


class UnsureSkippedError(unittest.SkipTest):
    """An unsure answer, where a test runner was told to skip those."""


for _public in (AnswerError, UnsureAnswerError, NotMeasuredError):
    # Test runners print it, and this is where people import them from.
    _public.__module__ = "closecall.asserting"

"""Assertions about answers, for any test runner: pytest, ``unittest`` or a plain script.

::

    from closecall.asserting import assert_similar

    def test_refund():
        assert_similar(desk.ask("How long do refunds take?"), "Refunds take five days.")

A failed assertion is an ``AssertionError`` that shows both texts, the score against its cutoff and
where that comes from. What could not be measured is an error of its own, never a pass and never a
failure. Under pytest the embedder, recordings and calibrations are those of the command line.

Names load on first use: importing this loads no model and no numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from closecall.asserting.asserts import (
        assert_grounded,
        assert_matches_fact,
        assert_not_grounded,
        assert_not_matches_fact,
        assert_not_similar,
        assert_similar,
    )
    from closecall.asserting.outcomes import AnswerError, NotMeasuredError, UnsureAnswerError

_ASSERTS = (
    "assert_grounded",
    "assert_matches_fact",
    "assert_not_grounded",
    "assert_not_matches_fact",
    "assert_not_similar",
    "assert_similar",
)

__all__ = [
    "AnswerError",
    "NotMeasuredError",
    "UnsureAnswerError",
    "assert_grounded",
    "assert_matches_fact",
    "assert_not_grounded",
    "assert_not_matches_fact",
    "assert_not_similar",
    "assert_similar",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "asserts" if name in _ASSERTS else "outcomes"
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

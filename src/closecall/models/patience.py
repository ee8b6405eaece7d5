"""Trying again what may have failed in passing."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from closecall.errors import ModelError
from closecall.models.web import Passing

T = TypeVar("T")


class Patience(NamedTuple):
    """How often something is tried, and how long is waited in between.

    Tries that got further than any before do not count. A server that asks for a longer wait
    than ``longest_s`` is not waited for.
    """

    tries: int = 6
    first_s: float = 1.0
    longest_s: float = 120.0
    sleep: Callable[[float], None] = time.sleep
    told: Callable[[str], None] = lambda _: None


def patiently(
    work: Callable[[], T], patience: Patience, progress: Callable[[], int] = lambda: 0
) -> T:
    """Return what ``work`` returns, tried again while it raises ``Passing``.

    Parameters
    ----------
    work
        What is tried.
    patience
        How often, and how long to wait.
    progress
        How far it has come; a larger number than ever before begins the count anew.

    Raises
    ------
    ModelError
        If it never came through; says why it last did not.
    """
    failed, furthest = 0, progress()
    while True:
        try:
            return work()
        except Passing as problem:
            came = progress()
            failed = 0 if came > furthest else failed
            furthest = max(came, furthest)
            failed += 1
            wait = _wait(problem, failed, patience)
            if failed >= patience.tries or wait > patience.longest_s:
                last = str(problem)
                break
            patience.told(f"{problem}; trying again in {wait:.0f} s")
        patience.sleep(wait)
    more = f", which asks to wait {wait:.0f} s" if wait > patience.longest_s else ""
    raise ModelError(
        f"{last}{more}. Tried {failed} times without getting further. What came so far is kept: "
        "type the same again to go on"
    )


def _wait(problem: Passing, failed: int, patience: Patience) -> float:
    if problem.after is not None:
        return max(0.0, problem.after)
    wait: float = min(patience.first_s * 2 ** (failed - 1), patience.longest_s)
    return wait

"""Trying again what failed for a reason that passes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from closecall.errors import StorageError
from closecall.storage.faults import Fault, fault_of, hint

ATTEMPTS = 7
FIRST_PAUSE = 0.1
"""Seconds before the second attempt; each pause is twice the one before, 6.3 in all."""

T = TypeVar("T")


class Retry(NamedTuple):
    """How often, and how long to wait in between; ``pause`` takes seconds."""

    attempts: int = ATTEMPTS
    pause: Callable[[float], None] = time.sleep


class Refusal(Exception):  # noqa: N818 - it says no, and is answered by who asked
    """What a service answered that no further attempt changes; it never leaves this room."""

    def __init__(self, fault: Fault, tries: int) -> None:
        super().__init__(fault.reason)
        self.fault, self.tries = fault, tries


def tried(call: Callable[[], T], retry: Retry) -> T:
    """Return what a call returns, tried again while its failures are of a kind that passes.

    Raises
    ------
    Refusal
        It failed for good. It has no cause and no context: these hold secrets.
    """
    attempt = 0
    while True:
        attempt += 1
        try:
            return call()
        except StorageError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a service's package raises
            fault = fault_of(error)
        if not fault.passing or attempt >= retry.attempts:
            raise Refusal(fault, attempt)
        retry.pause(FIRST_PAUSE * 2 ** (attempt - 1))


def failed(place: str, doing: str, refusal: Refusal) -> StorageError:
    """Return the error for a person: the place, what failed, and what to do."""
    fault = refusal.fault
    if fault.absent:
        return StorageError(f"{place}: {fault.reason}")
    times = f" {refusal.tries} times" if fault.passing and refusal.tries > 1 else ""
    scheme = place.partition("://")[0]
    return StorageError(f"{place}: {doing} failed{times}: {fault.reason}{hint(fault, scheme)}")

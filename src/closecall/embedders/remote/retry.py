"""When to ask again: what a server says of waiting, back-off with jitter, and a deadline.

Waiting changes when an answer comes and never which, so the jitter needs no seed.
"""

from __future__ import annotations

import email.utils
import math
import random
import re
import threading
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

_SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_RATES = ("requests", "tokens")
_MOST_SPELT = 64
"""Characters of a span; a server may send any number."""


class Patience(NamedTuple):
    """How often a request is sent and how long it may take, its retries included.

    ``attempts`` counts the first; the waits double from ``base_s`` up to ``cap_s``, each drawn
    between 0 and that (full jitter); ``deadline_s`` bounds everything, ``timeout_s`` one attempt.
    """

    attempts: int = 6
    base_s: float = 0.5
    cap_s: float = 20.0
    deadline_s: float = 180.0
    timeout_s: float = 60.0


class Clock(NamedTuple):
    """Time and chance, given from outside so that tests need not wait."""

    now: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    draw: Callable[[], float] = random.random
    sleep: Callable[[float], None] | None = None


def asked_wait(headers: Mapping[str, str], wall: float) -> float | None:
    """Return the seconds a server asks to wait; None where it says nothing that can be read.

    ``retry-after-ms`` counts first, then ``retry-after`` as seconds or as an HTTP date, then the
    reset times of the rate limits that are used up.

    Parameters
    ----------
    headers
        Of the reply, by name in lower case.
    wall
        Seconds since 1970, to read a date by.
    """
    milliseconds = _seconds(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    after = headers.get("retry-after", "").strip()
    seconds = _seconds(after)
    if seconds is not None:
        return seconds
    if after:
        try:
            return max(0.0, email.utils.parsedate_to_datetime(after).timestamp() - wall)
        except (ValueError, OverflowError):
            pass
    resets = [
        _span(headers.get(f"x-ratelimit-reset-{rate}", ""))
        for rate in _RATES
        if headers.get(f"x-ratelimit-remaining-{rate}", "").strip() == "0"
    ]
    return max((reset for reset in resets if reset is not None), default=None)


def _seconds(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _span(text: str) -> float | None:
    """Return the seconds in a span such as ``6m0s`` or ``20ms``; a bare number is seconds."""
    text = text.strip()
    if len(text) > _MOST_SPELT:
        return None
    if _SPAN.sub("", text):
        return _seconds(text)
    parts = _SPAN.findall(text)
    return sum(float(number) * _UNITS[unit] for number, unit in parts) if parts else None


class Waiting:
    """The waits of all requests to one provider: who is told to wait makes the others wait too.

    Safe to use from several threads. An event passed to a wait ends it when it is set.

    Parameters
    ----------
    patience, clock
        How long, and by which clock.
    """

    def __init__(self, patience: Patience, clock: Clock) -> None:
        self.patience = patience
        self.clock = clock
        self._lock = threading.Lock()
        self._not_before = -math.inf

    def delay(self, attempt: int, asked: float | None) -> float:
        """Return the seconds to wait after a failed attempt (0 is the first).

        What the server asks for is never undercut; the jitter comes on top.
        """
        ceiling = min(self.patience.cap_s, self.patience.base_s * 2.0 ** min(attempt, 30))
        jitter = self.clock.draw() * ceiling
        return jitter if asked is None else asked + min(jitter, 1.0)

    def hold(self, seconds: float) -> None:
        """Keep every request from being sent for so long: a rate limit is one for all."""
        with self._lock:
            self._not_before = max(self._not_before, self.clock.now() + seconds)

    def turn(self, deadline: float, stopped: threading.Event) -> bool:
        """Wait until a request may be sent; False if that is past the deadline or all stops."""
        while not stopped.is_set():
            with self._lock:
                left = self._not_before - self.clock.now()
            if left <= 0:
                return self.clock.now() < deadline
            if self.clock.now() + left >= deadline:
                return False
            self.pause(left, stopped)
        return False

    def pause(self, seconds: float, stopped: threading.Event) -> None:
        """Wait so long, or until all stops."""
        if self.clock.sleep is not None:
            self.clock.sleep(seconds)
        else:
            stopped.wait(seconds)

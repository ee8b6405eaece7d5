"""The door every request to a provider goes through, where somebody counts what requests take.

Below embedders and chat models alike. What stands behind the door (``runs.meter``) adds up tokens
and may say that no further request is to be sent.
"""

from __future__ import annotations

import threading
from typing import NamedTuple, Protocol, runtime_checkable

from closecall.records import Tokens

BUDGET_REACHED = "not asked, as what may be spent is spent"
"""Begins the reason of everything that a budget kept from being asked."""

CHARS_A_TOKEN = 4
UNKNOWN_REPLY = 500
"""Rough sizes, for what is under way or never reported: English has about four characters a token,
and a reply without a bound is taken to have 500 tokens."""


MOST_TOKENS = 1 << 32
"""A request takes no more; who says so is not believed, so that sums stay exact."""


MOST_USED = 1 << 50
"""Requests, replies or tokens of a whole run; sums of some stay exact in every JSON."""


def as_count(value: object) -> int | None:
    """Return a number of tokens as a server sent it; None unless a whole one in its range."""
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else None


def are_counts(tokens: object) -> bool:
    """Whether these are counts of a text's tokens that a run can keep, or None for unknown."""
    return tokens is None or (
        isinstance(tokens, Tokens)
        and None not in map(as_count, (tokens.seen, tokens.total, tokens.windows))
        and None not in map(as_count, (tokens.own, tokens.unknown))
    )


class Used(NamedTuple):
    """Tokens of one request; None where the provider does not say, which is no zero."""

    prompt: int | None = None
    completion: int | None = None


class Size(NamedTuple):
    """About how many tokens a request takes at most, as far as can be told before it is sent."""

    prompt: int = 0
    completion: int = 0


class Gate(Protocol):
    """Counts the requests of one model in one role; safe to use from several threads."""

    @property
    def limited(self) -> bool:
        """Whether it may ever close."""
        ...

    def enter(self, size: Size, stopped: threading.Event) -> bool:
        """Return whether a request may be sent; may wait for others that are under way.

        Where it may, ``leave`` with the same size has to follow, whatever becomes of it.
        """
        ...

    def spend(self, used: Used, size: Size) -> None:
        """Count one request that was sent and answered, or whose fate is not known."""
        ...

    def replayed(self, used: Used) -> None:
        """Count one reply that came from a recording, with the tokens it took back then."""
        ...

    def leave(self, size: Size) -> None:
        """End what ``enter`` began."""
        ...


@runtime_checkable
class GatedEmbedder(Protocol):
    """An embedder whose requests pass a gate, itself or behind it."""

    @property
    def billed(self) -> tuple[str, str] | None:
        """The provider and the model that its prices go by; None where nobody charges."""
        ...

    def gated_by(self, gate: Gate) -> None:
        """Send every request from now on through a gate."""
        ...


class Ungated:
    """A door that is always open and counts nothing."""

    limited = False

    def enter(self, size: Size, stopped: threading.Event) -> bool:
        """Return True."""
        del size, stopped
        return True

    def spend(self, used: Used, size: Size) -> None:
        """Do nothing."""

    def replayed(self, used: Used) -> None:
        """Do nothing."""

    def leave(self, size: Size) -> None:
        """Do nothing."""


OPEN = Ungated()

"""The nouns: cases, roles, measurements, states.

Frozen records without behaviour beyond their own invariants. Nothing here needs numpy.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Any

import msgspec

JSON = Any
"""A value ``json`` can write: str, int, finite float, bool, None, list or dict of these."""


def is_whole_text(text: str) -> bool:
    """Return whether a text can be written as UTF-8: it holds no surrogate without its other half.

    Tokenizers, files and hashes take UTF-8 only, so no other text can be read, kept or embedded.
    """
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


class Label(StrEnum):
    """What a person said of a response."""

    ACCEPT = "accept"
    REJECT = "reject"


class Role(StrEnum):
    """What a text is to the model: picks its prefix and is part of the cache key."""

    QUERY = "query"
    DOCUMENT = "document"
    TEXT = "text"


class State(StrEnum):
    """What became of one metric on one case.

    The first five are measured; the last four are absences: a reason, no score, never a pass and
    never a fail.
    """

    PASSED = "passed"
    FAILED = "failed"
    WARN = "warn"
    INCONCLUSIVE = "inconclusive"
    SCORED = "scored"
    NOT_MEASURED = "not_measured"
    NOT_APPLICABLE = "not_applicable"
    SKIPPED = "skipped"
    ERROR = "error"

    @property
    def measured(self) -> bool:
        """Whether a number stands behind this state."""
        return self not in ABSENCES


ABSENCES = frozenset({State.NOT_MEASURED, State.NOT_APPLICABLE, State.SKIPPED, State.ERROR})


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One row to evaluate. All texts; a missing text is None, a missing list is empty.

    ``group`` is the unit that is exchangeable (a question, a document): cases of one group are
    never split between fitting and testing. ``metadata`` keeps the fields closecall does not
    know, as they came. ``place`` says where the case came from (``file:line``).
    """

    id: str
    input: str | None = None
    response: str | None = None
    references: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    label: Label | None = None
    group: str | None = None
    tags: tuple[str, ...] = ()
    metadata: dict[str, JSON] = {}
    place: str = ""


class Tokens(msgspec.Struct, frozen=True):
    """How much of a text the model saw: ``seen`` of ``total`` tokens, special tokens included.

    ``windows`` is the number of windows the text was read in. ``own`` counts the tokens seen that
    are the text's own, without special tokens and prefix, and ``unknown`` those of them outside
    the model's vocabulary: the model reads them all as one and the same token. Both are 0 where
    an embedder does not report them.
    """

    seen: int
    total: int
    windows: int = 1
    own: int = 0
    unknown: int = 0

    @property
    def truncated(self) -> bool:
        """Whether part of the text was not seen."""
        return self.seen < self.total

    @property
    def unreadable(self) -> bool:
        """Whether the model knows no token of the text, so that its vector says nothing of it."""
        return 0 < self.own <= self.unknown


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """A metric's number on one case.

    ``similarity`` is the raw number in its native range (cosine: -1 to 1). ``value`` is the
    number a cutoff is compared with, on the metric's own scale. ``score`` is the same on 0 to
    100, or None where the native range has no bounds. All are finite.
    ``tokens`` maps a text's name (``response``, ``reference``, ...) to what the model saw of it.
    """

    similarity: float
    value: float
    score: float | None
    details: dict[str, JSON] = {}
    tokens: dict[str, Tokens] = {}

    def __post_init__(self) -> None:
        for name in ("similarity", "value", "score"):
            number = getattr(self, name)
            if number is not None and not math.isfinite(number):
                raise ValueError(f"{name} must be finite, got {number}")


class Unmeasured(msgspec.Struct, frozen=True):
    """The typed absence of a number: a state and the reason for it.

    A reason's first line says what happened, in words that are the same for every case of it, by
    which it is counted; further lines say what differs from case to case.
    """

    reason: str
    state: State = State.NOT_MEASURED

    def __post_init__(self) -> None:
        if self.state not in ABSENCES:
            raise ValueError(f"{self.state} is not an absence")
        if not self.reason.strip():
            raise ValueError("an absence needs a reason")

    @property
    def cause(self) -> str:
        """The first line of the reason: the same for every case that this happened to."""
        return self.reason.strip().partition("\n")[0].rstrip()


Measurement = Measured | Unmeasured

"""What a question asks for, as far as its first words tell."""

from __future__ import annotations

from closecall.metrics.guards.words import listed, words

_WHO = listed("who whom whose where wer wem wen wessen wo qui ou quien quienes donde")
_OPENING = 4
_READ = 200


def asks_who_or_where(question: str | None) -> bool:
    """Return whether a question asks for a person or a place.

    >>> asks_who_or_where("In 1999, who won?"), asks_who_or_where("When was it won?")
    (True, False)
    """
    opening = words((question or "")[:_READ])[:_OPENING]
    return any(word.fold in _WHO for word in opening)

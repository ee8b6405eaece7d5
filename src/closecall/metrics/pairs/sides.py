"""Which texts of a case a pair model reads, and in which order."""

from __future__ import annotations

from typing import NamedTuple

from closecall.metrics.sides import input_side, not_blank, reference_side, response_side
from closecall.records import Case, Unmeasured

REFERENCE, CONTEXT, QUERY = "reference", "context", "query"
SIDES = (REFERENCE, CONTEXT, QUERY)

AUTO, BOTH, TO_RESPONSE, FROM_RESPONSE = "auto", "both", "to_response", "from_response"
DIRECTIONS = (AUTO, BOTH, TO_RESPONSE, FROM_RESPONSE)

NEEDS = {
    REFERENCE: ("references", "response"),
    CONTEXT: ("context", "response"),
    QUERY: ("input", "response"),
}

SHOWN = {TO_RESPONSE: "toResponse", FROM_RESPONSE: "fromResponse"}
"""What the details call a direction."""

PLURAL = {REFERENCE: "References", CONTEXT: "Passages"}
FIELD = {REFERENCE: "reference", CONTEXT: "context", QUERY: "input"}
"""What tokens are reported under."""

SINGULAR = {REFERENCE: "reference", CONTEXT: "passage", QUERY: "input"}


class Texts(NamedTuple):
    """The texts of one case: alternatives against the response.

    ``written`` is the index of each alternative in the case as the user wrote it. ``question``
    is put before both texts of a pair, where it is not empty.
    """

    others: tuple[str, ...]
    written: tuple[int, ...]
    response: str
    question: str


def texts_of(case: Case, sides: str, *, question: bool, needed: bool) -> Texts | Unmeasured:
    """Return the texts of a case, or what is missing.

    Parameters
    ----------
    sides
        ``reference``, ``context`` or ``query``.
    question
        Whether the case's input is put before both texts, where it has one.
    needed
        Whether a case without an input is not measured then.
    """
    response = response_side(case)
    if sides == CONTEXT:
        written, others = not_blank(case.context)
        if not others:
            given = "blank" if case.context else "missing"
            return Unmeasured(f"the case's context is {given}")
    else:
        side = reference_side(case) if sides == REFERENCE else input_side(case)
        if isinstance(side, Unmeasured):
            return side
        written, others = side.written, side.texts
    if isinstance(response, Unmeasured):
        return response
    asked = input_side(case) if question else None
    if needed and isinstance(asked, Unmeasured):
        return asked
    before = "" if asked is None or isinstance(asked, Unmeasured) else asked.texts[0]
    return Texts(others, written, response.texts[0], before)

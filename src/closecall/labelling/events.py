"""What one key does: an event, as a line of a journal of labels."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal, TypeAlias

import msgspec

from closecall.records import Label

Kind: TypeAlias = Literal[
    "accept", "reject", "unsure", "note", "undo", "resolve_accept", "resolve_reject"
]

LABELS: dict[Kind, Label] = {
    "accept": Label.ACCEPT,
    "reject": Label.REJECT,
    "resolve_accept": Label.ACCEPT,
    "resolve_reject": Label.REJECT,
}
RESOLVES: dict[Label, Kind] = {Label.ACCEPT: "resolve_accept", Label.REJECT: "resolve_reject"}

MOST_NOTE = 10_000
"""Characters of a note."""


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One key of one annotator on one case.

    ``number`` counts the events of a journal from 1. ``item`` (32 hex digits) stands for the
    case's question, response, references and context, so that a label never passes to a text
    that changed. ``order`` is how the case came up (``plan:0``, ``file``, ``random:7``,
    ``second:0``, ``resolve``); ``drawn`` says that it was drawn at random. ``undoes`` is the
    number of the event that an undo takes back.
    """

    number: int
    event: Kind
    id: str
    item: str
    annotator: str
    at: str
    order: str
    drawn: bool = False
    note: str = ""
    undoes: int = 0


def now() -> str:
    """Return the time in UTC, in ISO 8601 to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

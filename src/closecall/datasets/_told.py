"""Counts of a pass as sentences for the run's header."""

from __future__ import annotations

from closecall.datasets import _values
from closecall.datasets._values import Notes

_SENTENCES = {
    _values.NUMBER: "`{column}`: {count} read as text (a number or true/false)",
    _values.PASSAGE: "`{column}`: {count} taken from an object's content, text or page_content",
    _values.LIST_CELL: "`{column}`: {count} read as a list written in the cell",
    _values.RENAMED: "{count} renamed (id#2, id#3), because an earlier case has the id",
    _values.ENCODED: "{count} with control characters, written as %XX",
    _values.SHORTENED: "{count} longer than 256 characters, shortened with a hash",
}
_NOUNS = {
    _values.NUMBER: "value",
    _values.PASSAGE: "passage",
    _values.LIST_CELL: "value",
    _values.RENAMED: "id",
    _values.ENCODED: "id",
    _values.SHORTENED: "id",
}


def told(notes: Notes) -> tuple[str, ...]:
    """Return a sentence for each thing counted, in a fixed order."""
    return tuple(
        _SENTENCES[what].format(column=column, count=_count(count, _NOUNS[what]))
        for what in _SENTENCES
        for (kind, column), count in sorted(notes.items())
        if kind == what
    )


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"

"""Counts of a pass as sentences for the run's header."""

from __future__ import annotations

from closecall.datasets import _values
from closecall.datasets._values import Notes

_SENTENCES = {
    _values.NUMBER: "`{column}`: {count} read as text (a number or true/false)",
    _values.PASSAGE: "`{column}`: {count} taken from an object's content, text or page_content",
    _values.LIST_CELL: "`{column}`: {count} read as a list written in the cell",
    _values.REPEATED: "{count} more than once: {renamed}",
    _values.ENCODED: "{count} with control characters, written as %XX",
    _values.SHORTENED: "{count} longer than 256 characters, shortened with a hash",
}
_NOUNS = {
    _values.NUMBER: ("value", "values"),
    _values.PASSAGE: ("passage", "passages"),
    _values.LIST_CELL: ("value", "values"),
    _values.REPEATED: ("id occurs", "ids occur"),
    _values.ENCODED: ("id", "ids"),
    _values.SHORTENED: ("id", "ids"),
}
_ORDINALS = ("second", "third", "fourth")


def told(notes: Notes) -> tuple[str, ...]:
    """Return a sentence for each thing counted, in a fixed order."""
    return tuple(
        sentence.format(
            column=column, count=f"{count} {_NOUNS[what][count != 1]}", renamed=_renamed(notes)
        )
        for what, sentence in _SENTENCES.items()
        for (kind, column), count in sorted(notes.items())
        if kind == what
    )


def _renamed(notes: Notes) -> str:
    """Return the first ids that were changed, with what they became, and how many more."""
    seen: list[str] = []
    parts: list[str] = []
    for old, new in notes.renamed:
        parts.append(f"the {_ORDINALS[seen.count(old)]} `{old}` is now `{new}`")
        seen.append(old)
    more = notes[_values.RENAMED, ""] - len(parts)
    return ", ".join(parts) + (f", and {more} more" if more else "")

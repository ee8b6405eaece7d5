"""What an edit is, and the families of edits."""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["wrong", "harmless"]
Span = tuple[int, int]

WRONG: dict[str, str] = {
    "number": "a number changed beyond rounding",
    "unit": "a unit or a scale changed (km to miles, million to billion)",
    "date": "a year, a month, a day or a time of day changed",
    "negation": "a statement negated, or a negation taken out",
    "entity": "a name replaced by a name from another case",
    "quantifier": "all turned into some, always into never, at least into at most",
    "other_answer": "the answer to the most similar other question",
}
"""Families of edits that make an answer wrong, and what each does."""

HARMLESS: dict[str, str] = {
    "unchanged": "nothing changed",
    "other_reference": "one reference, scored against the others of its case",
    "case": "capital or small letters",
    "punctuation": "a final dot, quotation marks, blanks",
    "list_order": "the items of a list in another order",
    "politeness": "a polite word before or after",
    "markdown": "bold type, a bullet, line breaks",
}
"""Families of edits that leave an answer as right as it was, and what each does."""

FAMILIES: dict[str, Kind] = {
    **dict.fromkeys(WRONG, "wrong"),
    **dict.fromkeys(HARMLESS, "harmless"),
}


class Edit(NamedTuple):
    """One edited text: ``before`` became ``after`` at ``span``, in characters of the old text."""

    text: str
    family: str
    before: str
    after: str
    span: Span


class Piece(NamedTuple):
    """A piece of a text and what takes its place."""

    start: int
    end: int
    after: str


def edited(text: str, family: str, *pieces: Piece) -> Edit:
    """Return a text with one or more pieces replaced; they must not overlap."""
    ordered = sorted(pieces)
    out: list[str] = []
    last = 0
    for piece in ordered:
        out += [text[last : piece.start], piece.after]
        last = piece.end
    out.append(text[last:])
    return Edit(
        "".join(out),
        family,
        " ... ".join(text[piece.start : piece.end] for piece in ordered),
        " ... ".join(piece.after for piece in ordered),
        (ordered[0].start, ordered[-1].end),
    )


def cased_like(word: str, model: str) -> str:
    """Return a word with the capital letters that another has: none, the first, or all."""
    if len(model) > 1 and model.isupper():
        return word.upper()
    if model[:1].isupper():
        return word[:1].upper() + word[1:]
    return word


def whole(text: str, family: str, after: str) -> Edit:
    """Return an edit that replaces a text as a whole."""
    return Edit(after, family, text, after, (0, len(text)))

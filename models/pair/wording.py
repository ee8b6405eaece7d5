"""How a made statement becomes a row: framed alike, with a full stop or without."""

from __future__ import annotations

from random import Random

from pair.everyday import NEAR, PEOPLE
from pair.rows import Row


def row(rng: Random, first: str, response: str, *, accept: bool, kind: str) -> Row:
    """Return a row, both texts now and then in the same frame, with or without a full stop."""
    if rng.random() < 0.15:
        frame = rng.choice(NEAR)
        first, response = (frame.format(lowered(text)) for text in (first, response))
        first, response = first[0].upper() + first[1:], response[0].upper() + response[1:]
    if rng.random() < 0.8:
        first, response = first + ".", response + "."
    if rng.random() < 0.1:
        first, response = first.lower(), response.lower()
    return Row(first, response, accept, f"made {kind}", f"made {kind} {first}")


def lowered(text: str) -> str:
    """Return a text that stands within a sentence; a name keeps its capital."""
    word = text.split(" ", 1)[0]
    return text if word in PEOPLE or word == "I" else text[0].lower() + text[1:]


def many(noun: str) -> str:
    """Return the plural of one of our nouns."""
    if noun == "child":
        return "children"
    if noun in ("salmon", "trout", "tuna", "fish"):
        return noun
    if noun[-1] == "y" and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh", "o")) and noun != "piano" else "s")

"""Keys: held so that no printed form shows them, and taken out of what servers say."""

from __future__ import annotations

import re
from typing import NoReturn

MASK = "[key]"

# A part of a key this long is taken for the key: servers echo keys in full or in part.
_PART = 8
_SHORTEST = 4
_LOOKS_LIKE_A_KEY = re.compile(r"\b(?:sk|pk|rk)-[\w*.\-]{4,}|(?i:\bbearer\s+)[\w*.\-~+/=]{4,}")


class Secret:
    """A text that only ``reveal`` shows: not ``str``, ``repr``, ``format``, pickle or a copy.

    Parameters
    ----------
    value
        The text.
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the text; call it only where it is put into a request."""
        return self._value

    def __repr__(self) -> str:
        return MASK

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return MASK

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key cannot be pickled or copied")


def redact(text: str, key: Secret) -> str:
    """Return the text without the key, parts of it, and whatever looks like a key.

    Parameters
    ----------
    text
        What a server or a library said.
    key
        The key that was sent; any eight neighbouring characters of it are masked.
    """
    value = key.reveal()
    if len(value) >= _SHORTEST:
        size = min(_PART, len(value))
        parts = {value[at : at + size] for at in range(len(value) - size + 1)}
        hidden = [False] * len(text)
        for at in range(len(text) - size + 1):
            if text[at : at + size] in parts:
                hidden[at : at + size] = [True] * size
        text = _masked(text, hidden)
    return _LOOKS_LIKE_A_KEY.sub(MASK, text)


def _masked(text: str, hidden: list[bool]) -> str:
    shown: list[str] = []
    for character, hide in zip(text, hidden, strict=True):
        if not hide:
            shown.append(character)
        elif not shown or shown[-1] != MASK:
            shown.append(MASK)
    return "".join(shown)

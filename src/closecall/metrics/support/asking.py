"""One batch of questions to a pair model: each text cut once, each distinct pair read once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from closecall.errors import ClosecallError
from closecall.metrics.support.cutting import Part, no_longer, sentence_parts
from closecall.metrics.support.reader import FRAME, PairReader
from closecall.metrics.support.texts import excerpt

Values = NDArray[np.float64]
"""(n,), 0 to 1: what the model says of each pair."""


class UnreadableError(ClosecallError):
    """A text that the model cannot read; its message becomes the reason of an absence."""


class Fitted(NamedTuple):
    """A text as far as it is read: ``text`` is given to the model, ``tokens`` of ``total``.

    ``parts`` are the parts that are read, of ``of`` in all, and ``taken`` their numbers; a text
    that is read whole is one part.
    """

    text: str
    tokens: int
    total: int
    parts: tuple[Part, ...]
    taken: tuple[int, ...]
    of: int

    @property
    def whole(self) -> bool:
        """Whether all of it is read."""
        return len(self.parts) == self.of


class Asking:
    """What is asked of a model about a batch of cases; asked once, when all is known."""

    def __init__(self, model: PairReader) -> None:
        self._model = model
        self._counts: dict[str, int] = {}
        self._unreadable: dict[str, str | None] = {}
        self._sentences: dict[str, list[Part]] = {}
        self._pairs: dict[tuple[str, str], int] = {}
        self.capacity = model.window - FRAME
        """Tokens of both texts of a pair together."""

    def count(self, text: str) -> int:
        """Return the tokens of a text."""
        found = self._counts.get(text)
        if found is None:
            found = self._counts[text] = self._model.count(text)
        return found

    def unreadable(self, text: str) -> str | None:
        """Return why a text cannot be read, None if it can."""
        if text not in self._unreadable:
            self._unreadable[text] = self._model.unreadable(text)
        return self._unreadable[text]

    def require(self, name: str, text: str) -> None:
        """Refuse a text that cannot be read.

        Raises
        ------
        UnreadableError
            Says which it is, and why.
        """
        why = self.unreadable(text)
        if why is not None:
            raise UnreadableError(f"the {name} {why}")

    def sentences(self, text: str) -> list[Part]:
        """Return the sentences of a text, however long each is."""
        found = self._sentences.get(text)
        if found is None:
            found = self._sentences[text] = sentence_parts(text, self.count)
        return found

    def fitted(self, text: str, covered: str, room: int, least: int) -> Fitted:
        """Return a text, or of one longer than ``room`` what covers another text's words best.

        Parameters
        ----------
        text
            Not blank.
        covered
            The text whose words decide what is read.
        room
            Tokens at most.
        least
            A sentence longer than the room is read in pieces of at most so many tokens.
        """
        total = self.count(text)
        if total <= room:
            return Fitted(text.strip(), total, total, (Part(0, len(text), total),), (0,), 1)
        parts: list[Part] = []
        for sentence in self.sentences(text):
            size = room if sentence.tokens <= room else least
            parts += no_longer(text, [sentence], size, self.count)
        return self.chosen([part.of(text) for part in parts], parts, covered, room)

    def chosen(
        self,
        texts: Sequence[str],
        parts: Sequence[Part],
        covered: str,
        room: int,
        passages: Sequence[int] | None = None,
    ) -> Fitted:
        """Return the parts that cover another text's words best; see ``excerpt``."""
        taken = excerpt(texts, [part.tokens for part in parts], covered, room, passages)
        return Fitted(
            " ".join(texts[at] for at in taken),
            sum(parts[at].tokens for at in taken),
            sum(part.tokens for part in parts),
            tuple(parts[at] for at in taken),
            tuple(taken),
            len(parts),
        )

    def add(self, first: str, second: str) -> int:
        """Return the place of a pair among those that are asked; equal pairs have one."""
        return self._pairs.setdefault((first, second), len(self._pairs))

    def values(self) -> Values:
        """Return what the model says of each pair, by its place."""
        if not self._pairs:
            return np.empty(0)
        return self._model.score(list(self._pairs))

"""An embedder made of hashes, for tests that need no model."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from closecall.embedders.awaitable import Awaitable
from closecall.embedders.base import Counted, Pieced, Pieces, Vectors
from closecall.instrument import TEST_KIND, Instrument, canonical_text
from closecall.records import Role, Tokens

Drawn: TypeAlias = NDArray[np.float64]

_LONGEST = 64
"""Characters of a word that is worth keeping."""


class HashEmbedder(Awaitable):
    """An embedder whose vectors follow from the words of a text alone.

    Each word (split at white space, lower case) adds a fixed pseudo-random unit vector, so texts
    that share words are close, equal texts are equal, and results are the same everywhere. It
    knows nothing of meaning. Each word is a piece whose vector is the word's own, whatever
    stands beside it.

    Parameters
    ----------
    dims
        Width of a vector.
    on_embed
        Called with the texts of every request; raise in it to play a failing embedder.
    """

    def __init__(
        self,
        dims: int = 64,
        *,
        model: str = "hash-words",
        on_embed: Callable[[Sequence[str]], None] | None = None,
    ) -> None:
        self._instrument = Instrument(kind=TEST_KIND, model=model, provider="local", dims=dims)
        self._on_embed = on_embed
        self.texts: list[str] = []

    @property
    def instrument(self) -> Instrument:
        """The identity of this embedder."""
        return self._instrument

    def embed(self, texts: Sequence[str], role: Role = Role.TEXT) -> Vectors:
        """Return one unit vector a text: float32, (n, dims)."""
        return self.embed_counted(texts, role).vectors

    def embed_counted(self, texts: Sequence[str], role: Role = Role.TEXT) -> Counted:
        """Like ``embed``, with one token a word."""
        del role
        if self._on_embed is not None:
            self._on_embed(texts)
        self.texts.extend(texts)
        vectors = np.zeros((len(texts), self._instrument.dims))
        tokens = []
        for row, text in enumerate(texts):
            words = text.lower().split() or [""]
            for word in words:
                vectors[row] += self._word(word)
            tokens.append(Tokens(len(words), len(words), own=len(words)))
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return Counted((vectors / np.where(norms, norms, 1.0)).astype(np.float32), tokens)

    def embed_pieces(self, texts: Sequence[str], role: Role = Role.TEXT) -> list[Pieced]:
        """Like ``embed_counted``, with each word as a piece; a blank text has none."""
        vectors, tokens = self.embed_counted(texts, role)
        pieces = [self._pieces(canonical_text(text)) for text in texts]
        return [Pieced(*found) for found in zip(vectors, tokens, pieces, strict=True)]

    def _pieces(self, text: str) -> Pieces:
        words = list(re.finditer(r"\S+", text))
        rows = np.empty((len(words), self._instrument.dims), dtype=np.float32)
        for row, word in enumerate(words):
            rows[row] = self._word(word.group().lower())
        rows.flags.writeable = False
        return Pieces(rows, tuple(word.span() for word in words))

    def _word(self, word: str) -> Drawn:
        draw = _drawn if len(word) <= _LONGEST else _drawn.__wrapped__
        return draw(word, self._instrument.dims)


@lru_cache(maxsize=1 << 12)
def _drawn(word: str, dims: int) -> Drawn:
    """Return the unit vector of a word, (dims,) float64: drawn once, as texts repeat words."""
    seed = int.from_bytes(hashlib.sha256(word.encode("utf-8", "surrogatepass")).digest()[:8])
    drawn = np.random.default_rng(seed).standard_normal(dims)
    unit = drawn / float(np.linalg.norm(drawn))
    unit.flags.writeable = False
    return unit

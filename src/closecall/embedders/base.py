"""The contract of an embedder, below every implementation of it.

Whoever writes an embedder gives ``instrument`` and ``embed``. Order, batching by length, the
cache, checks of width and finiteness, and the splitting off of texts that fail are closecall's.
An embedder may have ``load()`` (``LoadingEmbedder``), may count tokens (``CountingEmbedder``)
and may give each token of a text a vector of its own (``PieceEmbedder``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from closecall.errors import EmbeddingError
from closecall.instrument import Instrument
from closecall.records import Role, Tokens

Vectors: TypeAlias = NDArray[np.float32]
"""float32, (n, d)."""

Vector: TypeAlias = NDArray[np.float32]
"""float32, (d,)."""


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors."""

    @property
    def instrument(self) -> Instrument:
        """The identity of this embedder; never changes during its life."""
        ...

    def embed(self, texts: Sequence[str], role: Role = Role.TEXT) -> Vectors:
        """Return one vector per text, in the order asked: float32, (n, d), finite.

        Raises
        ------
        EmbeddingError
            With ``indices`` when only some texts are at fault.
        """
        ...


class Counted(NamedTuple):
    """Vectors with what the model saw of each text."""

    vectors: Vectors
    tokens: Sequence[Tokens | None]


@runtime_checkable
class CountingEmbedder(Embedder, Protocol):
    """An embedder that also says how many tokens of each text it saw."""

    def embed_counted(self, texts: Sequence[str], role: Role = Role.TEXT) -> Counted:
        """Like ``embed``, with tokens seen and total per text."""
        ...


@runtime_checkable
class LoadingEmbedder(Embedder, Protocol):
    """An embedder that can make itself ready before the first text comes."""

    def load(self) -> None:
        """Load whatever ``embed`` would load with the first text; calling it again does nothing.

        Called before a run begins, so that what would fail every text stops the run instead.

        Raises
        ------
        ConfigurationError
            If this embedder cannot be used at all.
        """
        ...


@runtime_checkable
class CheckableEmbedder(LoadingEmbedder, Protocol):
    """An embedder that can see what would keep it from loading, for much less than loading takes.

    A run that finds every vector in its store then never loads the model.
    """

    def check_files(self) -> None:
        """Refuse now what ``load`` would refuse of the files it reads.

        Raises
        ------
        ConfigurationError
            If one is missing, or is not the one its instrument stands for.
        """
        ...


class Pieces(NamedTuple):
    """A text token by token: what the model made of each, and where in the text it stands.

    ``vectors`` is float32, (t, d), read-only, each row of length 1. ``spans`` holds t pairs
    (start, end) of character offsets into the canonical text (see ``canonical_text``), starts
    and ends each in ascending order; one character may make several tokens, which then share its
    span.

    Left out are the model's special tokens, the prefix of the role, tokens that stand for no
    sign of the text, and tokens outside the model's vocabulary, whose vectors are one and the
    same whatever the word was (``Tokens.unknown`` counts those). So t may be 0, and it is at most
    ``Tokens.own``. Of a text that was cut short there are the tokens that were seen.
    """

    vectors: Vectors
    spans: tuple[tuple[int, int], ...]


class Pieced(NamedTuple):
    """One text's vector, what the model saw of it, and its pieces, all from one pass."""

    vector: Vector
    tokens: Tokens | None
    pieces: Pieces


@runtime_checkable
class PieceEmbedder(Embedder, Protocol):
    """An embedder that also gives each token of a text a vector of its own.

    Where these have another width than the texts' vectors, ``piece_dims`` says which.
    """

    def embed_pieces(self, texts: Sequence[str], role: Role = Role.TEXT) -> Sequence[Pieced]:
        """Return one entry a text, in the order asked, its vector as ``embed`` gives it.

        Raises
        ------
        NoPiecesError
            If this embedder makes no token vectors after all, as its model has none.
        EmbeddingError
            With ``indices`` when only some texts are at fault.
        """
        ...


class NoPiecesError(EmbeddingError):
    """A model gives one vector a text and none for its tokens, whatever the text."""


class Usage(NamedTuple):
    """What a provider reported of its use, for every reply there was, failed ones included.

    ``replies`` counts replies, ``unreported`` those that said nothing of tokens, ``reported``
    adds up the prompt tokens of the others.
    """

    replies: int = 0
    unreported: int = 0
    reported: int = 0

    @property
    def prompt_tokens(self) -> int | None:
        """All prompt tokens; None where any reply left its own out, or there was none."""
        return self.reported if self.replies and not self.unreported else None


@runtime_checkable
class MeteredEmbedder(Embedder, Protocol):
    """An embedder whose provider says how much of it was used."""

    @property
    def usage(self) -> Usage:
        """What was reported so far."""
        ...


class TextKey(NamedTuple):
    """A text and what it is to the model; ``pieces``: whether its token vectors are wanted."""

    text: str
    role: Role = Role.TEXT
    pieces: bool = False


class Embedded(NamedTuple):
    """One text's vector: float32, (d,), finite, not zero; tokens None when unknown.

    ``pieces`` is there exactly where the key asked for it.
    """

    vector: Vector
    tokens: Tokens | None = None
    pieces: Pieces | None = None


class Failure(NamedTuple):
    """Why a text has no vector, or none for its tokens where those were asked for.

    ``unreadable`` where the model knows no word or sign of it, so that it never has one.
    ``no_pieces`` where the embedder makes token vectors of no text at all; the text may still
    have a vector under the key that asks for no pieces.
    """

    reason: str
    unreadable: bool = False
    no_pieces: bool = False


class VectorStore(Protocol):
    """Where vectors are kept between runs; keys come from ``instrument.cache_key``."""

    def get_many(self, instrument: Instrument, keys: Sequence[bytes]) -> dict[bytes, Embedded]:
        """Return those of ``keys`` that are stored, in one query."""
        ...

    def put_many(
        self,
        instrument: Instrument,
        rows: Iterable[tuple[bytes, TextKey, Embedded]],
    ) -> None:
        """Store vectors, in one transaction; a key already there is left as it is."""
        ...

    def close(self) -> None:
        """Finish; later calls are errors."""
        ...


@runtime_checkable
class KnowingStore(VectorStore, Protocol):
    """A store that can say whether it ever held a vector of an instrument."""

    def knows(self, instrument: Instrument) -> bool:
        """Return whether vectors of this instrument were stored; they may be gone by now."""
        ...


VectorLookup: TypeAlias = Mapping[TextKey, Embedded | Failure]

"""The contract of an embedder, below every implementation of it.

Whoever writes an embedder gives ``instrument`` and ``embed``. Order, batching by length, the
cache, checks of width and finiteness, and the splitting off of texts that fail are closecall's.
An embedder may have ``load()`` (``LoadingEmbedder``) and may count tokens (``CountingEmbedder``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

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


class TextKey(NamedTuple):
    """A text and what it is to the model."""

    text: str
    role: Role = Role.TEXT


class Embedded(NamedTuple):
    """One text's vector: float32, (d,), finite, not zero; tokens None when unknown."""

    vector: Vector
    tokens: Tokens | None = None


class Failure(NamedTuple):
    """Why a text has no vector."""

    reason: str


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


VectorLookup: TypeAlias = Mapping[TextKey, Embedded | Failure]

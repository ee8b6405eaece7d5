"""The contract of an index, whatever finds its neighbours."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

from numpy.typing import ArrayLike

from closecall.embedders.base import Embedder
from closecall.index.exact import Neighbours
from closecall.index.filters import Where
from closecall.index.recall import Recall
from closecall.index.rows import Row
from closecall.instrument import Instrument

Queries: TypeAlias = ArrayLike | str | Sequence[str]
"""Vectors, (d,) or (q, d); or one text or several, embedded as queries."""


class Hit(NamedTuple):
    """A row that was found: ``score`` is its similarity to the query, higher is closer."""

    id: str
    score: float
    text: str
    metadata: Mapping[str, Any]


@runtime_checkable
class Index(Protocol):
    """Rows by id, and the nearest of them to a query."""

    @property
    def instrument(self) -> Instrument | None:
        """What made the vectors; None where they came without saying."""
        ...

    @property
    def recall(self) -> Recall | None:
        """What was measured when it was built; None for the kinds that look at every row."""
        ...

    def __len__(self) -> int:
        """Return how many rows there are."""
        ...

    def search(
        self,
        queries: Queries,
        k: int = 10,
        *,
        where: Where | None = None,
        embedder: Embedder | None = None,
        instrument: Instrument | None = None,
    ) -> tuple[tuple[Hit, ...], ...]:
        """Return the nearest rows of each query, best first, equal scores by id."""
        ...

    def add(
        self,
        rows: Iterable[Row | Sequence[Any]],
        *,
        vectors: ArrayLike | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        """Add rows whose ids are new; all of them or, on an error, none."""
        ...

    def replace(
        self,
        rows: Iterable[Row | Sequence[Any]],
        *,
        vectors: ArrayLike | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        """Put rows in the place of those with their ids; all of them or, on an error, none."""
        ...

    def remove(self, ids: Iterable[str]) -> None:
        """Remove rows; all of them or, on an error, none."""
        ...

    def save(self, path: str | os.PathLike[str] | None = None) -> None:
        """Write the index to a folder, which it then reads from."""
        ...

    def nearest(
        self, queries: ArrayLike, k: int = 10, *, where: Where | None = None
    ) -> Neighbours:
        """Return positions and similarities alone, for many queries."""
        ...

"""What the metrics ask of a pair model: the bundled one, or one that a caller gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

FRAME = 3
"""Tokens of a pair that are of neither text: one before, one between, one behind."""


class Identified(Protocol):
    """What a model's values depend on."""

    @property
    def digest(self) -> str:
        """A short digest of it."""
        ...


class PairReader(Protocol):
    """Reads two texts together.

    The digest of its ``identity`` stands in the version of every metric that asks it; ``window``
    is how many tokens a pair may have, the ``FRAME`` among them. One that has ``load()`` is
    loaded before a run begins.
    """

    @property
    def name(self) -> str:
        """What people call it."""
        ...

    @property
    def identity(self) -> Identified:
        """Whatever decides its values."""
        ...

    @property
    def window(self) -> int:
        """Most tokens of a pair."""
        ...

    def count(self, text: str) -> int:
        """Return the tokens of a text, those of the frame not among them."""
        ...

    def unreadable(self, text: str) -> str | None:
        """Return why a text cannot be scored whatever its length, in words; None if it can."""
        ...

    def score(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """Return how acceptable each second text is beside its first: (n,), 0 to 1, finite.

        A value does not depend on what else is asked. Nothing is cut.

        Raises
        ------
        ClosecallError
            A pair is longer than the window, a text is unreadable, or the model fails.
        """
        ...

"""Embedding from asynchronous code, through a thread: no second interface beside the first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from closecall.embedders.base import Embedder, Vectors
from closecall.records import Role

STEP = 64
"""Texts embedded between two looks at whether the caller still waits."""


async def aembed(
    embedder: Embedder, texts: Sequence[str], role: Role = Role.TEXT, *, step: int = STEP
) -> Vectors:
    """Return what ``embedder.embed`` returns, while the event loop goes on: float32, (n, d).

    The texts go through a thread, ``step`` at a time. A caller that is cancelled is let go at
    once; the step under way is finished in its thread and thrown away, and no further one begins.

    Raises
    ------
    EmbeddingError
        As ``embed`` does; ``indices`` count from the first of ``texts``.
    """
    import asyncio

    from closecall.errors import EmbeddingError

    parts = []
    for start in range(0, len(texts), step) or (0,):
        try:
            parts.append(
                await asyncio.to_thread(embedder.embed, texts[start : start + step], role)
            )
        except EmbeddingError as error:
            if error.indices and start:
                error.indices = tuple(start + at for at in error.indices)
            raise
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


class Awaitable:
    """Gives an embedder ``aembed``; see the function of that name."""

    async def aembed(self: Embedder, texts: Sequence[str], role: Role = Role.TEXT) -> Vectors:
        """Return what ``embed`` returns, while the event loop goes on."""
        return await aembed(self, texts, role)

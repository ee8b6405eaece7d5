"""What stands in the place of an embedder in a run of metrics that embed nothing.

Such a run opens no model and asks for no provider's settings, whatever the environment selects.
"""

from __future__ import annotations

from collections.abc import Sequence

from closecall.embedders.base import Vectors
from closecall.errors import EmbeddingError
from closecall.instrument import Instrument
from closecall.records import Role

ABSENT = "none"
"""The name of no embedder, and the kind of its instrument."""

INSTRUMENT = Instrument(kind=ABSENT, model=ABSENT, provider=ABSENT, dims=0, precision="")


class NoEmbedder:
    """An embedder that embeds nothing."""

    @property
    def instrument(self) -> Instrument:
        """The identity of nothing: the same in every run."""
        return INSTRUMENT

    def embed(self, texts: Sequence[str], role: Role = Role.TEXT) -> Vectors:  # noqa: ARG002
        """Refuse, as a metric that is said to embed nothing asks for a vector.

        Raises
        ------
        EmbeddingError
            Always.
        """
        raise EmbeddingError("this run has no embedder, as its metrics are said to embed nothing")


def is_absent(instrument: Instrument) -> bool:
    """Whether a run has no embedder."""
    return instrument.kind == ABSENT

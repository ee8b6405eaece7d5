"""An embedder whose vectors are spread over all directions by a frozen transform.

Which, and when not. With the bundled model, on answers to factual questions in English,
``components:8`` and ``whiten:256`` ranked better: AUC 0.02 to 0.04 up, on answers that they were
not fitted on. At the same rate of false accepts three files of four had more answers accepted;
the fourth as many with ``components:8`` and fewer with ``whiten:256``. Texts of one narrow kind
are the trap: fitted on captions, both lost 0.02 to 0.03 on captions, because what varies most
there is what tells one from another; fitted on the answers they lost nothing there. Negations
are told apart no better. So fit on broad texts, and compare on labels of your own;
``benchmarks/isotropy.py`` has the figures.

Cosines become smaller and unrelated texts lie at about 0, so no cutoff for the plain vectors
holds: calibrate.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from closecall.embedders.awaitable import Awaitable
from closecall.embedders.base import (
    Counted,
    CountingEmbedder,
    Embedder,
    LoadingEmbedder,
    NoPiecesError,
    Pieced,
    PieceEmbedder,
    Vectors,
)
from closecall.embedders.checked import ONE_VECTOR_A_TEXT
from closecall.embedders.isotropy.methods import OPTION, TWICE
from closecall.embedders.isotropy.transform import Floats, Transform
from closecall.embedders.metering import Gate, GatedEmbedder
from closecall.errors import EmbeddingError, InstrumentMismatchError, UsageError
from closecall.instrument import Instrument, differences
from closecall.records import Role


class IsotropicEmbedder(Awaitable):
    """Another embedder's vectors, brought to length 1, transformed, and to length 1 again.

    Its instrument is that of the embedder behind with the method in its name and the transform's
    digest in its options, so vectors are cached, compared and calibrated apart. Vectors that the
    cache holds of the embedder behind are of no use: each text is embedded once more.

    The same text gives the same bytes whatever stands beside it, where it does so in the embedder
    behind. Token vectors are those of the embedder behind, unchanged, with its width.

    Parameters
    ----------
    base
        The embedder behind.
    transform
        What is done to its vectors.
    fitted_with
        The instrument whose vectors the transform was fitted on.
    name
        What errors call the transform, such as its file.

    Raises
    ------
    InstrumentMismatchError
        ``base`` is another instrument than that.
    UsageError
        The vectors of ``base`` are spread already, or of another width.
    """

    def __init__(
        self,
        base: Embedder,
        transform: Transform,
        fitted_with: Instrument,
        *,
        name: str = "the transform",
    ) -> None:
        own = base.instrument
        if OPTION in own.options or OPTION in fitted_with.options:
            raise UsageError(TWICE)
        if own.digest != fitted_with.digest:
            changed = differences(fitted_with, own)
            raise InstrumentMismatchError(
                "\n  ".join(
                    [f"{name} was fitted on vectors of another embedder:", *changed, _ADVICE]
                )
            )
        if transform.dims != own.dims:
            raise UsageError(
                f"{name} takes vectors of {transform.dims} numbers, those of {own.model} "
                f"have {own.dims}"
            )
        self._base = base
        self._transform = transform
        self._instrument = msgspec.structs.replace(
            own,
            model=f"{own.model}+{transform.method}",
            dims=transform.width,
            normalize=True,
            options={**own.options, OPTION: f"{transform.method} sha256:{transform.digest}"},
        )

    @property
    def instrument(self) -> Instrument:
        """The identity of this embedder."""
        return self._instrument

    @property
    def piece_dims(self) -> int:
        """The width of a token vector: that of the embedder behind."""
        return self._transform.dims

    @property
    def billed(self) -> tuple[str, str] | None:
        """As of the embedder behind; see ``GatedEmbedder``."""
        found: tuple[str, str] | None = getattr(self._base, "billed", None)
        return found

    def gated_by(self, gate: Gate) -> None:
        """Have the requests of the embedder behind pass a gate."""
        if isinstance(self._base, GatedEmbedder):
            self._base.gated_by(gate)

    def load(self) -> None:
        """Load the embedder behind now, where it can be.

        Raises
        ------
        ConfigurationError
            It cannot be used at all.
        """
        if isinstance(self._base, LoadingEmbedder):
            self._base.load()

    def embed(self, texts: Sequence[str], role: Role = Role.TEXT) -> Vectors:
        """Return one unit vector a text, in the order asked: float32, (n, width).

        Raises
        ------
        EmbeddingError
            As the embedder behind; also with the ``indices`` of texts of whose vector nothing is
            left, such as one that is the mean.
        """
        return self._spread(self._base.embed(texts, role), len(texts))

    def embed_counted(self, texts: Sequence[str], role: Role = Role.TEXT) -> Counted:
        """Like ``embed``, with tokens seen and total where the embedder behind says them."""
        if not isinstance(self._base, CountingEmbedder):
            return Counted(self.embed(texts, role), [None] * len(texts))
        found = self._base.embed_counted(texts, role)
        return Counted(self._spread(found.vectors, len(texts)), found.tokens)

    def embed_pieces(self, texts: Sequence[str], role: Role = Role.TEXT) -> list[Pieced]:
        """Like ``embed_counted``, with the token vectors of the embedder behind as they are.

        Raises
        ------
        NoPiecesError
            The embedder behind makes none.
        EmbeddingError
            As ``embed``.
        """
        if not isinstance(self._base, PieceEmbedder):
            raise NoPiecesError(ONE_VECTOR_A_TEXT)
        found = self._base.embed_pieces(texts, role)
        vectors = self._spread([one.vector for one in found], len(texts))
        return [one._replace(vector=vector) for one, vector in zip(found, vectors, strict=True)]

    def _spread(self, given: object, count: int) -> Vectors:
        vectors = np.asarray(given, dtype=np.float64)
        wanted = (count, self._transform.dims)
        if not count:
            return np.empty((0, self._transform.width), dtype=np.float32)
        if vectors.shape != wanted:
            raise EmbeddingError(f"expected vectors of shape {wanted}, got {vectors.shape}")
        before = _lengths(vectors)
        _refuse(~(np.isfinite(before) & (before > 0)), "its vector is zero or not finite")
        spread = self._transform.apply(vectors / before[:, None])
        lengths = _lengths(spread)
        _refuse(lengths <= self._transform.noise, _NOTHING_LEFT)
        return (spread / lengths[:, None]).astype(np.float32)


_ADVICE = (
    "Use the embedder and the window it was fitted with, or fit it again: "
    "closecall models isotropy TEXTS -o FILE"
)

_NOTHING_LEFT = (
    "nothing but noise is left of its vector: it is the mean, or lies within what the transform "
    "takes away"
)


def _lengths(vectors: Floats) -> Floats:
    # One row after the other, so that a length does not depend on how many rows there are.
    return np.array([np.sqrt(np.square(row).sum()) for row in vectors])


def _refuse(bad: NDArray[np.bool_], reason: str) -> None:
    indices = np.flatnonzero(bad).tolist()
    if indices:
        shown = ", ".join(f"texts[{index}]" for index in indices[:5])
        more = f" and {len(indices) - 5} more" if len(indices) > 5 else ""  # noqa: PLR2004
        raise EmbeddingError(f"{shown}{more}: {reason}", indices, reason=reason)

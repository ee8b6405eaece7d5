"""Token vectors as an embedder gave them, held against the text they are said to be of."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closecall.embedders.base import Pieces, Vectors
from closecall.instrument import canonical_text

UNIT_TOLERANCE = 1e-3
"""How far the length of a token vector may be from 1."""


def sound_pieces(pieces: object, text: str, width: int) -> Pieces | str:
    """Return pieces that cannot be written to, or what is wrong with them.

    An array that is read-only and nobody's part is kept, any other copied.

    Parameters
    ----------
    pieces
        What an embedder gave for ``text``.
    text
        The text; spans are held against its canonical form.
    width
        How many numbers a vector has.
    """
    given: Any = pieces  # anybody's code made it
    try:
        vectors, spans = given
        array = np.asarray(vectors)
        places = [(index(start), index(end)) for start, end in spans]
    except (TypeError, ValueError) as error:
        return f"it returned pieces that are no vectors with a span each: {error}"
    wrong = _wrong_shape(array, (len(places), width))
    if wrong:
        return wrong
    with np.errstate(over="ignore"):
        array = array.astype(np.float32, copy=False)
    wrong = _wrong_lengths(array) or _wrong_spans(places, len(canonical_text(text)))
    if wrong:
        return wrong
    if array.flags.writeable or array.base is not None:
        # A copy in immutable bytes: the batch's array can go, nobody can write to it.
        array = np.frombuffer(array.tobytes(), dtype=np.float32).reshape(array.shape)
    return Pieces(array, tuple(places))


def _wrong_shape(array: NDArray[Any], wanted: tuple[int, int]) -> str:
    if not np.issubdtype(array.dtype, np.floating):
        return f"it returned token vectors of dtype {array.dtype}, not float32"
    if array.shape != wanted:
        return f"it returned token vectors of shape {array.shape}, not {wanted} as it has spans"
    return ""


def _wrong_lengths(array: Vectors) -> str:
    lengths = np.sqrt(np.square(array, dtype=np.float64).sum(axis=1))
    if not np.isfinite(lengths).all():
        return "it returned a token vector with NaN or infinity"
    if (np.abs(lengths - 1.0) > UNIT_TOLERANCE).any():
        return "it returned a token vector whose length is not 1"
    return ""


def _wrong_spans(places: list[tuple[int, int]], size: int) -> str:
    before = (0, 1)
    for start, end in places:
        if not (before[0] <= start < end <= size and before[1] <= end):
            return (
                f"it returned a span ({start}, {end}) that is empty, out of order or outside the "
                f"text's {size} characters"
            )
        before = (start, end)
    return ""

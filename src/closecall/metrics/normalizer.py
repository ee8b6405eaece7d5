"""Conversions between a similarity (0-1), a score (0-100) and a rating (1-5), and its words.

A score is a rescaled similarity, not a percentage of truth: what a score of 70 is worth depends
on the model and the data.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from closecall.errors import NonFiniteError, UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[Any] | Sequence[Any]
    Floats: TypeAlias = NDArray[np.float64]

DEFAULT_CUTOFF = 70.0

BANDS: tuple[float, ...] = (20.0, 40.0, 60.0, 75.0, 90.0)
"""The lowest score of each label after the first."""

LABELS: tuple[str, ...] = (
    "Very Poor",
    "Poor",
    "Needs Improvement",
    "Satisfactory",
    "Good",
    "Excellent",
)


class ScoreNormalizer:
    """Conversions between scales; every method takes a number or an array of numbers.

    A number gives a number, and numpy is not loaded; an array or a (nested) list gives a numpy
    array of the same shape. Integers and floats are accepted and computed in float64.

    Every method raises ``NonFiniteError`` for NaN or infinity and ``UsageError`` for anything that
    is not a number.
    """

    @overload
    @staticmethod
    def from_similarity(similarity: float) -> float: ...
    @overload
    @staticmethod
    def from_similarity(similarity: Array) -> Floats: ...
    @staticmethod
    def from_similarity(similarity: float | Array) -> float | Floats:
        """Return the score (0-100) of a similarity: clamped to [0, 1], times 100."""
        return _clamped(similarity, "similarity", 0.0, 1.0) * 100.0

    @overload
    @staticmethod
    def to_similarity(score: float) -> float: ...
    @overload
    @staticmethod
    def to_similarity(score: Array) -> Floats: ...
    @staticmethod
    def to_similarity(score: float | Array) -> float | Floats:
        """Return the similarity (0-1) of a score: clamped to [0, 100], divided by 100."""
        return _clamped(score, "score", 0.0, 100.0) / 100.0

    @overload
    @staticmethod
    def from_five_point(rating: float) -> float: ...
    @overload
    @staticmethod
    def from_five_point(rating: Array) -> Floats: ...
    @staticmethod
    def from_five_point(rating: float | Array) -> float | Floats:
        """Return the score of a rating: clamped to [1, 5]; 1 gives 0, 3 gives 50, 5 gives 100."""
        return (_clamped(rating, "rating", 1.0, 5.0) - 1.0) * 25.0

    @overload
    @staticmethod
    def to_five_point(score: float) -> float: ...
    @overload
    @staticmethod
    def to_five_point(score: Array) -> Floats: ...
    @staticmethod
    def to_five_point(score: float | Array) -> float | Floats:
        """Return the rating (1-5, not rounded) of a score: clamped to [0, 100], / 25, plus 1."""
        return _clamped(score, "score", 0.0, 100.0) / 25.0 + 1.0

    @overload
    @staticmethod
    def passes(score: float, cutoff: float = DEFAULT_CUTOFF) -> bool: ...
    @overload
    @staticmethod
    def passes(score: Array, cutoff: float = DEFAULT_CUTOFF) -> NDArray[np.bool_]: ...
    @staticmethod
    def passes(score: float | Array, cutoff: float = DEFAULT_CUTOFF) -> bool | NDArray[np.bool_]:
        """Return whether a score is at or above ``cutoff`` (one finite number); not clamped."""
        if not _is_number(cutoff):
            raise UsageError(f"cutoff must be one number, got {type(cutoff).__name__}")
        result: bool | NDArray[np.bool_] = _finite(score, "score") >= _finite(cutoff, "cutoff")
        return result

    @overload
    @staticmethod
    def label(score: float) -> str: ...
    @overload
    @staticmethod
    def label(score: Array) -> NDArray[np.str_]: ...
    @staticmethod
    def label(score: float | Array) -> str | NDArray[np.str_]:
        """Return the word for a score; a score on a boundary belongs to the band above it.

        90 Excellent, 75 Good, 60 Satisfactory, 40 Needs Improvement, 20 Poor, else Very Poor.
        """
        value = _finite(score, "score")
        if isinstance(value, float):
            return LABELS[bisect_right(BANDS, value)]
        import numpy as np

        words: NDArray[np.str_] = np.asarray(LABELS)[np.searchsorted(BANDS, value, side="right")]
        return words


def _is_number(value: object) -> bool:
    return type(value) is float or (isinstance(value, Real) and not isinstance(value, bool))


def _clamped(value: float | Array, name: str, low: float, high: float) -> float | Floats:
    checked = _finite(value, name)
    if isinstance(checked, float):
        return min(max(checked, low), high)
    clipped: Floats = checked.clip(low, high)
    return clipped


def _finite(value: float | Array, name: str) -> Any:
    """Return a number as a float and anything else as a float64 array; refuse what is neither."""
    if type(value) is float and math.isfinite(value):
        return value
    if _is_number(value):
        return _finite_number(value, name)
    if isinstance(value, str | bytes | bool) or value is None:
        raise UsageError(f"{name} must be a number or an array of numbers, got {value!r}")
    import numpy as np

    try:
        array = np.asarray(value)
    except ValueError as error:
        raise UsageError(f"{name}: rows of different lengths do not make an array") from error
    if array.size and array.dtype.kind not in "iuf":
        raise UsageError(f"{name} must hold integers or real floats, got dtype {array.dtype}")
    with np.errstate(over="ignore"):  # a wider float may not fit; the check below says so
        array = array.astype(np.float64)
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        at = tuple(int(i) for i in bad[0])
        where = f"[{', '.join(map(str, at))}]" if at else ""
        raise NonFiniteError(f"{name}{where} must be finite, got {array[at]}")
    return array


def _finite_number(value: Any, name: str) -> float:
    try:
        number = float(value)
    except OverflowError as error:
        raise NonFiniteError(f"{name} is beyond the range of a float") from error
    if not math.isfinite(number):
        raise NonFiniteError(f"{name} must be finite, got {number}")
    return number

"""Scores, labels and groups as a caller has them, checked and turned into arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closecall.errors import DataError, NonFiniteError, ShapeError, UsageError, VectorError
from closecall.records import Label

DECIMALS = 6
"""Scores are rounded to this many decimals, so that what two machines compute is the same."""

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
Ints: TypeAlias = NDArray[np.int64]
Labels: TypeAlias = Iterable[bool | str | Label] | Bools
Groups: TypeAlias = Iterable[str | int] | NDArray[Any]

_ACCEPT: dict[Any, bool] = {True: True, False: False, "accept": True, "reject": False}
_ALLOWED = (
    "allowed are True and False, Label.ACCEPT and Label.REJECT, 'accept' and 'reject'; "
    "of 0 and 1 pass y == 1"
)
_SHOWN = 3


@dataclass(frozen=True, eq=False, slots=True)
class Labelled:
    """Labelled scores: ``scores`` (n,) float64, rounded; ``accept`` (n,) bool.

    ``groups`` is (n,) int64, numbered from 0 in the order of the sorted names; None without
    groups.
    """

    scores: Floats
    accept: Bools
    groups: Ints | None
    decimals: int | None


def labelled(
    scores: ArrayLike, labels: Labels, groups: Groups | None = None, *, decimals: int | None
) -> Labelled:
    """Check the three against each other and return them as arrays.

    Parameters
    ----------
    scores
        (n,), n >= 1, finite real numbers; the higher, the closer.
    labels
        (n,): True, ``Label.ACCEPT`` or "accept"; False, ``Label.REJECT`` or "reject".
    groups
        (n,) texts or whole numbers, one kind; rows of one group are not independent.
    decimals
        Decimals the scores are rounded to, or None.

    Raises
    ------
    ShapeError
        Lengths differ, or there is nothing.
    NonFiniteError
        A score is NaN or infinite.
    DataError
        A label or a group is none of those above, or scores are not numbers.
    """
    values = round_scores(scores, decimals)
    if values.ndim != 1 or values.size == 0:
        raise ShapeError(f"scores must be (n,) with n of at least 1, got {values.shape}")
    accept = _accepted(labels)
    codes = None if groups is None else _numbered(groups)
    for name, array in (("labels", accept), ("groups", codes)):
        if array is not None and array.shape != values.shape:
            raise ShapeError(f"{name} {array.shape} do not fit scores {values.shape}")
    return Labelled(values, accept, codes, decimals)


def round_scores(scores: ArrayLike, decimals: int | None = DECIMALS) -> Floats:
    """Return scores as float64, rounded to ``decimals``; None leaves them as they are.

    Whoever compares a score with a cutoff rounds it first, in this way. Minus zero becomes zero.
    """
    if decimals is not None and (
        isinstance(decimals, bool) or not isinstance(decimals, int) or not 0 <= decimals <= 15  # noqa: PLR2004
    ):
        raise UsageError(f"decimals must be a whole number from 0 to 15 or None, got {decimals!r}")
    try:
        array = np.asarray(scores)
    except ValueError as error:
        raise ShapeError("scores: rows of different lengths do not make an array") from error
    if array.dtype.kind not in "iuf":
        raise VectorError(
            f"scores: expected integers or real floats, got dtype {array.dtype}; "
            "a response that was not measured has no score and is left out with its label"
        )
    with np.errstate(over="ignore"):  # a wider float may not fit; the check below says so
        values = array.astype(np.float64)
    finite = np.isfinite(values)
    if not finite.all():
        bad = np.argwhere(~finite)[0]
        place = ", ".join(map(str, bad.tolist()))
        raise NonFiniteError(
            f"scores[{place}] is {values[tuple(bad)]}: every score must be finite; "
            "a response that was not measured has no score and is left out with its label"
        )
    if decimals is not None:
        # From here up a float64 has no such decimals, and the product could overflow.
        small = np.abs(values) < 2.0**52 / 10**decimals
        np.copyto(values, np.round(np.where(small, values, 0.0), decimals), where=small)
    return values + 0.0


def round_score(score: float, decimals: int | None = DECIMALS) -> float:
    """Return one score rounded as ``round_scores`` rounds it, to the last bit."""
    if not math.isfinite(score):
        raise NonFiniteError(f"a score must be finite, got {score!r}")
    score = float(score)  # a narrower float would be rounded in its own precision
    scale = 1 if decimals is None else 10**decimals
    if decimals is None or abs(score) >= 2.0**52 / scale:
        return score + 0.0
    # The very steps numpy takes: multiply, round half to even, divide.
    return round(score * float(scale)) / float(scale) + 0.0


def _accepted(labels: Labels) -> Bools:
    if isinstance(labels, np.ndarray) and labels.dtype == np.bool_:
        return labels.astype(np.bool_)
    rows: Sequence[Any] = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    # 1 equals True: only the type tells a label from a number.
    plain = all(issubclass(kind, bool | np.bool_ | str) for kind in set(map(type, rows)))
    if plain:
        found = list(map(_ACCEPT.get, rows))
        if None not in found:
            return np.array(found, dtype=np.bool_)
    wrong = [
        f"labels[{at}] is {row!r}"
        for at, row in enumerate(rows)
        if not isinstance(row, bool | np.bool_ | str) or row not in _ACCEPT
    ]
    more = f", and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
    raise DataError(f"{'; '.join(wrong[:_SHOWN])}{more}: {_ALLOWED}")


def _numbered(groups: Groups) -> Ints:
    if isinstance(groups, np.ndarray) and groups.ndim == 1 and groups.dtype.kind in "iu":
        return np.unique(groups, return_inverse=True)[1].astype(np.int64)
    rows: Sequence[Any] = groups.tolist() if isinstance(groups, np.ndarray) else list(groups)
    kinds = set(map(type, rows))
    texts = all(issubclass(kind, str) for kind in kinds)
    numbers = all(issubclass(kind, int | np.integer) and kind is not bool for kind in kinds)
    if not (texts or numbers):
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise DataError(
            f"groups hold {names}: allowed are texts or whole numbers, all of one kind; "
            "a row that belongs to no other gets a group of its own"
        )
    number = {name: at for at, name in enumerate(sorted(set(rows)))}
    return np.fromiter((number[row] for row in rows), dtype=np.int64, count=len(rows))

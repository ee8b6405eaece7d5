"""Blocks of vectors: checked, multiplied with a known error, and scored exactly pair by pair."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closecall.errors import NonFiniteError, ShapeError, VectorError, ZeroVectorError

Similarity: TypeAlias = Literal["cosine", "dot", "euclidean"]
SIMILARITIES: tuple[Similarity, ...] = get_args(Similarity)

_PAIR_ELEMENTS = 1 << 20
_MEASURED = 1 << 17
"""Numbers that are squared at once: their float64 copies stay in the processor's cache."""

# Within these sizes no product of two components leaves the range of float32.
_SAFE = (2.0**-30, 2.0**30)

Floats32: TypeAlias = NDArray[np.float32]
Floats64: TypeAlias = NDArray[np.float64]
Positions: TypeAlias = NDArray[np.int64]
Pairs: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]
"""(query, row) of each pair."""


class Block(NamedTuple):
    """Rows as given, and their float64 squared norms."""

    rows: Floats32
    squares: Floats64

    @property
    def peak(self) -> float:
        """The largest component, its sign left out."""
        return float(max(self.rows.max(initial=0.0), -self.rows.min(initial=0.0)))


def is_safe(peak: float) -> bool:
    """Whether no product of two vectors with this largest component overflows a float32.

    A vector's length serves as well: no component is larger.
    """
    return peak == 0.0 or _SAFE[0] <= peak <= _SAFE[1]


def products_of(
    query: Block, block: Block, similarity: Similarity
) -> tuple[NDArray[Any], Floats64]:
    """Return what to rank by, (q, m), and per query how far a number may be from the truth.

    Ranked by the cosine, the dot product, or minus the squared distance.
    """
    one, other = np.sqrt(query.squares), np.sqrt(block.squares)
    if similarity == "cosine":
        return _cosines(query, block, one, other)
    largest = float(other.max(initial=0.0))
    safe = is_safe(largest) and is_safe(float(one.max(initial=0.0)))
    real: type[Any] = np.float32 if safe else np.float64
    left: NDArray[Any] = query.rows.astype(real, copy=False)
    right: NDArray[Any] = block.rows.astype(real, copy=False)
    products: NDArray[Any] = left @ right.T
    if similarity == "euclidean":
        products *= 2
        products -= block.squares.astype(real)[None, :]
        products -= query.squares.astype(real)[:, None]
    return products, error_of(similarity, left.shape[1], one, largest, real)


def _cosines(
    query: Block, block: Block, one: Floats64, other: Floats64
) -> tuple[NDArray[Any], Floats64]:
    """Return cosines in float32: unit queries times rows as given, over the rows' lengths."""
    # Divided in float64: the length of a tiny query is no number that float32 can hold.
    left = (query.rows / one[:, None]).astype(np.float32)
    shortest = float(other.min(initial=1.0))
    if _SAFE[0] <= shortest and other.max(initial=1.0) <= _SAFE[1]:
        products: NDArray[Any] = left @ block.rows.T
        products /= other.astype(np.float32)
    else:  # too long or short for that: each row is divided first, which takes far longer
        shortest = 1.0
        products = left @ (block.rows / other[:, None]).astype(np.float32).T
    width, ones = left.shape[1], np.ones_like(one)
    return products, error_of("cosine", width, ones, 1.0, np.float32, shortest=shortest)


def error_of(
    similarity: Similarity,
    width: int,
    one: Floats64,
    largest: float,
    real: type[Any],
    *,
    shortest: float = 1.0,
) -> Floats64:
    """Return how far a product may be from the exact number, rounding to float32 included.

    ``one`` (q,) holds the queries' lengths and ``largest`` the greatest length of a row; both are
    1 for the cosine. Where its product is of rows as given, over their lengths, ``shortest`` is
    the least of these and at most 1; it is 1 where the rows were divided before.

    With u half of eps, t the least normal number and n the width: a sum of n products in any
    order is within n u / (1 - n u) times the product of the lengths (Higham, Accuracy and
    Stability of Numerical Algorithms, 2nd ed., 3.1), and within n t of that where products fall
    below t. A cosine by rows as given adds, of a row of length r,

    - u where the unit query was rounded, which r multiplies and the division takes away again,
    - u where r was rounded, and u where the quotient was;
    - its n t becomes n t / r: the products are as small as r, and are divided by it.

    By unit rows it adds 2 u for the rounded queries and rows; the squared distance adds 8 u for
    its sums. So (n + 8) u and (n + 8) t / r bound it all but for terms of u squared. Returned are
    (n + 16) of eps, which is 2 u, and of t / r: more than twice as much.
    """
    size = (one + largest) ** 2 if similarity == "euclidean" else one * largest
    facts = np.finfo(real)
    error: Floats64 = (width + 16) * (
        1.01 * float(facts.eps) * size + float(facts.tiny) / min(1.0, shortest)
    )
    return error + _rounding(similarity, size, one + largest)


def _rounding(similarity: Similarity, size: Floats64, reach: Floats64) -> Floats64:
    """Return how far apart two exact numbers may be and still round to the same float32."""
    unit: Any = float(np.finfo(np.float32).eps)
    if similarity == "euclidean":  # 1 / (1 + distance) rounds to the same within (1 + distance)
        unit = unit * np.maximum(1.0, reach * 2.0**-125)  # coarser where that is subnormal
        near: Floats64 = 4 * unit * reach * (1.0 + reach) + (unit * (1.0 + reach)) ** 2
        return near
    rounding: Floats64 = unit * size + float(np.finfo(np.float32).smallest_subnormal)
    return rounding


def score_pairs(
    query: Block,
    block: Block,
    of: NDArray[np.intp],
    at: NDArray[np.intp],
    similarity: Similarity,
) -> tuple[Floats64, Floats32]:
    """Return each pair's exact number, in the units of the product, and its similarity."""
    exact = np.empty(of.size, dtype=np.float64)
    step = max(1, _PAIR_ELEMENTS // max(1, query.rows.shape[1]))
    for start in range(0, of.size, step):
        some = slice(start, start + step)
        left = query.rows[of[some]].astype(np.float64)
        right = block.rows[at[some]].astype(np.float64)
        if similarity == "euclidean":
            left -= right
            exact[some] = -np.einsum("ij,ij->i", left, left)
        else:
            exact[some] = np.einsum("ij,ij->i", left, right)
    if similarity == "cosine":
        # One root of the product, not the product of two roots: exactly 1 for equal vectors.
        exact /= np.sqrt(query.squares[of] * block.squares[at])
        np.clip(exact, -1.0, 1.0, out=exact)
    native: Floats64 = 1.0 / (1.0 + np.sqrt(-exact)) if similarity == "euclidean" else exact
    with np.errstate(over="ignore", under="ignore"):
        scores: Floats32 = native.astype(np.float32) + np.float32(0)  # no minus zero
    if not np.isfinite(scores).all():
        raise NonFiniteError(
            "queries and vectors: a dot product is beyond the range of float32 (3.4e38); "
            "scale the vectors down"
        )
    return exact, scores


def unit_rows(rows: Floats32, start: int = 0) -> Floats32:
    """Return the rows at length 1, as the product of ``top_k`` takes them; none may be zero.

    ``start`` is the first row's number, for messages.
    """
    block = block_of(rows, "vectors", start, refuse_zero=True)
    unit: Floats32 = (block.rows / np.sqrt(block.squares)[:, None]).astype(np.float32)
    return unit


def matrix(values: ArrayLike, name: str) -> NDArray[Any]:
    """Return ``values`` as a matrix of real numbers, not yet converted or copied."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ShapeError(f"{name}: rows of different lengths do not make a matrix") from error
    if array.dtype.kind not in "iuf":
        raise VectorError(
            f"{name}: expected real numbers, got dtype {array.dtype}; "
            "allowed are int, float32 and float64 arrays, or lists of numbers"
        )
    if array.ndim != 2:  # noqa: PLR2004
        raise ShapeError(f"{name} {array.shape}: expected a matrix, one vector a row")
    return array


def block_of(
    values: NDArray[Any], name: str, start: int | Positions, *, refuse_zero: bool
) -> Block:
    """Convert a block to float32 and check it; ``start`` is its first row, or all its rows."""
    with np.errstate(over="ignore"):  # a wider float may not fit; the check below says so
        rows = np.ascontiguousarray(values, dtype=np.float32)
    squares: Floats64 = np.empty(rows.shape[0], dtype=np.float64)
    step = max(1, _MEASURED // max(1, rows.shape[1]))
    for first in range(0, rows.shape[0], step):
        wide = rows[first : first + step].astype(np.float64)
        np.einsum("ij,ij->i", wide, wide, out=squares[first : first + step])
    bad = np.flatnonzero(~np.isfinite(squares))  # no square of a float32 overflows a float64
    if bad.size:
        row = int(bad[0])
        column = int(np.flatnonzero(~np.isfinite(rows[row]))[0])
        raise NonFiniteError(
            f"{name}[{_row(start, row)}, {column}] is {rows[row, column]}: "
            "every component must be finite and fit in float32"
        )
    if refuse_zero:
        zero = np.flatnonzero(squares == 0.0)
        if zero.size:
            raise ZeroVectorError(
                f"{name}, row {_row(start, int(zero[0]))}, is a zero vector: it has no cosine"
            )
    return Block(rows, squares)


def _row(start: int | Positions, row: int) -> int:
    return start + row if isinstance(start, int) else int(start[row])

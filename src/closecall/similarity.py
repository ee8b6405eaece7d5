"""Similarities and distances between vectors, and the closest rows of a matrix.

Inputs are arrays or nested lists of integers or real floats. Everything is computed in float64,
in blocks of rows of at most ``BLOCK_ELEMENTS`` numbers, so a large float32 matrix is never
copied as a whole. A row's result depends on that row alone: the same bits come out whatever
stands beside it, which is why no BLAS product is used (its rounding depends on the shapes).

Vectors whose largest component lies far from 1 are first scaled by a power of two, which is
exact, so that neither 1e300 nor a subnormal number overflows or vanishes on the way.

Every function raises, besides what its own docstring names:

- ``ShapeError``: shapes that do not fit, with both shapes;
- ``NonFiniteError``: NaN or infinity in an input, with the row; or a true result beyond the
  range of float64;
- ``VectorError``: an input that does not hold real numbers (complex, text, bool, objects).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closecall.errors import (
    NonFiniteError,
    ShapeError,
    UsageError,
    VectorError,
    ZeroVectorError,
)

Method: TypeAlias = Literal["cosine", "dot", "euclidean", "manhattan"]
METHODS: tuple[Method, ...] = get_args(Method)

BLOCK_ELEMENTS = 1 << 20
"""Numbers converted to float64 at a time: 8 MiB."""

# Within 2**-240 .. 2**240 a product of two sums of squares neither overflows nor loses its
# leading bits, for any width that fits in memory.
_SAFE_EXPONENT = 240

Floats: TypeAlias = NDArray[np.float64]


class TopK(NamedTuple):
    """The closest rows, best first: ``indices`` (k,) int64 and ``scores`` (k,) float64."""

    indices: NDArray[np.int64]
    scores: Floats


class _Rows(NamedTuple):
    """Finite rows, (m, d) float64, and each row's largest absolute component, (m,)."""

    values: Floats
    peak: Floats


_Kernel: TypeAlias = Callable[[_Rows, _Rows], Floats]


def cosine_similarity(a: ArrayLike, b: ArrayLike) -> float | Floats:
    """Return the cosine of the angle between vectors, from -1 to 1.

    Floating-point noise can carry a cosine past 1 in size; the result is clipped to [-1, 1]. The
    cosine of a vector with itself is exactly 1.

    Parameters
    ----------
    a, b
        (d,) with (d,); (n, d) with (n, d), row by row; or (n, d) with (d,).

    Returns
    -------
    float | Floats
        A float for two vectors, else (n,) float64. O(nd) time, O(n) memory beyond one block.

    Raises
    ------
    ZeroVectorError
        A vector has no direction: all its components are zero, or d is 0.
    """
    return _compare(_cosine, a, b, refuse_zero=True)


def dot_product(a: ArrayLike, b: ArrayLike) -> float | Floats:
    """Return the inner product; shapes and cost as in ``cosine_similarity``.

    It has no bounds, and equals the cosine only for unit vectors.
    """
    return _compare(_dot, a, b)


def euclidean_distance(a: ArrayLike, b: ArrayLike) -> float | Floats:
    """Return the L2 distance, 0 or more; shapes and cost as in ``cosine_similarity``."""
    return _compare(_euclidean, a, b)


def manhattan_distance(a: ArrayLike, b: ArrayLike) -> float | Floats:
    """Return the L1 distance, 0 or more; shapes and cost as in ``cosine_similarity``."""
    return _compare(_manhattan, a, b)


def similarities(query: ArrayLike, matrix: ArrayLike, *, method: Method = "cosine") -> Floats:
    """Return how close each row of ``matrix`` is to ``query``: higher is closer, always.

    Parameters
    ----------
    query
        (d,).
    matrix
        (n, d); n may be 0.
    method
        ``cosine``: -1 to 1. ``dot``: unbounded. ``euclidean`` and ``manhattan``: 1 over
        (1 + distance), above 0 up to 1, so that they too grow with closeness. Numbers of
        different methods are not comparable.

    Returns
    -------
    Floats
        (n,) float64. O(nd) time, O(n) memory beyond one block.

    Raises
    ------
    ZeroVectorError
        Method ``cosine`` and the query or a row is zero.
    UsageError
        No such method.
    """
    if method not in METHODS:
        raise UsageError(f"method {method!r}: choose one of {', '.join(METHODS)}")
    rows, one = _numbers(matrix, "matrix"), _numbers(query, "query")
    if one.ndim != 1 or rows.ndim != 2 or rows.shape[1] != one.shape[0]:  # noqa: PLR2004
        raise ShapeError(
            f"query {one.shape} does not fit matrix {rows.shape}: "
            "a query is (d,) and a matrix (n, d), with the same d"
        )
    kernel = _KERNELS[method]
    result = _by_blocks(
        kernel, rows, one[None, :], names=("matrix", "query"), refuse_zero=method == "cosine"
    )
    return result if method in {"cosine", "dot"} else 1.0 / (1.0 + result)


def top_k(query: ArrayLike, matrix: ArrayLike, k: int, *, method: Method = "cosine") -> TopK:
    """Return the ``k`` rows of ``matrix`` closest to ``query``, best first.

    Exact and deterministic: sorted by descending score of ``similarities``, equal scores by
    ascending index. A ``k`` above n gives all n rows; an empty matrix gives empty arrays.

    Parameters
    ----------
    query, matrix, method
        As for ``similarities``.
    k
        At least 1.

    Returns
    -------
    TopK
        Indices int64 and scores float64, both (min(k, n),). O(nd + k log k) time unless many rows
        tie, O(n) memory.

    Raises
    ------
    ZeroVectorError
        As for ``similarities``.
    UsageError
        ``k`` is not a whole number of at least 1, or there is no such method.
    """
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise UsageError(f"k must be a whole number of at least 1, got {k!r}")
    scores = similarities(query, matrix, method=method)
    candidates = np.arange(scores.size)
    if k < scores.size:
        # Everything tied with the k-th stays a candidate, so that the lower index wins a tie.
        kth = np.partition(scores, scores.size - k)[scores.size - k]
        candidates = np.flatnonzero(scores >= kth)
    best = candidates[np.argsort(-scores[candidates], kind="stable")[:k]].astype(np.int64)
    return TopK(best, scores[best])


def _compare(
    kernel: _Kernel, a: ArrayLike, b: ArrayLike, *, refuse_zero: bool = False
) -> float | Floats:
    left, right = _numbers(a, "a"), _numbers(b, "b")
    shapes = (left.ndim, right.ndim)
    fits = (
        left.shape == right.shape
        if shapes in {(1, 1), (2, 2)}
        else (shapes == (2, 1) and left.shape[1] == right.shape[0])
    )
    if not fits:
        raise ShapeError(
            f"a {left.shape} does not fit b {right.shape}: "
            "allowed are (d,) with (d,), (n, d) with (n, d), and (n, d) with (d,)"
        )
    result = _by_blocks(
        kernel,
        left if left.ndim > 1 else left[None, :],
        right if right.ndim > 1 else right[None, :],
        names=("a", "b"),
        refuse_zero=refuse_zero,
        single=shapes,
    )
    return float(result[0]) if shapes == (1, 1) else result


def _by_blocks(
    kernel: _Kernel,
    left: NDArray[Any],
    right: NDArray[Any],
    *,
    names: tuple[str, str],
    refuse_zero: bool,
    single: tuple[int, int] = (2, 1),
) -> Floats:
    """Run ``kernel`` over blocks of rows; ``right`` is (n, d), or (1, d) to stand for every row.

    ``single`` gives each input's own number of dimensions, so that errors name a row only where
    the caller gave rows.
    """
    count, width = left.shape
    shared = single[1] == 1
    one = _rows(right, names[1], None, refuse_zero=refuse_zero) if shared else None
    result = np.empty(count, dtype=np.float64)
    step = max(1, BLOCK_ELEMENTS // max(1, width))
    for start in range(0, count, step):
        stop = min(start + step, count)
        at = None if single[0] == 1 else start
        x = _rows(left[start:stop], names[0], at, refuse_zero=refuse_zero)
        y = one or _rows(right[start:stop], names[1], start, refuse_zero=refuse_zero)
        with np.errstate(over="ignore", under="ignore"):
            block = kernel(x, y)
        bad = np.flatnonzero(~np.isfinite(block))
        if bad.size:
            where = "" if at is None else f" in row {start + int(bad[0])}"
            raise NonFiniteError(
                f"{names[0]} and {names[1]}: the result{where} is beyond the range of float64 "
                "(1.8e308); scale the vectors down"
            )
        result[start:stop] = block
    return result


def _numbers(values: ArrayLike, name: str) -> NDArray[Any]:
    """Return ``values`` as an array of real numbers, not yet converted or copied."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ShapeError(f"{name}: rows of different lengths do not make an array") from error
    if array.dtype.kind not in "iuf":
        raise VectorError(
            f"{name}: expected integers or real floats, got dtype {array.dtype}; "
            "allowed are int, float32 and float64 arrays, or lists of numbers"
        )
    return array


def _rows(values: NDArray[Any], name: str, start: int | None, *, refuse_zero: bool) -> _Rows:
    """Convert a block to float64 and check it; ``start`` is its first row, None for one vector."""
    with np.errstate(over="ignore"):  # a wider float may not fit; the check below says so
        block = np.ascontiguousarray(values, dtype=np.float64)
    # One pass answers three questions: NaN and infinity reach the peak, and so does all-zero.
    peak = np.maximum(block.max(axis=1, initial=0.0), -block.min(axis=1, initial=0.0))
    bad = np.flatnonzero(~np.isfinite(peak))
    if bad.size:
        row = int(bad[0])
        column = int(np.flatnonzero(~np.isfinite(block[row]))[0])
        where = f"[{column}]" if start is None else f"[{start + row}, {column}]"
        raise NonFiniteError(
            f"{name}{where} is {block[row, column]}: every component must be finite"
        )
    if refuse_zero:
        zero = np.flatnonzero(peak == 0.0)
        if zero.size:
            where = "" if start is None else f", row {start + int(zero[0])},"
            raise ZeroVectorError(f"{name}{where} is a zero vector: it has no cosine")
    return _Rows(block, peak)


def _scaled(rows: _Rows) -> tuple[Floats, NDArray[np.int32]]:
    """Return the rows times 2**-exponent, and the exponents (0 where no scaling was needed)."""
    exponent = np.frexp(rows.peak)[1]
    exponent[np.abs(exponent) <= _SAFE_EXPONENT] = 0
    if not exponent.any():
        return rows.values, exponent
    return np.ldexp(rows.values, -exponent[:, None]), exponent


def _sum_of_products(x: Floats, y: Floats) -> Floats:
    result: Floats = np.einsum("ij,ij->i", x, y)
    return result


def _cosine(x: _Rows, y: _Rows) -> Floats:
    a, b = _scaled(x)[0], _scaled(y)[0]
    # One root of the product, not the product of two roots: exactly 1 for equal vectors.
    norms = np.sqrt(_sum_of_products(a, a) * _sum_of_products(b, b))
    cosines: Floats = (_sum_of_products(a, b) / norms).clip(-1.0, 1.0)
    return cosines


def _dot(x: _Rows, y: _Rows) -> Floats:
    (a, left), (b, right) = _scaled(x), _scaled(y)
    result: Floats = np.ldexp(_sum_of_products(a, b), left + right)
    return result


def _euclidean(x: _Rows, y: _Rows) -> Floats:
    size = np.abs(x.values - y.values)
    scaled, exponent = _scaled(_Rows(size, size.max(axis=1, initial=0.0)))
    return np.ldexp(np.sqrt(_sum_of_products(scaled, scaled)), exponent)


def _manhattan(x: _Rows, y: _Rows) -> Floats:
    result: Floats = np.abs(x.values - y.values).sum(axis=1)
    return result


_KERNELS: dict[Method, _Kernel] = {
    "cosine": _cosine,
    "dot": _dot,
    "euclidean": _euclidean,
    "manhattan": _manhattan,
}

"""How scores are spread: accepts above the line, rejects below it, in the same bins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from closecall.report.charts.chart import (
    At,
    Axis,
    Box,
    Boxes,
    Chart,
    Drawn,
    Look,
    NoChart,
    Rule,
)
from closecall.report.charts.labelled import cut_words, sides, titled
from closecall.report.charts.scales import nice_axis, nice_step, tick_text

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

MOST_BINS = 24
FEWEST_BINS = 8

KIND = "distributions"


def distributions(
    accepts: ArrayLike,
    rejects: ArrayLike,
    *,
    cutoffs: Sequence[At] = (),
    score: str = "score",
    of: str = "",
) -> Drawn:
    """Return the histograms of both classes, mirrored, in equal bins with round edges.

    Parameters
    ----------
    accepts, rejects
        (n,) and (m,) finite scores of answers that a person accepts and rejects.
    cutoffs
        Shown as lines.
    score
        What the scores are, for the axis.
    of
        What was scored, for the title.
    """
    import numpy as np

    good = np.asarray(accepts, dtype=np.float64)
    bad = np.asarray(rejects, dtype=np.float64)
    title = titled("Scores of accepts and rejects", of)
    if not (good.size and bad.size):
        return NoChart(KIND, title, sides("A pair of distributions", good.size, bad.size))
    edges = bin_edges(np.concatenate((good, bad)))
    up, down = _counts(good, edges), _counts(bad, edges)
    top, bottom = max(1, *up), max(1, *down)
    x = _score_axis(score, edges, cutoffs)
    return Chart(
        kind=KIND,
        title=title,
        told=(
            f"Histogram of {good.size:,} accepts, upwards, and of {bad.size:,} rejects, "
            f"downwards, against the {score}. Accepts: median {_short(np.median(good))}; rejects: "
            f"median {_short(np.median(bad))}.{cut_words(cutoffs)}"
        ),
        x=x,
        y=_mirrored_axis(top, bottom),
        marks=(
            Boxes("accept", f"accepted by people, n = {good.size:,}", _boxes(edges, up, 1)),
            Boxes("reject", f"rejected by people, n = {bad.size:,}", _boxes(edges, down, -1)),
            *(Rule("limit", "x", cutoff.value, cutoff.name) for cutoff in cutoffs),
        ),
        notes=(f"n = {good.size + bad.size:,} labelled answers, in bins of {_width(edges)}",),
    )


def distribution(
    scores: ArrayLike, *, cutoffs: Sequence[At] = (), score: str = "score", of: str = ""
) -> Drawn:
    """Return the histogram of scores without labels, (n,), in equal bins with round edges."""
    import numpy as np

    values = np.asarray(scores, dtype=np.float64)
    title = titled("Scores", of)
    if not values.size:
        return NoChart(KIND, title, "There is no score to draw: nothing was measured.")
    edges = bin_edges(values)
    counts = _counts(values, edges)
    look: Look = "one"
    return Chart(
        kind=KIND,
        title=title,
        told=(
            f"Histogram of {values.size:,} scores without labels, median "
            f"{_short(np.median(values))}.{cut_words(cutoffs)}"
        ),
        x=_score_axis(score, edges, cutoffs),
        y=nice_axis("answers per bin", 0, max(1, *counts), about=4, whole=True),
        marks=(
            Boxes(look, f"not labelled, n = {values.size:,}", _boxes(edges, counts, 1)),
            *(Rule("limit", "x", cutoff.value, cutoff.name) for cutoff in cutoffs),
        ),
        notes=(f"n = {values.size:,} answers, in bins of {_width(edges)}",),
    )


def bin_edges(values: NDArray[Any]) -> list[float]:
    """Return the edges of equal bins that hold all values, (n,) with n >= 1.

    Their width is a round number near that of Freedman and Diaconis (1981), twice the
    interquartile range over the cube root of n, within ``FEWEST_BINS`` and ``MOST_BINS``, and up
    to two and a half times as fine. A bin holds its lower edge, as a cutoff accepts what is equal
    to it; the last holds both.
    """
    import numpy as np

    low, high = float(values.min()), float(values.max())
    if not high > low:
        step = nice_step(max(abs(low), 1.0), 20)
        first = math.floor(low / step)
        return [step * at for at in range(first - 2, first + 4)]
    upper, lower = np.quantile(values, (0.75, 0.25))
    wished = 2 * float(upper - lower) / len(values) ** (1 / 3)
    parts = (high - low) / wished if wished > 0 else MOST_BINS
    # A finer step than wished for: cutoffs are looked at closely.
    step = nice_step((high - low) / 2, round(min(max(parts, FEWEST_BINS), MOST_BINS)))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [step * at for at in range(first, last + 1)]


def _counts(values: NDArray[Any], edges: list[float]) -> list[int]:
    import numpy as np

    step = edges[1] - edges[0]
    # The hair keeps 0.3 in the bin that begins at 3 * 0.1.
    at = np.floor(values / step + 1e-9).astype(np.int64) - round(edges[0] / step)
    counted: list[int] = np.bincount(
        np.clip(at, 0, len(edges) - 2), minlength=len(edges) - 1
    ).tolist()
    return counted


def _boxes(edges: list[float], counts: list[int], sign: int) -> tuple[Box, ...]:
    step = edges[1] - edges[0]
    return tuple(
        Box(
            low,
            low + step,
            0,
            sign * count,
            f"{count:,} from {_edge(low, step)} to below {_edge(low + step, step)}",
        )
        for low, count in zip(edges, counts, strict=False)
        if count
    )


def _score_axis(score: str, edges: list[float], cutoffs: Sequence[At]) -> Axis:
    ends = [edges[0], edges[-1], *(cutoff.value for cutoff in cutoffs)]
    return nice_axis(score, min(ends), max(ends), about=7, pad=False)


def _mirrored_axis(top: int, bottom: int) -> Axis:
    axis = nice_axis("answers per bin", -bottom, top, about=6, whole=True)
    return axis._replace(
        ticks=tuple(tick._replace(text=tick.text.removeprefix("-")) for tick in axis.ticks)
    )


def _edge(value: float, step: float) -> str:
    return tick_text(value, step)


def _width(edges: list[float]) -> str:
    step = edges[1] - edges[0]
    return tick_text(step, nice_step(step, 1))


def _short(value: float) -> str:
    return f"{float(value):.3f}"

"""How a run differs from the labelled cases, in words with their counts."""

from __future__ import annotations

import numpy as np

from closecall.calibration.drift.two_samples import Pair
from closecall.calibration.inputs import Ints

_MORE = {
    "score": "scores are higher",
    "length": "answers are longer",
    "references": "cases have more references",
}
_LESS = {
    "score": "scores are lower",
    "length": "answers are shorter",
    "references": "cases have fewer references",
}
_OTHER = {
    "score": "scores are spread differently",
    "length": "lengths of answers are spread differently",
    "references": "numbers of references are spread differently",
}


def moved_words(name: str, pair: Pair) -> str:
    """Return what moved, and from where to where: the second sample is the run.

    Parameters
    ----------
    name
        ``score``, ``length``, ``references`` or the name of a slicing.
    pair
        The labelled cases, then the run.
    """
    return _moved_numbers(name, pair) if pair.distance == "ks" else _moved_mix(name, pair)


def _moved_numbers(name: str, pair: Pair) -> str:
    """Say it by the medians where they differ the way the samples do, else by the largest gap."""
    n_reference, n_run = pair.sizes
    unit = " characters" if name == "length" else ""
    before, here = _median(pair, pair.first), _median(pair, pair.second)
    at = pair.furthest
    below = int(pair.first[: at + 1].sum()), int(pair.second[: at + 1].sum())
    rises = below[0] * n_run > below[1] * n_reference
    if before != here and (here > before) == rises:
        moved = (_MORE if rises else _LESS)[name]
        return (
            f"{moved}: median {_shown(here)}{unit} here ({n_run} cases), "
            f"{_shown(before)} among the labels ({n_reference})"
        )
    return (
        f"{_OTHER[name]}: {below[1]} of {n_run} are at most {_shown(pair.values[at])}{unit} here, "
        f"{below[0]} of {n_reference} among the labels"
    )


def _median(pair: Pair, counts: Ints) -> int | float:
    """Return the lower median, which is a number that some case has."""
    half = (int(counts.sum()) + 1) // 2
    value: int | float = pair.values[int(np.searchsorted(np.cumsum(counts), half))]
    return value


def _moved_mix(name: str, pair: Pair) -> str:
    n_reference, n_run = pair.sizes
    at = pair.furthest
    return (
        f"{name}: {pair.second[at]} of {n_run} cases are {pair.values[at]!r} here, "
        f"{pair.first[at]} of {n_reference} among the labels"
    )


def _shown(number: float) -> str:
    return f"{number:g}" if isinstance(number, float) else str(number)

"""What a calibration says of its judge: why it was kept, what it goes by, how it was trained."""

from __future__ import annotations

from collections.abc import Iterator

from closecall.calibration.artefact import Calibration
from closecall.calibration.figures import percent
from closecall.calibration.head.gain import gain_words
from closecall.calibration.head.judge import Judge
from closecall.report.words import plural

NAMED = 6
"""Features named: those with the largest coefficients."""


def lines(calibration: Calibration) -> Iterator[str]:
    """Yield a statement a line; nothing where no judge was fitted."""
    judge = calibration.judge
    if judge is None:
        return
    head = judge.head
    pair = "" if head.support is None else "the pair model's word among them, "
    yield (
        f"Judge: {plural(len(head.features), 'feature')} of response and {head.sides}, {pair}"
        f"fitted to {judge.rows:,} labels ({judge.rejects:,} rejects, {judge.accepts:,} accepts)."
    )
    yield f"  Kept: {gain_words(judge.gain)}."
    yield f"  It goes most by {_largest(judge)}."
    yield from _agreed(calibration, judge)


def _largest(judge: Judge) -> str:
    pairs = zip(judge.head.known, judge.head.coefficients, strict=True)
    ranked = sorted(pairs, key=lambda pair: (-abs(pair[1]), pair[0].name))
    return "; ".join(
        f"{feature.words} ({coefficient:+.2f})" for feature, coefficient in ranked[:NAMED]
    )


def _agreed(made: Calibration, judge: Judge) -> Iterator[str]:
    """Say how often the cutoff says what the person said, of labels that were not trained on."""
    if made.reject_cutoff is not None:
        return
    counts = made.accept_cutoff.counts
    same, n = counts.true_accepts + counts.true_rejects, counts.accepts + counts.rejects
    seen = (
        "each scored by a head that had not seen its group"
        if judge.approximate
        else "none of which trained it"
    )
    yield (
        f"  At the cutoff it says what the person said of {same:,} of {n:,} labelled answers "
        f"({percent(same / n, n)}), {seen}."
    )

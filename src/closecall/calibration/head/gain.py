"""Is a head worth having? What it gains over the best score that needs no labels.

Both are compared at the cutoff that each would be issued with. That lies above the one where the
labels just meet the limit, and a judge that is better there may be worse where it is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np

from closecall.calibration.curve import curve_of
from closecall.calibration.evidence.held_out import check_whole
from closecall.calibration.figures import limit as limit_words
from closecall.calibration.goals import Goal
from closecall.calibration.groups import draws
from closecall.calibration.inputs import Ints, Labelled
from closecall.calibration.records import Cutoff, Guarantee, Infeasible, TwoCutoffs

RESAMPLES = 500

Measure: TypeAlias = Literal["true_accepts", "true_rejects", "decided_rightly", "auc"]


class Gain(msgspec.Struct, frozen=True, kw_only=True):
    """How a judge does beside the best single score, on ``rows`` that its heads had not seen.

    ``measure`` says what is compared, at the cutoff that each would be issued with from these
    rows: with a promise on false accepts ``true_accepts``, the share of the accepts that are
    accepted; on false rejects ``true_rejects``; on both ``decided_rightly``, the share of all rows
    that are neither decided wrongly nor left to a person. Without a promise, the ``auc``. Where
    no cutoff can be issued, nothing is accepted, or rejected, or decided. ``limit`` is what is
    promised, of two promises that on false accepts.

    ``judge`` and ``best`` are the two figures, ``single`` the metric of the best, picked among
    ``tried`` with hindsight, which favours it. ``error`` is the standard deviation of the
    difference over ``resamples`` draws of whole groups, both cutoffs chosen anew on each. The
    guarantees are those that each would have, None without a promise. ``auc`` and ``best_auc``
    stand beside whatever was compared.
    """

    measure: Measure
    limit: float | None
    rows: int
    judge: float
    single: str
    best: float
    error: float
    resamples: int
    tried: int
    guarantee: Guarantee | None
    best_guarantee: Guarantee | None
    auc: float
    best_auc: float

    @property
    def gained(self) -> float:
        """The difference."""
        return self.judge - self.best

    @property
    def kept(self) -> bool:
        """Whether the judge is better by more than one standard error."""
        return self.gained > self.error


def measure_of(goal: Goal) -> Measure:
    """Return what a judge and a score are compared by."""
    if goal.two:
        return "decided_rightly"
    if goal.max_far is not None:
        return "true_accepts"
    return "auc" if goal.max_frr is None else "true_rejects"


def gain(
    judge: Labelled,
    singles: Mapping[str, Labelled],
    goal: Goal,
    *,
    approximate: bool = False,
    resamples: int = RESAMPLES,
) -> Gain:
    """Compare a judge's held-out scores with single scores.

    Two fits of the cutoff a draw: O(resamples * n log n); 2,500 rows take two seconds.

    Parameters
    ----------
    judge
        Rows and their scores, each by a head that has not seen its group.
    singles
        Of each metric the same rows with its values; at least one.
    goal
        What the cutoff is for; its seed draws the groups too.
    approximate
        Whether the judge's own rows would choose its cutoff, so that its promise is approximate.
    resamples
        Draws of groups, at least 2.
    """
    check_whole("resamples", resamples, 2)
    figures = {name: figure(one, goal) for name, one in singles.items()}
    # Of equals, as where none gets a cutoff, the one that tells most.
    single = max(figures, key=lambda name: (figures[name], auc_of(singles[name]), name))
    best = singles[single]
    promised = goal.guarantee if goal.promises else None
    found = [
        figure(drawn.of(judge), goal) - figure(drawn.of(best), goal)
        for drawn in _drawn(judge, goal.seed, resamples)
    ]
    return Gain(
        measure=measure_of(goal),
        limit=goal.max_frr if goal.max_far is None else goal.max_far,
        rows=len(judge.scores),
        judge=figure(judge, goal),
        single=single,
        best=figures[single],
        error=float(np.std(found, ddof=1)) if len(found) > 1 else 1.0,
        resamples=len(found),
        tried=len(singles),
        guarantee="approximate" if promised and approximate else promised,
        best_guarantee=promised,
        auc=auc_of(judge),
        best_auc=auc_of(best),
    )


def figure(data: Labelled, goal: Goal) -> float:
    """Return what is compared, 0 to 1, of scores with their labels; see ``Gain``."""
    if not goal.promises:
        return auc_of(data)
    rule = goal.fit(data)
    return 0.0 if isinstance(rule, Infeasible) else figure_of(rule, goal)


def figure_of(rule: Cutoff | TwoCutoffs, goal: Goal) -> float:
    """Return what is compared, 0 to 1, of a rule with a promise and the counts in it."""
    if isinstance(rule, TwoCutoffs):
        n = rule.accept.counts.accepts + rule.accept.counts.rejects
        return (rule.accept.counts.true_accepts + rule.reject.counts.true_rejects) / n
    counts = rule.counts
    if goal.max_far is None:
        return counts.true_rejects / counts.rejects
    return counts.true_accepts / counts.accepts


def gain_words(found: Gain) -> str:
    """Return what a judge gains, in one line: both figures, the difference and its error."""
    alone = f"{found.single} alone {found.best:.1%}"
    most = "" if found.limit is None else f"at most {limit_words(found.limit)} of"
    figures = {
        "auc": (
            f"an accept outscores a reject in {found.judge:.1%} of pairs, by {found.single} alone "
            f"in {found.best:.1%}"
        ),
        "true_accepts": (
            f"at the cutoff each would get from these {found.rows:,} labels for {most} wrong "
            f"answers accepted, it accepts {found.judge:.1%} of good ones, {alone}"
        ),
        "true_rejects": (
            f"at the cutoff each would get from these {found.rows:,} labels for {most} good "
            f"answers rejected, it rejects {found.judge:.1%} of wrong ones, {alone}"
        ),
        "decided_rightly": (
            f"at the two cutoffs each would get from these {found.rows:,} labels it decides "
            f"{found.judge:.1%} of answers rightly, {alone}"
        ),
    }[found.measure]
    than = "more" if found.kept else "not more"
    points = f"{100 * found.gained:+.1f} points"
    said = f"{figures}; {points}, {than} than one standard error of {100 * found.error:.1f}"
    if found.guarantee == found.best_guarantee:
        return said
    return (
        f"{said}; the promise is {found.guarantee} for the judge and {found.best_guarantee} for "
        f"{found.single}"
    )


class _Drawn(NamedTuple):
    """One draw of whole groups: (m,) the rows, and the group of each; a group drawn twice is two.

    ``groups`` is None where every row is its own.
    """

    rows: Ints
    groups: Ints | None

    def of(self, data: Labelled) -> Labelled:
        return Labelled(data.scores[self.rows], data.accept[self.rows], self.groups, data.decimals)


def _drawn(data: Labelled, seed: int, resamples: int) -> Iterator[_Drawn]:
    """Yield draws of as many groups as there are, with both labels among them."""
    n = len(data.scores)
    codes = np.arange(n) if data.groups is None else np.unique(data.groups, return_inverse=True)[1]
    sizes = np.bincount(codes)
    ordered, starts = np.argsort(codes, kind="stable"), np.cumsum(sizes) - sizes
    count = len(sizes)
    picks = draws(seed, np.full(resamples * count, count)).reshape(resamples, count)
    for pick in picks:
        own = sizes[pick]
        groups = np.repeat(np.arange(count), own)
        within = np.arange(len(groups)) - np.repeat(np.cumsum(own) - own, own)
        rows = ordered[np.repeat(starts[pick], own) + within]
        kept = data.accept[rows]
        if kept.any() and not kept.all():  # else the draw has no figure
            yield _Drawn(rows, None if data.groups is None else groups)


def auc_of(data: Labelled) -> float:
    """Return how often an accept outscores a reject, a tie counting half."""
    curve = curve_of(data)
    kept, wrong = curve.true_accepts, np.diff(curve.false_accepts)
    twice = int(((kept[1:] + kept[:-1]) * wrong).sum())
    return twice / (2 * curve.accepts * curve.rejects)

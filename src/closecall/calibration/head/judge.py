"""From labelled rows and their features to a judge and the scores that may choose its cutoff.

Two ways. *Crossed*: every row both trains the head and, by a head of the other parts, helps to
choose the cutoff; the promise is then approximate. *Split*: half of the groups train, the other
half choose, and the promise is as exact as that of any score.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np

from closecall.calibration.goals import Goal
from closecall.calibration.head.crossed import FOLDS, Training, crossed, fit_head, logits_of
from closecall.calibration.head.gain import Gain, gain, gain_words
from closecall.calibration.inputs import Bools, Floats, labelled
from closecall.calibration.records import Infeasible, Reason
from closecall.calibration.sample import part
from closecall.metrics.fitted.features import (
    PER_FEATURE,
    Sides,
    affordable,
    joined_version,
    sizes,
)
from closecall.metrics.fitted.head import JudgeHead, chance

Way: TypeAlias = Literal["crossed", "split"]

CROSSED: Final = "crossed"
SPLIT: Final = "split"

FEWEST_ROWS = 300
"""Fewest labelled rows that a head is fitted to."""

FEWEST_GROUPS = 20
"""Fewest groups with an accept, and with a reject: each part must be left with both."""


class Judge(msgspec.Struct, frozen=True, kw_only=True):
    """A fitted head with what was known when it was kept.

    ``way`` is how its cutoff was chosen. ``rows`` of ``accepts`` and ``rejects`` trained it, in
    ``groups`` groups. ``penalties`` are those of the heads of the ``folds`` that scored them,
    ``seed`` drew all parts. ``gain`` is what it was kept for.
    """

    head: JudgeHead
    way: Way
    rows: int
    accepts: int
    rejects: int
    groups: int
    folds: int
    penalties: tuple[float, ...]
    seed: int
    gain: Gain

    @property
    def approximate(self) -> bool:
        """Whether rows that choose the cutoff had a part in training the head."""
        return self.way == CROSSED


class Judged(NamedTuple):
    """A judge, and (n,) the probability of each row: of a row that trained it, see ``Judge``.

    ``trained`` marks rows that trained the head and must not choose a cutoff.
    """

    judge: Judge
    scores: Floats
    trained: Bools


class Asked(NamedTuple):
    """How a judge is wanted; ``trained`` is the digest of the cases.

    ``support`` is the version of the pair model's metric among the features, None without it.
    """

    sides: Sides
    way: Way
    trained: str
    support: str | None = None


def fit_judge(
    rows: Training, singles: Mapping[str, Floats], asked: Asked, goal: Goal, aside: Bools
) -> Judged | Infeasible:
    """Fit a head to the rows that are not set aside, and score all.

    126 logistic fits. Nothing of the rows set aside is looked at but their features, when the
    head is done.

    Parameters
    ----------
    rows
        All rows; ``values`` holds every feature of the sides, in their order.
    singles
        By metric the (n,) values of the scores it has to beat.
    asked
        What to judge by, and how the cutoff will be chosen.
    goal
        What the cutoff is for: the gain is measured at the cutoffs it gives.
    aside
        (n,): rows that only test the cutoff.

    Returns
    -------
    Judged or Infeasible
        The latter where the labels are too few for a head or for the promise, or the head is not
        better than the best single score by more than one standard error.
    """
    training = ~aside
    if asked.way == SPLIT:
        training = training & first_half(rows.groups, goal.seed)
    own = rows.of(training)
    lacking = _lacking(own, asked, int(np.count_nonzero(aside)))
    if lacking is not None:
        return lacking
    accepts = int(np.count_nonzero(own.accept))
    rejects = len(own.accept) - accepts
    features = affordable(asked.sides, min(accepts, rejects), support=asked.support is not None)
    own = own._replace(values=own.values[:, : len(features)])
    cross = crossed(own, features, asked.sides, goal.seed, asked.trained)
    chances = np.zeros(len(training))
    chances[training] = [chance(logit) for logit in cross.logits.tolist()]
    # As they would be calibrated: groups count where any row of all shares one.
    groups = None if len(set(rows.groups)) == len(rows.groups) else rows.groups
    scored, *others = (
        part(labelled(values, rows.accept, groups, decimals=goal.decimals), training)
        for values in (chances, *singles.values())
    )
    found = gain(
        scored, dict(zip(singles, others, strict=True)), goal, approximate=asked.way == CROSSED
    )
    if not found.kept:
        none = goal.fit(scored)
        # No score could keep the promise: the labels are at fault and not the judge.
        if goal.promises and isinstance(none, Infeasible) and found.best == 0:
            return none if asked.way == CROSSED else _half(none)
        return _not_kept(found, accepts, rejects)
    version = joined_version(asked.support)
    head = fit_head(own, features, asked.sides, goal.seed, asked.trained, version=version)
    logits = logits_of(head, rows.values[:, : len(features)])
    if asked.way == CROSSED:
        logits[training] = cross.logits
    judge = Judge(
        head=head,
        way=asked.way,
        rows=len(own.accept),
        accepts=accepts,
        rejects=rejects,
        groups=len(set(own.groups)),
        folds=min(FOLDS, len(set(own.groups))),
        penalties=cross.penalties,
        seed=goal.seed,
        gain=found,
    )
    scores = np.array([chance(logit) for logit in logits.tolist()])
    held = training if asked.way == SPLIT else np.zeros_like(training)
    return Judged(judge, scores, held)


def first_half(groups: Sequence[str], seed: int) -> Bools:
    """Return which rows train where the other half chooses, (n,): by group's name and seed alone.

    A group stays on its side when more labels are added.
    """
    side = {name: _first(name, seed) for name in set(groups)}
    return np.fromiter((side[name] for name in groups), dtype=np.bool_, count=len(groups))


def _first(name: str, seed: int) -> bool:
    content = f"trains {seed} {name}".encode("utf-8", errors="surrogatepass")
    return hashlib.sha256(content).digest()[0] % 2 == 0


def _lacking(own: Training, asked: Asked, aside: int) -> Infeasible | None:
    """Return what the labels lack for a head, None where they are enough."""
    n, accepts = len(own.accept), int(np.count_nonzero(own.accept))
    rejects = n - accepts
    least = sizes(asked.sides)[0] * PER_FEATURE
    with_accept, with_reject = (
        len({name for name, kept in zip(own.groups, own.accept, strict=True) if kept == label})
        for label in (True, False)
    )
    short = [
        f"{there:,} {what} of at least {needed:,}"
        for there, what, needed in (
            (n, "labels", FEWEST_ROWS),
            (accepts, "accepts", least),
            (rejects, "rejects", least),
            (with_accept, "groups with an accept", FEWEST_GROUPS),
            (with_reject, "groups with a reject", FEWEST_GROUPS),
        )
        if there < needed
    ]
    if not short:
        return None
    half = " half of" if asked.way == SPLIT else ""
    spared = f"; {aside:,} more were set aside to test the cutoff" if aside else ""
    single = "answer_alignment" if asked.sides == "references" else "context_alignment"
    return Infeasible(
        reason=Reason.NO_JUDGE,
        message=(
            f"too few labels to fit a judge: it is fitted to{half} the labels, and there are "
            f"{'; '.join(short)}{spared}"
        ),
        advice=f"calibrate a score that needs no fitting, with -m {single}, or label more",
        accepts=accepts,
        rejects=rejects,
    )


def _half(found: Infeasible) -> Infeasible:
    message = f"{found.message} (in the half of the labels that is to train the judge)"
    return msgspec.structs.replace(found, message=message)


def _not_kept(found: Gain, accepts: int, rejects: int) -> Infeasible:
    return Infeasible(
        reason=Reason.NO_JUDGE,
        message=f"the judge was not kept: {gain_words(found)}",
        advice=f"calibrate that score, with -m {found.single}; it needs no fitting",
        accepts=accepts,
        rejects=rejects,
    )

"""Which cases to label next.

Two kinds of batch, never mixed. A *certify* batch is a simple random sample: what is counted over
it is the rate among the answers to come, and a promise may rest on it. An *improve* batch is
stratified by score and looks closer where labels say more about the false-accept rate at one
cutoff; its labels count with their inclusion probabilities, and no promise may rest on them.

Each batch depends on its seed, on ids, groups and scores, and not on the order of cases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from closecall.calibration.groups import draws
from closecall.calibration.inputs import Ints, round_scores
from closecall.calibration.labels.label_facts import ACTIVE, RANDOM, Sampling
from closecall.calibration.labels.strata import allocation, bounds_of, worth
from closecall.errors import ShapeError, UsageError

STRATA = 5
"""Strata on each side of the cutoff."""

LEAST = 3
"""Fewest cases drawn from a stratum: fewer give no idea of its error."""


class Pick(msgspec.Struct, frozen=True, kw_only=True):
    """One case to label; ``inclusion_probability`` is that of the case in its batch, above 0.

    ``stratum`` is its place in ``Batch.strata``; None in a certify batch.
    """

    id: str
    inclusion_probability: float
    stratum: int | None = None


class Stratum(msgspec.Struct, frozen=True, kw_only=True):
    """The cases with scores from ``low`` to ``high``: ``drawn`` of ``size``.

    ``above`` says whether the cutoff accepts them, ``rejects`` is the share of rejects expected
    among them.
    """

    low: float
    high: float
    above: bool
    size: int
    drawn: int
    rejects: float


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """Cases to label, in the order drawn.

    ``asked`` is how many were wanted, ``pool`` how many cases they were drawn from, ``groups``
    how many groups those made up; None where cases were drawn and not groups. ``again`` counts
    the picks from groups that have a label already. ``strata`` run from the lowest scores up;
    empty in a certify batch.
    """

    kind: Literal["certify", "improve"]
    sampling: Sampling
    seed: int
    asked: int
    pool: int
    groups: int | None
    again: int
    picks: tuple[Pick, ...]
    strata: tuple[Stratum, ...] = ()


def certify_batch(
    ids: Sequence[str],
    groups: Sequence[str] | None = None,
    *,
    size: int,
    seed: int = 0,
    labels: Mapping[str, int] | None = None,
) -> Batch:
    """Draw cases at random without replacement; with groups, groups and then one case of each.

    Groups come in rounds: those without a label first, then those with one, and so on. Which of
    them are drawn depends on nothing that was seen, so the labels of all rounds together are a
    random sample too. O(n log n) time, O(n) memory.

    Parameters
    ----------
    ids
        (n,) all different: the cases not labelled at random so far. Those labelled for another
        reason, by score say, belong in here: without them the rest is no random sample.
    groups
        (n,) the group of each; None where every case is on its own.
    size
        How many to draw, at least 1. Fewer are drawn where there are fewer groups.
    seed
        At least 0.
    labels
        How many labels drawn at random a group has; 0 for a group that is not named.

    Raises
    ------
    UsageError
        An argument is out of range, or ids repeat.
    """
    _check(ids, size)
    names = list(ids) if groups is None else list(groups)
    if len(names) != len(ids):
        raise ShapeError(f"groups ({len(names)},) do not fit ids ({len(ids)},)")
    members: dict[str, list[str]] = {}
    for name, case in zip(names, ids, strict=True):
        members.setdefault(name, []).append(case)
    rounds: dict[int, list[str]] = {}
    for name in sorted(members):
        rounds.setdefault((labels or {}).get(name, 0), []).append(name)
    order = [name for at in sorted(rounds) for name in rounds[at]]
    counts = [len(rounds[at]) for at in sorted(rounds)]
    left, parts = size, []
    for count in counts:
        parts.append(min(left, count))
        left -= parts[-1]
    sizes = np.array([len(members[name]) for name in order], dtype=np.int64)
    # One stream for all: which case stands for each group, then which groups of each round.
    shuffles = [np.arange(n, n - m, -1) for n, m in zip(counts, parts, strict=True)]
    stream = draws(seed, np.concatenate((sizes, *shuffles)))
    picks: list[Pick] = []
    start, jumps = 0, stream[len(order) :]
    for count, part in zip(counts, parts, strict=True):
        for at in _without_replacement(count, jumps[:part]):
            group = sorted(members[order[start + at]])
            chance = part / (count * len(group))
            case = group[int(stream[start + at])]
            picks.append(Pick(id=case, inclusion_probability=chance))
        start, jumps = start + count, jumps[part:]
    return Batch(
        kind="certify",
        sampling=RANDOM,
        seed=seed,
        asked=size,
        pool=len(ids),
        groups=None if groups is None else len(order),
        again=sum(parts[at] for at, name in enumerate(sorted(rounds)) if name),
        picks=tuple(picks),
    )


def improve_batch(
    ids: Sequence[str],
    scores: ArrayLike,
    rejects: ArrayLike,
    *,
    cutoff: float,
    size: int,
    seed: int = 0,
) -> Batch:
    """Draw cases stratified by score, more where a label says more about false accepts.

    Strata are ranges of scores, five above the cutoff and five below, of about as many cases
    each. With W the share of the pool in a stratum and p the share of rejects expected there, its
    part of the batch goes as W * g * sqrt(p * (1 - p)) (Neyman 1934), where g = 1 - FAR above the
    cutoff and FAR below it: the derivatives of FAR = a / (a + b) by the rejects above and below.
    At least three come from each stratum. O(n log n) time.

    Parameters
    ----------
    ids
        (n,) all different: the cases without a label.
    scores
        (n,) finite; the higher, the closer.
    rejects
        (n,) from 0 to 1: how probable a reject is, by whatever model there is. It steers the
        draw only: the estimate stays unbiased under a wrong one.
    cutoff
        Accept from this score on.
    size
        How many to draw, at least 6. Fewer strata are made where it does not reach for ten.
    seed
        At least 0.

    Raises
    ------
    UsageError
        An argument is out of range, or ids repeat.
    """
    _check(ids, size)
    if size < 2 * LEAST:
        raise UsageError(f"an improve batch has at least {2 * LEAST} cases, got size {size}")
    values, expected = round_scores(scores), np.asarray(rejects, dtype=np.float64)
    for name, array in (("scores", values), ("rejects", expected)):
        if array.shape != (len(ids),):
            raise ShapeError(f"{name} {array.shape} do not fit ids ({len(ids)},)")
    if not np.all((expected >= 0) & (expected <= 1)):
        raise UsageError("rejects must be probabilities, from 0 to 1")
    order = np.lexsort((np.array(ids, dtype=np.str_), values))
    bounds = bounds_of(values[order], cutoff, min(STRATA, size // (2 * LEAST)))
    parts = [order[a:b] for a, b in pairwise(bounds)]
    sizes = np.array([len(part) for part in parts], dtype=np.int64)
    above = np.array([values[part[0]] >= cutoff for part in parts], dtype=np.bool_)
    # Never sure of a stratum: no model is, and its share of the batch would be nothing.
    shares = np.array(
        [
            min(max(float(expected[part].mean()), margin), 1 - margin)
            for part, margin in zip(parts, 0.5 / (sizes + 1), strict=True)
        ]
    )
    allotted = allocation(sizes, worth(sizes, above, shares), size, LEAST)
    stream = draws(
        seed,
        np.concatenate(
            [np.arange(n, n - m, -1) for n, m in zip(sizes, allotted, strict=True)]
            or [np.zeros(0, dtype=np.int64)]
        ),
    )
    starts = np.concatenate(([0], np.cumsum(allotted)))
    picks = tuple(
        Pick(id=ids[int(parts[h][at])], inclusion_probability=int(m) / int(n), stratum=h)
        for h, (n, m) in enumerate(zip(sizes, allotted, strict=True))
        for at in _without_replacement(int(n), stream[starts[h] : starts[h + 1]])
    )
    strata = tuple(
        Stratum(
            low=float(values[part[0]]),
            high=float(values[part[-1]]),
            above=bool(above[h]),
            size=int(sizes[h]),
            drawn=int(allotted[h]),
            rejects=float(np.round(shares[h], 6)),
        )
        for h, part in enumerate(parts)
    )
    return Batch(
        kind="improve",
        sampling=ACTIVE,
        seed=seed,
        asked=size,
        pool=len(ids),
        groups=None,
        again=0,
        picks=picks,
        strata=strata,
    )


def _without_replacement(count: int, jumps: Ints) -> list[int]:
    """Return ``len(jumps)`` different numbers below ``count``: a shuffle that stops early.

    ``jumps[i]`` is drawn from 0 up to ``count - i``. Memory grows with the draws, not ``count``.
    """
    moved: dict[int, int] = {}
    found = []
    for at, jump in enumerate(jumps.tolist()):
        other = at + jump
        found.append(moved.get(other, other))
        moved[other] = moved.get(at, at)
    if any(not 0 <= number < count for number in found):
        raise UsageError(f"cannot draw {len(jumps)} of {count}")
    return found


def _check(ids: Sequence[str], size: int) -> None:
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise UsageError(f"size must be a whole number of at least 1, got {size!r}")
    if len(set(ids)) != len(ids):
        raise UsageError("ids must differ: each names one case")

"""Whether the cases of a run look like those the cutoff was calibrated on. No labels are needed.

Scores, lengths, numbers of references and slices are compared, each by a permutation test, all
together at one level. A difference is a reason to label some of the new cases, not a proof that
the cutoff is wrong; and no difference is no proof that it is right, see ``BLIND_SPOT``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Literal

import msgspec
import numpy as np

from closecall.calibration.drift.profile import Profile
from closecall.calibration.drift.shift_words import moved_words
from closecall.calibration.drift.streams import Use, use_seed
from closecall.calibration.drift.two_samples import Pair, hits, holm, kinds, numbers
from closecall.calibration.groups import draws
from closecall.calibration.inputs import Ints
from closecall.calibration.records import typed
from closecall.errors import UsageError

FEWEST = 20
"""Fewest cases on either side, and with a value in a slicing, for a comparison."""

NEW_VALUE_ABOVE = Fraction(1, 10)
"""A slice value that the labels lack is a finding above this share of the run."""

TO_LABEL = 30
"""How many fresh labels to ask for."""

BLIND_SPOT = (
    "without labels one thing stays unseen: more wrong answers among those of the same score, "
    f"such as wrong ones on the right topic; {TO_LABEL} of these cases, drawn at random and "
    "labelled, can show it"
)
ONLY_THE_SCORE = (
    "only the score moved: the mix of good and wrong answers may have changed, which moves scores "
    "and by itself leaves both error rates of the cutoff as they are; fresh labels tell whether "
    "more than the mix changed"
)

_COLUMNS = {"score": "scores", "length": "lengths", "references": "references"}
_CODES = {"length": "W10", "references": "W14"}
_LEVELS = (0.001, 0.5)


class ShiftFinding(msgspec.Struct, frozen=True, kw_only=True):
    """One way in which the run differs from the labelled cases.

    ``what`` is ``score``, ``length``, ``references`` or the name of a slicing. Of kind
    ``numbers`` and ``mix``, ``statistic`` is the Kolmogorov-Smirnov and the total-variation
    distance, from 0 to 1, ``p`` its permutation p-value before Holm's correction, and the two n
    how many cases were compared: where cases come in groups, one of each group. Of kind
    ``new_value``, ``statistic`` is the share of the run that has a value which no labelled case
    has; nothing is tested, so ``p`` is None, and n counts all cases with a value.
    """

    what: str
    kind: Literal["numbers", "mix", "new_value"]
    statistic: float
    p: float | None
    n_reference: int
    n_run: int
    words: str

    @property
    def code(self) -> str | None:
        """The code of the caution it is, None where there is none."""
        if self.kind == "new_value":
            return "W11" if self.what == "system" else None
        return _CODES.get(self.what)


class ShiftReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was compared and what differs.

    ``n_reference`` and ``n_run`` count all cases. ``tested`` names what was compared, ``untested``
    says of the rest why not. Were nothing different, the probability of any finding by a test
    would be at most ``level``. ``permutations`` is how many were made: as many as were asked for,
    or more where so many tests could not be significant otherwise; 0 where nothing was tested.
    ``notes`` say what the findings mean and what they cannot show.
    """

    findings: tuple[ShiftFinding, ...]
    n_reference: int
    n_run: int
    tested: tuple[str, ...]
    untested: dict[str, str]
    level: float
    permutations: int
    seed: int
    notes: tuple[str, ...]


def find_shift(
    reference: Profile,
    run: Profile,
    *,
    seed: int,
    level: float = 0.01,
    permutations: int = 999,
) -> ShiftReport:
    """Compare the cases of a run with the labelled ones; O(permutations * cases kept).

    Cases of one group are not independent, so one of each group is compared. The reference should
    look like the cases the cutoff was meant for: labels picked by score, or rejects gathered on
    purpose, differ from any run.

    A slicing called ``length``, ``references`` or ``score`` is left out: that is compared as it
    is, in numbers.

    Parameters
    ----------
    reference
        Of the labelled cases.
    run
        Of the cases decided now.
    seed
        Draws the permutations, and one case of each group.
    level
        Probability of a false finding, from 0.001 to 0.5.
    permutations
        At least 1.

    Raises
    ------
    UsageError
        An argument is out of range.
    """
    _check(level, permutations)
    sides = (
        _one_of_each_group(reference, seed, Use.ONE_OF_REFERENCE),
        _one_of_each_group(run, seed, Use.ONE_OF_RUN),
    )
    if min(map(len, sides)) < FEWEST:
        return _too_few(reference, run, sides, level, seed)
    pairs, untested = _pairs(reference, run, sides)
    # Where all cases are alike in something, the null says so too: it takes no share of the level.
    names = [name for name, pair in pairs.items() if len(pair.values) > 1]
    share = typed(level)
    made = max(permutations, math.ceil(len(names) / share) - 1)
    counts = hits([pairs[name] for name in names], made, seed)
    significant = [
        (name, (count + 1) / (made + 1))
        for name, count, kept in zip(names, counts, holm(counts, made, share), strict=True)
        if kept
    ]
    new = tuple(_new_values(reference, run))
    told = {(finding.what, value) for finding, value in new}
    moved = tuple(
        _finding(name, pairs[name], p)
        for name, p in significant
        if (name, pairs[name].values[pairs[name].furthest]) not in told
    )
    findings = (*(finding for finding, _ in new), *moved)
    notes = [BLIND_SPOT]
    if [finding.what for finding in findings] == ["score"]:
        notes.insert(0, ONLY_THE_SCORE)
    return ShiftReport(
        findings=findings,
        n_reference=reference.n,
        n_run=run.n,
        tested=tuple(pairs),
        untested=untested,
        level=level,
        permutations=made,
        seed=seed,
        notes=tuple(notes),
    )


def to_label(run: Profile, size: int = TO_LABEL, *, seed: int) -> tuple[str, ...]:
    """Draw a simple random sample of the run to label, by its ids; all where there are fewer.

    It is drawn from the cases the profile kept, which are themselves a simple random sample.

    Raises
    ------
    UsageError
        ``size`` is below 1, or the seed is no whole number of at least 0.
    """
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise UsageError(f"size must be a whole number of at least 1, got {size!r}")
    left = list(run.ids)
    rounds = min(size, len(left))
    sizes = np.arange(len(left), len(left) - rounds, -1, dtype=np.int64)
    return tuple(left.pop(at) for at in draws(use_seed(seed, Use.TO_LABEL), sizes).tolist())


def _check(level: float, permutations: int) -> None:
    least, most = _LEVELS
    if not least <= level <= most:
        raise UsageError(f"level must lie from {least} to {most}, got {level!r}")
    if isinstance(permutations, bool) or not isinstance(permutations, int) or permutations < 1:
        raise UsageError(
            f"permutations must be a whole number of at least 1, got {permutations!r}"
        )


def _one_of_each_group(profile: Profile, seed: int, use: Use) -> Ints:
    """Return which of the kept cases are compared: one of each group, drawn at random."""
    if profile.groups is None:
        return np.arange(len(profile.ids))
    codes = np.array(profile.groups)
    order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes)
    return np.asarray(order[np.cumsum(sizes) - sizes + draws(use_seed(seed, use), sizes)])


def _too_few(
    reference: Profile, run: Profile, sides: tuple[Ints, Ints], level: float, seed: int
) -> ShiftReport:
    few = [
        f"{len(side)} independent {'case' if len(side) == 1 else 'cases'} {where}"
        for side, where in zip(sides, ("among the labels", "here"), strict=True)
        if len(side) < FEWEST
    ]
    note = f"{' and '.join(few)}: no shift is looked for in fewer than {FEWEST}"
    return ShiftReport(
        findings=(),
        n_reference=reference.n,
        n_run=run.n,
        tested=(),
        untested=dict.fromkeys((*_COLUMNS, *_slicings(reference, run)), note),
        level=level,
        permutations=0,
        seed=seed,
        notes=(note, BLIND_SPOT),
    )


def _slicings(reference: Profile, run: Profile) -> list[str]:
    return sorted({*reference.slices, *run.slices} - set(_COLUMNS))


def _pairs(
    reference: Profile, run: Profile, sides: tuple[Ints, Ints]
) -> tuple[dict[str, Pair], dict[str, str]]:
    """Put the two sides together in everything that can be compared; say of the rest why not."""
    pairs = {}
    for name, column in _COLUMNS.items():
        one, two = (
            np.array(getattr(profile, column))[side]
            for profile, side in zip((reference, run), sides, strict=True)
        )
        pairs[name] = numbers(one, two)
    untested = {}
    for name in _slicings(reference, run):
        first, second = (
            [value for at in side.tolist() if (value := profile.values[name][at]) is not None]
            if name in profile.values
            else []
            for profile, side in zip((reference, run), sides, strict=True)
        )
        if name not in reference.slices:
            untested[name] = "no labelled case has a value in it"
        elif name not in run.slices:
            untested[name] = "no case here has a value in it"
        elif min(len(first), len(second)) < FEWEST:
            untested[name] = (
                f"{len(second)} cases here and {len(first)} among the labels have a value in it: "
                f"no shift is looked for in fewer than {FEWEST}"
            )
        else:
            pairs[name] = kinds(first, second)
    return pairs, untested


def _new_values(reference: Profile, run: Profile) -> Iterator[tuple[ShiftFinding, str]]:
    for name in _slicings(reference, run):
        known = reference.slices.get(name)
        if known is None or name in reference.uncounted:
            continue  # nothing, or too much, to be new against
        counts = run.slices.get(name, {})
        for value, count in counts.items():
            if value in known or count <= NEW_VALUE_ABOVE * run.n:
                continue
            finding = ShiftFinding(
                what=name,
                kind="new_value",
                statistic=count / run.n,
                p=None,
                n_reference=sum(known.values()),
                n_run=sum(counts.values()) + run.uncounted.get(name, 0),
                words=f"{name}: {value!r} has {count} of {run.n} cases here and none among the "
                "labels",
            )
            yield finding, value


def _finding(name: str, pair: Pair, p: float) -> ShiftFinding:
    n_reference, n_run = pair.sizes
    return ShiftFinding(
        what=name,
        kind="numbers" if pair.distance == "ks" else "mix",
        statistic=pair.statistic,
        p=p,
        n_reference=n_reference,
        n_run=n_run,
        words=moved_words(name, pair),
    )

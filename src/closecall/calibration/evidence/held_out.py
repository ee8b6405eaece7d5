"""How the procedure that chose a cutoff does on rows it has not seen.

A cutoff that was tuned on the labelled rows looks better on them than on others. Here the whole
procedure is run again and again on a part of the rows, and decides the rest: repeated group
k-fold cross-validation, stratified by label. All rows of a group are held out together, because
near-copies of a held-out row among the rows of the fit would give its answer away.

The numbers are about the procedure on (folds - 1) / folds of the rows. With fewer labels a
promise is kept more cautiously, so they are a little pessimistic about the cutoff of all rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple, TypeAlias

import msgspec
import numpy as np

from closecall.calibration.binomial import observed_rate
from closecall.calibration.decisions import accepted
from closecall.calibration.goals import Rule
from closecall.calibration.groups import clustered_rate, draws
from closecall.calibration.inputs import Bools, Floats, Ints, Labelled
from closecall.calibration.records import Counts, Cutoff, Infeasible, Rate
from closecall.errors import UsageError

Fit: TypeAlias = Callable[[Labelled], Rule | Infeasible]
"""A whole procedure, from labelled rows to a rule."""

FOLDS_INDEPENDENT = "approximate: folds taken as independent"

_KEYS = 1 << 62


class HeldOut(msgspec.Struct, frozen=True, kw_only=True):
    """What the procedure decided of rows that were held out of its fit, ``repeats`` times over.

    ``folds`` is how many parts the rows were cut into: as many as asked for, or one a group where
    there are fewer groups. ``groups`` is None where every row was a group of its own. ``seed``
    drew the parts.

    One entry a repeat, all folds together: ``counts`` of the rows decided, ``unsure_accepts`` and
    ``unsure_rejects`` that two cutoffs leave to a person, and ``undecided``, the rows of folds
    whose fit gave no cutoff. The four of ``counts``, the unsure and the undecided are all rows.
    ``infeasible`` counts those folds, of ``repeats * folds``.

    The rates are those of repeat ``shown``, the median one: by the share of false accepts, then
    of false rejects, then the first; the upper of two middle ones. They are shares of *all*
    rejects, or accepts, in folds with a cutoff, the unsure ones included: a response that is left
    to a person is not an error, and no less a response. None where no such row is there. With
    ``infeasible`` above 0 they are about the folds that had a cutoff, which are no random choice.
    Their intervals are approximate: the cutoffs of different folds share most of their rows, and
    no unbiased variance of cross-validation exists (Bengio and Grandvalet, 2004).

    ``cutoff_low`` and ``cutoff_high`` are the lowest and highest cutoff to accept from, over all
    folds of all repeats.
    """

    repeats: int
    folds: int
    groups: int | None
    seed: int
    counts: tuple[Counts, ...]
    unsure_accepts: tuple[int, ...]
    unsure_rejects: tuple[int, ...]
    undecided: tuple[int, ...]
    infeasible: int
    shown: int | None
    false_accept_rate: Rate | None
    false_reject_rate: Rate | None
    cutoff_low: float | None
    cutoff_high: float | None

    def __post_init__(self) -> None:
        each = (self.counts, self.unsure_accepts, self.unsure_rejects, self.undecided)
        if any(len(entries) != self.repeats for entries in each):
            raise ValueError(f"{self.repeats} repeats need as many entries each")

    @property
    def unsure(self) -> tuple[int, ...]:
        """How many rows each repeat left to a person."""
        return tuple(
            good + bad for good, bad in zip(self.unsure_accepts, self.unsure_rejects, strict=True)
        )


def held_out(
    data: Labelled, fit: Fit, *, repeats: int = 5, folds: int = 5, seed: int = 0
) -> HeldOut:
    """Cross-validate a whole procedure and count its errors on held-out rows.

    ``repeats * folds`` fits, and O(n log n) time besides each; O(repeats * n) memory. The result
    depends on the seed, the scores, labels and groups' numbers; not on the order of rows.

    Parameters
    ----------
    data
        All labelled rows. Groups, where there are any, are never split.
    fit
        Everything that is chosen on the labels must happen in it: choosing outside leaks.
    repeats
        How many times the rows are cut anew, at least 1.
    folds
        Parts of one cut, at least 2. Each has its share of accepts and rejects, as far as groups
        allow.
    seed
        At least 0.

    Raises
    ------
    UsageError
        ``repeats``, ``folds`` or ``seed`` is out of range.
    """
    check_whole("repeats", repeats, 1)
    check_whole("folds", folds, 2)
    check_whole("seed", seed, 0)
    units = units_of(data)
    parts = min(folds, len(units.rejects))
    scarce, other = units.rejects, units.accepts
    if other.sum() < scarce.sum():
        scarce, other = other, scarce
    passes = []
    for repeat in range(repeats):
        dealt = deal(scarce, other, parts, stream_of(units, seed, f"folds {repeat}"))
        passes.append(_one_repeat(data, fit, units, dealt, parts))
    tallies = [tally(data.accept, each.verdicts, each.measured) for each in passes]
    cutoffs = [value for each in passes for value in each.cutoffs]
    shown = _median(tallies)
    rates: tuple[Rate | None, Rate | None] = (None, None)
    if shown is not None:
        rates = error_rates(
            data, passes[shown].verdicts, passes[shown].measured, note=FOLDS_INDEPENDENT
        )
    return HeldOut(
        repeats=repeats,
        folds=parts,
        groups=None if data.groups is None else len(units.rejects),
        seed=seed,
        counts=tuple(each.counts for each in tallies),
        unsure_accepts=tuple(each.unsure_accepts for each in tallies),
        unsure_rejects=tuple(each.unsure_rejects for each in tallies),
        undecided=tuple(int(np.count_nonzero(~each.measured)) for each in passes),
        infeasible=repeats * parts - len(cutoffs),
        shown=shown,
        false_accept_rate=rates[0],
        false_reject_rate=rates[1],
        cutoff_low=min(cutoffs, default=None),
        cutoff_high=max(cutoffs, default=None),
    )


class Verdicts(NamedTuple):
    """What a rule says of n scores: two (n,) bools, never both true; neither means rejected."""

    accepted: Bools
    unsure: Bools


class Tally(NamedTuple):
    """Rows counted: those decided, and those left to a person by their label."""

    counts: Counts
    unsure_accepts: int
    unsure_rejects: int

    @property
    def accepts(self) -> int:
        """All that a person accepts, decided or not."""
        return self.counts.accepts + self.unsure_accepts

    @property
    def rejects(self) -> int:
        """All that a person rejects, decided or not."""
        return self.counts.rejects + self.unsure_rejects


def verdicts(rule: Rule, scores: Floats) -> Verdicts:
    """Return what ``decide`` says of each of the scores, (n,)."""
    if isinstance(rule, Cutoff):
        return Verdicts(accepted(rule, scores), np.zeros(scores.shape, np.bool_))
    sure = accepted(rule.accept, scores)
    return Verdicts(sure, accepted(rule.reject, scores) & ~sure)


def tally(accept: Bools, said: Verdicts, measured: Bools | None = None) -> Tally:
    """Count verdicts against labels, over the rows of ``measured`` (None: all); arrays (n,)."""
    rows = np.ones(accept.shape, np.bool_) if measured is None else measured

    def count(chosen: Bools) -> int:
        return int(np.count_nonzero(chosen & rows))

    rejected = ~said.accepted & ~said.unsure
    counts = Counts(
        true_accepts=count(accept & said.accepted),
        false_rejects=count(accept & rejected),
        false_accepts=count(~accept & said.accepted),
        true_rejects=count(~accept & rejected),
    )
    return Tally(counts, count(accept & said.unsure), count(~accept & said.unsure))


def error_rates(
    data: Labelled, said: Verdicts, measured: Bools | None = None, *, note: str | None = None
) -> tuple[Rate | None, Rate | None]:
    """Return the false-accept and the false-reject rate; None of a class without a row.

    A share of all rejects, or accepts, among the rows of ``measured`` (None: all), the unsure
    included. Intervals are Clopper-Pearson, with a design effect where there are groups; a
    ``note`` is added to the name of their method.
    """
    rows = np.ones(data.accept.shape, np.bool_) if measured is None else measured
    rejected = ~said.accepted & ~said.unsure
    return (
        _rate(data, said.accepted, ~data.accept & rows, note),
        _rate(data, rejected, data.accept & rows, note),
    )


class Units(NamedTuple):
    """What is held out together: ``codes`` (n,) numbers each row's unit from 0.

    ``accepts`` and ``rejects`` are (u,): how many of each a unit holds.
    """

    codes: Ints
    accepts: Ints
    rejects: Ints


def units_of(data: Labelled) -> Units:
    """Return the groups of the rows; without groups each row is one. O(n log n)."""
    if data.groups is None:
        # Numbered by score and label: the order of rows must not matter, and equals may swap.
        codes = np.empty(len(data.scores), dtype=np.int64)
        codes[np.lexsort((data.accept, data.scores))] = np.arange(len(codes))
    else:
        codes = np.unique(data.groups, return_inverse=True)[1].astype(np.int64)
    total = int(codes.max()) + 1
    return Units(
        codes,
        np.bincount(codes[data.accept], minlength=total),
        np.bincount(codes[~data.accept], minlength=total),
    )


def stream_of(units: Units, seed: int, purpose: str) -> int:
    """Return the seed of one draw of units: for one purpose, and for these labels only.

    Without groups, units are numbered by score. Were the draw the same for all data, the same
    places in the order of scores would be held out each time, and held-out rows would not be a
    random choice: 0.7 points of balanced accuracy on 60 rows of noise.
    """
    content = hashlib.sha256(f"{seed} {purpose}".encode())
    for amounts in (units.accepts, units.rejects):
        content.update(amounts.astype("<i8").tobytes())
    return int.from_bytes(content.digest()[:16], "big")


def deal(first: Ints, second: Ints, parts: int, stream: int) -> Ints:
    """Return the part, from 0, of each unit; all parts hold about the same of both amounts.

    Units are sorted by how much they hold, equals in random order, and each run of ``parts`` is
    dealt out in random order, one unit to a part. So no two parts differ by more than one unit,
    nor in ``first`` by more than the largest unit holds; ``second`` is balanced among units of
    equal ``first``. O(u log u).

    Parameters
    ----------
    first, second
        (u,) amounts that each unit holds.
    parts
        At least 1; with no more parts than units none is empty.
    stream
        Seed of the draws, at least 0.
    """
    count = len(first)
    keys = draws(stream, np.full(2 * count, _KEYS))
    order = np.lexsort((keys[:count], -second, -first))
    shuffled = np.lexsort((keys[count:], np.arange(count) // parts))
    part = np.empty(count, dtype=np.int64)
    part[order[shuffled]] = np.arange(count) % parts
    return part


def check_whole(name: str, value: int, least: int) -> None:
    """Raise ``UsageError`` unless ``value`` is a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UsageError(f"{name} must be a whole number of at least {least}, got {value!r}")


class _Pass(NamedTuple):
    """One repeat: verdicts on the rows of ``measured`` (n,), and the cutoffs that gave them."""

    verdicts: Verdicts
    measured: Bools
    cutoffs: list[float]


def _one_repeat(data: Labelled, fit: Fit, units: Units, dealt: Ints, parts: int) -> _Pass:
    shape = data.scores.shape
    said = Verdicts(np.zeros(shape, np.bool_), np.zeros(shape, np.bool_))
    measured = np.zeros(shape, np.bool_)
    cutoffs: list[float] = []
    part = dealt[units.codes]
    for at in range(parts):
        train = part != at
        if not train.any():  # a single group: nothing is left to fit on
            continue
        rule = fit(_training(data, units, dealt != at, train))
        if isinstance(rule, Infeasible):
            continue
        held = ~train
        said.accepted[held], said.unsure[held] = verdicts(rule, data.scores[held])
        measured |= held
        cutoffs.append(rule.value if isinstance(rule, Cutoff) else rule.accept.value)
    return _Pass(said, measured, cutoffs)


def _training(data: Labelled, units: Units, kept: Bools, rows: Bools) -> Labelled:
    """Return some rows, the groups that are left numbered from 0 in the same order."""
    groups = None if data.groups is None else (np.cumsum(kept) - 1)[units.codes[rows]]
    return Labelled(data.scores[rows], data.accept[rows], groups, data.decimals)


def _median(tallies: Sequence[Tally]) -> int | None:
    """Return the middle repeat, as ``HeldOut`` describes it; None where none measured a row.

    Shares, not counts: where folds had no cutoff, repeats measure different numbers of rows. A
    repeat that measured only one class is left out, unless all are such.
    """
    both = [at for at, each in enumerate(tallies) if each.accepts and each.rejects]
    some = both or [at for at, each in enumerate(tallies) if each.accepts or each.rejects]

    def rank(at: int) -> tuple[Fraction, Fraction, int]:
        each = tallies[at]
        return (
            Fraction(each.counts.false_accepts, max(1, each.rejects)),
            Fraction(each.counts.false_rejects, max(1, each.accepts)),
            at,
        )

    return sorted(some, key=rank)[len(some) // 2] if some else None


def _rate(data: Labelled, wrong: Bools, chosen: Bools, note: str | None) -> Rate | None:
    if data.groups is None:
        rate = observed_rate(int(np.count_nonzero(wrong & chosen)), int(np.count_nonzero(chosen)))
    else:
        rate = clustered_rate(wrong[chosen], data.groups[chosen])
    if rate is None or note is None:
        return rate
    method = f"{rate.interval.method}, {note}"
    return msgspec.structs.replace(
        rate, interval=msgspec.structs.replace(rate.interval, method=method)
    )

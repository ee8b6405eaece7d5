"""What a cutoff does in each slice of the labelled rows, and in which of them its promise holds.

A promise kept over all responses may be broken for one kind of them. So each slice is looked at
by itself: the order-statistic rule of ``cutoffs`` on its own rows gives the least cutoff that they
back, and the cutoff in use is *certified* there if it is at least that. What the promise may spend
is divided among the slices with enough labels to be certified at all (Bonferroni), so whatever is
certified holds together. Which they are is settled by numbers of labels alone, never by a score.
A slice with too few labels is *unknown*: it is neither called fine nor pooled with others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np

from closecall.calibration.binomial import check_share, fewest_labels, observed_rate
from closecall.calibration.curve import ErrorCurve, curve_of
from closecall.calibration.cutoffs import certify
from closecall.calibration.decisions import accepted
from closecall.calibration.evidence.slicing import TAG_KEY, TAGS, VALUES
from closecall.calibration.goals import Rule
from closecall.calibration.groups import clustered_rate, one_per_group
from closecall.calibration.inputs import Bools, Ints, Labelled
from closecall.calibration.records import Counts, Cutoff, Errors, Infeasible, Rate
from closecall.calibration.samples import Sample
from closecall.errors import ShapeError, UsageError

SliceStatus: TypeAlias = Literal["certified", "unknown", "not_backed", "counted"]
"""``certified``: the promise holds in the slice. ``unknown``: too few labels there to tell.
``not_backed``: enough labels, but they do not back it at this cutoff. ``counted``: nothing was
promised, errors are only counted."""


class SliceReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule does to the ``n`` labelled rows that have ``value`` in the slice ``name``.

    Attributes
    ----------
    counts, unsure
        The rows that are decided, and how many lie between two cutoffs.
    false_accept_rate, false_reject_rate
        Of all rejects, and of all accepts, of the slice, unsure ones among them; None of none.
    at_risk
        Independent labels of the class the promise is about: rows, or groups with such a row.
    needs
        Where ``unknown``: how many more of these, at least, can back the promise, while the
        other slices stay as they are.
    cutoff
        The least cutoff that the slice's own rows back (the greatest, for false rejects). None
        where it is unknown or only counted, and where they back no more than accepting nobody.
    """

    name: str
    value: str
    n: int
    accepts: int
    rejects: int
    counts: Counts
    unsure: int
    false_accept_rate: Rate | None
    false_reject_rate: Rate | None
    status: SliceStatus
    at_risk: int
    needs: int | None = None
    cutoff: float | None = None


class SliceTable(msgspec.Struct, frozen=True, kw_only=True):
    """Every slice of some labelled rows, in an order that does not depend on theirs.

    Attributes
    ----------
    examined
        How many slices there are.
    candidates
        How many of them have labels enough to be certified: the largest number m for which the
        slice with the m-th most labels at risk has as many as the promise takes at delta / m.
        Each may spend ``delta_each``, the whole divided by m (None where m is 0), so with
        probability 1 - delta at least the promise holds in all that are certified. Of slices with
        equally many labels the earlier in this table go first. 0 where nothing is promised.
    uniform
        Name and value of slices that every row is in: they say nothing of their own, and are not
        among the reports.
    limit, errors, per
        The promise: at most ``limit`` of these errors, over rows or over groups; ``limit`` None
        promises nothing.
    common, common_counts
        The cutoff nearest to the one in use that keeps its promise and is certified in every
        slice with enough labels, and what it does to all rows. None where no slice has enough,
        and where only accepting nobody would do. Of two cutoffs it takes the place of the one the
        promise is about; the counts are those of it alone.
    """

    reports: tuple[SliceReport, ...]
    examined: int
    candidates: int
    uniform: tuple[tuple[str, str], ...]
    delta_each: float | None
    limit: float | None
    errors: Errors
    per: Literal["row", "group"]
    common: float | None
    common_counts: Counts | None


def slice_table(
    data: Labelled,
    slices: Sequence[Mapping[str, str]],
    rule: Rule,
    *,
    limit: float | None,
    delta: float | None,
    errors: Errors = "false_accepts",
    seed: int = 0,
) -> SliceTable:
    """Count what a rule does in each slice, and certify it where the labels allow.

    O(n log n + n S) time and O(n S) memory for S slices a row, and O(G log G) for G slices.

    Parameters
    ----------
    data
        Labelled rows: a random sample of the responses the rule will meet, within each class and
        slice at least. They may be the rows that chose the rule.
    slices
        (n,): for each row the value of every slice it is in, as ``Slicer.of`` returns it; decided
        on before labels and scores are looked at.
    rule
        What decides.
    limit
        Most errors of the kind promised, as a share of their class; None promises nothing.
    delta
        How often the promise may be broken in any of the certified slices: divided among those
        with enough labels, already divided among looks. None if and only if ``limit`` is.
    errors
        Which error is promised: ``false_rejects`` looks at the accepts and, of two cutoffs, at
        the lower one.
    seed
        For the draw of one row from each group of a slice, where rows have groups.

    Raises
    ------
    ShapeError
        Not one mapping a row.
    UsageError
        ``limit`` or ``delta`` is out of range, or only one of them is given.
    """
    if len(slices) != len(data.scores):
        raise ShapeError(f"slices of {len(slices)} rows do not fit {len(data.scores)} scores")
    if limit is not None and delta is not None:
        check_share("limit", limit)
        check_share("delta", delta)
    elif limit is not None or delta is not None:
        raise UsageError("a promise has both a limit and a delta; a mere count has neither")
    members, uniform = _members(slices)
    parts = [_part(data, rows) for rows in members.values()]
    samples = [_independent(part, errors, seed) for part in parts]
    curve, cutoff = curve_of(data), _at_stake(rule, errors)
    candidates, share = 0, None
    if limit is None or delta is None:
        findings = [_Finding("counted", len(sample.scores)) for sample in samples]
    else:
        lots = _Lots([len(sample.scores) for sample in samples], _needed(limit, delta))
        candidates = len(lots.chosen)
        share = delta / candidates if candidates else None
        findings = [
            _Finding("unknown", len(sample.scores), needs=lots.lacking(at))
            if share is None or at not in lots.chosen
            else _examine(curve, sample, cutoff, _Promise(limit, share, errors))
            for at, sample in enumerate(samples)
        ]
    common = None if share is None else _common(findings, curve.row(cutoff.value), errors)
    return SliceTable(
        reports=tuple(
            _report(key, part, rule, finding)
            for key, part, finding in zip(members, parts, findings, strict=True)
        ),
        examined=len(members),
        candidates=candidates,
        uniform=uniform,
        delta_each=share,
        limit=limit,
        errors=errors,
        per="row" if data.groups is None else "group",
        common=None if common is None else _value(curve, common, cutoff),
        common_counts=None if common is None else curve.counts(common),
    )


def _needed(limit: float, delta: float) -> Callable[[int], int]:
    """Return what tells the labels that one slice takes when so many share ``delta``."""
    return cache(lambda slices: fewest_labels(limit, delta / slices))


class _Lots:
    """Which slices are tried, by their numbers of labels at risk and nothing else.

    The more slices share delta, the more labels each of them takes; so those with the most labels
    are tried, as many as can be. Never two of equal numbers where there is room for one: then the
    earlier, or more would be tried than share delta.
    """

    def __init__(self, counts: Sequence[int], needed: Callable[[int], int]) -> None:
        self._counts = counts
        self._needed = needed
        self.chosen = frozenset(self._chosen(counts))

    def _chosen(self, counts: Sequence[int]) -> list[int]:
        order = sorted(range(len(counts)), key=counts.__getitem__, reverse=True)  # equals stay
        tried = 0
        while tried < len(order) and counts[order[tried]] >= self._needed(tried + 1):
            tried += 1
        return order[:tried]

    def lacking(self, at: int) -> int:
        """Return how many more labels get slice ``at``, which is not tried, among those tried."""
        tried = len(self.chosen)
        few = max(self._counts[at], self._needed(max(1, tried)) - 1)
        enough = self._needed(tried + 1)
        while enough - few > 1:
            middle = (few + enough) // 2
            counts = [*self._counts[:at], middle, *self._counts[at + 1 :]]
            if at in self._chosen(counts):
                enough = middle
            else:
                few = middle
        return enough - self._counts[at]


class _Promise(NamedTuple):
    """What is promised in each slice."""

    limit: float
    delta: float
    errors: Errors


class _Finding(NamedTuple):
    """What a slice's rows say of the promise; ``row`` is the row of the curve of ``cutoff``."""

    status: SliceStatus
    at_risk: int
    needs: int | None = None
    cutoff: float | None = None
    row: int | None = None


def _members(
    slices: Sequence[Mapping[str, str]],
) -> tuple[dict[tuple[str, str], Ints], tuple[tuple[str, str], ...]]:
    """Return the rows of each slice by its name and value; and the slices that all rows are in."""
    raw: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for at, row in enumerate(slices):
        for item in row.items():
            raw[item].append(at)
    found = {
        (TAGS if name.startswith(TAG_KEY) else name, value): rows
        for (name, value), rows in raw.items()
    }
    keys = sorted(found, key=lambda key: (*_place(*key), -len(found[key]), key))
    parts = {
        key: np.array(found[key], dtype=np.int64) for key in keys if len(found[key]) < len(slices)
    }
    return parts, tuple(key for key in keys if key not in parts)


def _place(name: str, value: str) -> tuple[int, str, int]:
    """Return where a slice stands: first those found unasked, and values in their own order."""
    values = VALUES.get(name, ())
    return (
        list(VALUES).index(name) if name in VALUES else len(VALUES),
        name,
        values.index(value) if value in values else len(values),
    )


def _at_stake(rule: Rule, errors: Errors) -> Cutoff:
    """Return the cutoff that a promise on these errors is about."""
    if isinstance(rule, Cutoff):
        return rule
    return rule.accept if errors == "false_accepts" else rule.reject


def _part(data: Labelled, rows: Ints) -> Labelled:
    groups = None if data.groups is None else data.groups[rows]
    return Labelled(data.scores[rows], data.accept[rows], groups, data.decimals)


def _independent(part: Labelled, errors: Errors, seed: int) -> Sample:
    """Return independent scores of the class at risk."""
    accept = errors == "false_rejects"
    if part.groups is not None:
        return one_per_group(part, accept=accept, seed=seed)
    return Sample(part.scores[part.accept == accept], "row", None)


def _examine(curve: ErrorCurve, sample: Sample, cutoff: Cutoff, promise: _Promise) -> _Finding:
    n = len(sample.scores)
    limit, delta, errors = promise
    where = cutoff.where or "mid"
    found = certify(curve, limit, delta, errors=errors, where=where, sample=sample)
    if isinstance(found, Infeasible):  # labels are enough, so: it accepts nobody
        return _Finding("not_backed", n)
    # Rows are compared, not cutoffs: anywhere in a gap the same rows are accepted.
    row, used = curve.row(found.value), curve.row(cutoff.value)
    kept = used <= row if errors == "false_accepts" else used >= row
    return _Finding("certified" if kept else "not_backed", n, cutoff=found.value, row=row)


def _report(key: tuple[str, str], part: Labelled, rule: Rule, finding: _Finding) -> SliceReport:
    upper, lower = (rule, rule) if isinstance(rule, Cutoff) else (rule.accept, rule.reject)
    takes, refuses = accepted(upper, part.scores), ~accepted(lower, part.scores)
    good, bad = part.accept, ~part.accept
    counts = Counts(
        true_accepts=int(np.count_nonzero(takes & good)),
        false_rejects=int(np.count_nonzero(refuses & good)),
        false_accepts=int(np.count_nonzero(takes & bad)),
        true_rejects=int(np.count_nonzero(refuses & bad)),
    )
    return SliceReport(
        name=key[0],
        value=key[1],
        n=len(part.scores),
        accepts=int(np.count_nonzero(good)),
        rejects=int(np.count_nonzero(bad)),
        counts=counts,
        unsure=int(np.count_nonzero(~takes & ~refuses)),
        false_accept_rate=_rate(part, takes, bad),
        false_reject_rate=_rate(part, refuses, good),
        status=finding.status,
        at_risk=finding.at_risk,
        needs=finding.needs,
        cutoff=finding.cutoff,
    )


def _rate(part: Labelled, wrong: Bools, of: Bools) -> Rate | None:
    """Return how many of a class are decided wrongly, with an interval that knows of groups."""
    if part.groups is not None:
        return clustered_rate(wrong[of], part.groups[of])
    return observed_rate(int(np.count_nonzero(wrong & of)), int(np.count_nonzero(of)))


def _common(findings: Iterable[_Finding], used: int, errors: Errors) -> int | None:
    """Return the row nearest to ``used`` that every slice with enough labels backs."""
    enough = [one for one in findings if one.status != "unknown"]
    rows = [one.row for one in enough if one.row is not None]
    if not enough or len(rows) < len(enough):
        return None
    return min(used, *rows) if errors == "false_accepts" else max(used, *rows)


def _value(curve: ErrorCurve, row: int, cutoff: Cutoff) -> float:
    """Return a cutoff of a row: the one in use where it is its own."""
    if row == curve.row(cutoff.value):
        return cutoff.value
    return curve.cutoff(row, cutoff.where or "mid")

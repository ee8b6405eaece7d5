"""Labelled cases with their scores, as a calibration takes them: each item once, each in a group.

The same question, response, references and context labelled twice are one item, and groups that
share an item are one group. Labels that agree are kept once; labels that differ are set aside,
both, for a person to look at, unless a third one settles it (``adjudicated``). Either way the two
labels are counted, because how often people agree bounds what any cutoff can be shown to do;
unless one annotator is named for both, or the two rows have one id: a copy agrees with nobody.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from msgspec import structs, to_builtins

from closecall.calibration.inputs import DECIMALS, Labelled, labelled
from closecall.calibration.labels.agreement import Agreement, agreement
from closecall.calibration.labels.audit import Conflict
from closecall.calibration.labels.items import (
    BY_GROUP,
    BY_QUESTION,
    BY_REFERENCE,
    BY_ROW,
    Item,
    group_of,
    item_of,
)
from closecall.calibration.labels.label_facts import facts_of
from closecall.instrument import canonical_json
from closecall.records import Case, Label, Measured, Measurement


@dataclass(frozen=True, slots=True)
class LabelledRow:
    """One labelled item: its case, the metric's value, what a person said, and its group.

    ``group`` is 16 hex digits that stand for the group's name, which may be a text of the case.
    ``truncated`` says whether the model saw only part of a text.
    """

    case: Case
    score: float
    accept: bool
    group: str
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class LabelledRows:
    """All of them, with an account of every row that is not among them.

    Of ``seen`` rows ``unlabelled`` have no label, ``unmeasured`` a label and no score, by reason;
    ``merged`` say again what another row had said, and those of ``conflicts`` contradict each
    other. ``agreement`` is that of items with two labels; for ``attributed`` of its pairs two
    annotators are named, the others may be copies. ``grouped_by`` says what makes a group.
    ``joined`` groups share an item with another and are one group with it; a row without a group,
    a question and a reference is not counted among them.
    """

    rows: tuple[LabelledRow, ...]
    grouped_by: str
    seen: int
    unlabelled: int = 0
    merged: int = 0
    conflicts: tuple[Conflict, ...] = ()
    agreement: Agreement | None = None
    attributed: int = 0
    unmeasured: Mapping[str, int] = field(default_factory=dict)
    joined: int = 0

    def labelled(self, decimals: int | None = DECIMALS) -> Labelled:
        """Return scores, labels and groups as arrays; no groups where every row is its own."""
        names = [row.group for row in self.rows]
        return labelled(
            [row.score for row in self.rows],
            [row.accept for row in self.rows],
            None if len(set(names)) == len(names) else names,
            decimals=decimals,
        )

    @property
    def cases(self) -> tuple[Case, ...]:
        """The cases, in order."""
        return tuple(row.case for row in self.rows)


def collect(
    measured: Iterable[tuple[Case, Measurement]], group_field: str | None = None
) -> LabelledRows:
    """Sort out measured cases, the same whatever order they come in; O(n) time and memory.

    Of several rows that say the same, the one of the group and id that sort first is kept.

    Parameters
    ----------
    measured
        Every case of the file with its measurement, labelled or not.
    group_field
        What makes a group: a field of ``Case`` or a dotted path into its metadata. None: the
        case's ``group``, else its question, else its first reference, spelled alike.

    Raises
    ------
    UsageError
        A labelled case has no such field.
    """
    order: dict[Item, list[_At]] = {}
    unmeasured: dict[str, int] = {}
    seen = unlabelled = 0
    ways: dict[str, str] = {}
    joined = _Joined()
    for case, measurement in measured:
        seen += 1
        if case.label is None:
            unlabelled += 1
            continue
        if not isinstance(measurement, Measured):
            unmeasured[measurement.cause] = unmeasured.get(measurement.cause, 0) + 1
            continue
        group, way = group_of(case, group_field)
        name = group_digest(group)
        ways[name] = way
        cut = any(tokens.truncated for tokens in measurement.tokens.values())
        row = LabelledRow(case, measurement.value, case.label is Label.ACCEPT, name, cut)
        same_item = order.setdefault(item_of(case), [])
        same_item.append(_At(seen, row))
        joined.join(same_item[0].row.group, name)
    items = [_in_order(same) for same in order.values()]
    said = [(same, _decisive(same)) for same in items]
    kept = sorted(decisive[0] for _, decisive in said if not _differ(decisive))
    conflicts = tuple(_conflict(same) for same, decisive in said if _differ(decisive))
    pairs = [pair for same in items for pair in _pairs(same)]
    return LabelledRows(
        rows=tuple(_renamed(one.row, joined.name(one.row.group)) for one in kept),
        grouped_by=group_field or ", else ".join(w for w in WAYS if w in ways.values()),
        seen=seen,
        unlabelled=unlabelled,
        merged=sum(len(same) - 1 for same, decisive in said if not _differ(decisive)),
        conflicts=conflicts,
        agreement=agreement([(first.accept, other.accept) for first, other in pairs]),
        attributed=sum(None not in _annotators(*pair) for pair in pairs),
        unmeasured=unmeasured,
        joined=joined.count(name for name, way in ways.items() if way != BY_ROW),
    )


WAYS = (BY_GROUP, BY_QUESTION, BY_REFERENCE, BY_ROW)
"""What makes a group where no field is asked for, in the order in which it is looked for."""


@dataclass(frozen=True, slots=True)
class _At:
    """A row and the number of its line."""

    number: int
    row: LabelledRow

    def __lt__(self, other: _At) -> bool:
        return self.number < other.number


class _Joined:
    """Groups that are one, by the smallest of their names; joining takes O(log n) a name."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}

    def name(self, group: str) -> str:
        """Return the smallest name among the groups that are one with this."""
        while (above := self._above.get(group, group)) != group:
            # Halve the way to the top, so that the next look is shorter.
            self._above[group] = group = self._above.get(above, above)
        return group

    def join(self, one: str, other: str) -> None:
        """Make two groups one."""
        low, high = sorted((self.name(one), self.name(other)))
        if low != high:
            self._above[high] = low

    def count(self, groups: Iterable[str]) -> int:
        """Return how many of these groups are one with another of them."""
        sizes = Counter(map(self.name, groups))
        return sum(size for size in sizes.values() if size > 1)


def _renamed(row: LabelledRow, group: str) -> LabelledRow:
    return row if row.group == group else replace(row, group=group)


def _in_order(same: list[_At]) -> list[_At]:
    """Return the rows of one item, in an order that does not depend on that of the file."""
    return same if len(same) == 1 else sorted(same, key=_rank)


def _rank(at: _At) -> tuple[str, str, bytes, bool, float]:
    case = at.row.case
    # Of two rows with one id the rest of the case decides: its tags are what slices are made of.
    rest = to_builtins(structs.replace(case, place=""))
    return at.row.group, case.id, canonical_json(rest), at.row.accept, at.row.score


def _differ(same: Sequence[_At]) -> bool:
    return len({at.row.accept for at in same}) > 1


def _settles(at: _At) -> bool:
    return bool(facts_of(at.row.case).adjudicated)


def _decisive(same: Sequence[_At]) -> Sequence[_At]:
    """Return the rows whose label counts: where some settle a disagreement, those."""
    return same if len(same) == 1 else [at for at in same if _settles(at)] or same


def _pairs(same: Sequence[_At]) -> Iterator[tuple[LabelledRow, LabelledRow]]:
    """Yield the first row of an item with each later one that may be a second opinion.

    A label that settles a disagreement is none: whoever gave it knew the others.
    """
    opinions = same if len(same) == 1 else [at for at in same if not _settles(at)] or same[:1]
    first = opinions[0].row
    for other in (at.row for at in opinions[1:]):
        one, two = _annotators(first, other)
        named = one is not None and two is not None
        if one != two if named else first.case.id != other.case.id:
            yield first, other


def _annotators(first: LabelledRow, other: LabelledRow) -> tuple[str | None, str | None]:
    return facts_of(first.case).annotator, facts_of(other.case).annotator


def _conflict(same: Sequence[_At]) -> Conflict:
    rows = [at.row for at in sorted(same)]
    return Conflict(
        ids=tuple(row.case.id for row in rows),
        places=tuple(row.case.place for row in rows),
        accepts=sum(row.accept for row in rows),
        rejects=sum(not row.accept for row in rows),
    )


def group_digest(group: str) -> str:
    """Return 16 hex digits that stand for a group, whose name may be a text of the case."""
    spelt = group.encode("utf-8", errors="surrogatepass")
    return hashlib.sha256(spelt).hexdigest()[:16]

"""A run by its cases' fields: what came of those from one system, in one language, of one tag.

Fields are those of the metadata that a run folder keeps, and the tags. A field is shown where it
has a few values; one with a value a case (a source, a number) says nothing about groups of cases.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any

import msgspec

from closecall.calibration.labels.items import group_of
from closecall.calibration.records import Rate
from closecall.records import Case, Label, Measured, State
from closecall.runs.header import RunHeader
from closecall.runs.kept_metadata import scalars
from closecall.runs.results import CaseResult
from closecall.seen import mark_of

MOST_VALUES = 50
"""Values of a field that is shown; one with more is named and left out."""

MOST_FIELDS = 20
"""Fields shown, in the order of their names after the tags."""

MOST_NOTED = 200
"""Fields looked at, the first that are met; a file may name a new one in every case."""

TAG = "tag"
"""What the tags are called among the fields: a case may have several."""

_DECIDED = (State.PASSED, State.FAILED, State.WARN, State.INCONCLUSIVE)
_STATES = tuple(State)
_CODE = {state: code for code, state in enumerate(_STATES)}
_LABELS = {None: 0, Label.ACCEPT: 1, Label.REJECT: 2}


class SliceFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One metric on the cases of a slice.

    ``passed`` is of the cases with a verdict, None where none has one; ``mean`` over ``measured``.
    ``false_accepts`` are passed cases among those labelled reject, ``false_rejects`` failed ones
    among those labelled accept, each None without such a label or a cutoff. Intervals are of 95 %
    and allow for several answers to one question.
    """

    metric: str
    asked: int
    measured: int
    mean: float | None
    passed: Rate | None
    false_accepts: Rate | None
    false_rejects: Rate | None


class Slice(msgspec.Struct, frozen=True, kw_only=True):
    """The cases that have one value of a field."""

    value: str
    cases: int
    metrics: tuple[SliceFigures, ...]


class Sliced(msgspec.Struct, frozen=True, kw_only=True):
    """A field with its values, the most frequent first; ``absent`` cases have none."""

    field: str
    slices: tuple[Slice, ...]
    absent: int


class Slices(msgspec.Struct, frozen=True, kw_only=True):
    """All fields of a run.

    ``many`` names those with more values than are shown, or beyond the first fields; ``unnoted``
    says that cases have further fields, which nobody looked at.
    """

    fields: tuple[Sliced, ...]
    many: tuple[str, ...] = ()
    unnoted: bool = False


class Units:
    """Numbers what cases belong to: what is exchangeable is one unit. About 150 bytes a unit."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}

    def number(self, case: Case) -> int:
        """Return the number of a case's group, else of its question, else of itself."""
        return self._numbers.setdefault(hash_of(case), len(self._numbers))


class _Field:
    """The values of one field: a code a case, 0 for none; None once there are too many."""

    def __init__(self, before: int) -> None:
        self.names: dict[str, int] = {}
        self.codes: array[int] | None = array("B", bytes(before))

    def note(self, case: int, value: str) -> None:
        if self.codes is None:
            return
        code = self.names.setdefault(value, len(self.names) + 1)
        if code > MOST_VALUES:
            self.codes = None
            return
        self._fill(case)
        self.codes.append(code)

    def finish(self, cases: int) -> None:
        if self.codes is not None:
            self._fill(cases)

    def _fill(self, cases: int) -> None:
        if self.codes is not None:
            self.codes.extend(bytes(cases - len(self.codes)))


class SliceColumns:
    """Notes each case's fields and outcomes: 9 bytes a case and metric, 9 a case, one a field."""

    def __init__(self, header: RunHeader) -> None:
        self._header = header
        self._fields: dict[str, _Field] = {}
        self._tags: dict[str, array[int]] = {}
        self._too_many_tags = False
        self._unnoted = False
        self._units = array("Q")
        self._labels = bytearray()
        self._states = [bytearray() for _ in header.metrics]
        self._values = [array("d") for _ in header.metrics]

    def add(self, row: CaseResult, unit: int) -> None:
        """Note the next case; ``unit``, from 0 to 2^64 - 1, stands for what it belongs to."""
        at = len(self._units)
        self._units.append(unit)
        self._labels.append(_LABELS[row.case.label])
        for states, values, result in zip(self._states, self._values, row.results, strict=True):
            states.append(_CODE[result.state])
            found = result.measurement
            values.append(found.value if isinstance(found, Measured) else 0.0)
        if not self._header.content:
            return
        for tag in dict.fromkeys(row.case.tags):
            if tag not in self._tags and len(self._tags) == MOST_VALUES:
                self._too_many_tags = True
                continue
            self._tags.setdefault(tag, array("q")).append(at)
        if not row.case.metadata:
            return
        for path, value in scalars(row.case.metadata):
            if path not in self._fields:
                if len(self._fields) == MOST_NOTED:
                    self._unnoted = True
                    continue
                self._fields[path] = _Field(at)
            self._fields[path].note(at, value)

    def codes(self) -> list[tuple[str, list[str], array[int]]]:
        """Return each field of the metadata that is shown: its values, and a code a case.

        Code 0 is no value, 1 the first.
        """
        found = []
        for name in self._shown():
            field = self._fields[name]
            field.finish(len(self._units))
            if field.codes is not None:
                found.append((name, list(field.names), field.codes))
        return found

    def slices(self) -> Slices:
        """Return what came of the cases of each value of each field."""
        import numpy as np

        cases = len(self._units)
        units = _numbered(np.frombuffer(self._units, dtype=np.uint64))
        fields = []
        if self._tags and not self._too_many_tags:
            rows = [(tag, np.array(own, dtype=np.int64)) for tag, own in self._tags.items()]
            tagged = np.zeros(cases, dtype=bool)
            for _, own in rows:
                tagged[own] = True
            fields.append(self._sliced(TAG, rows, cases - int(tagged.sum()), units))
        for name, values, codes in self.codes():
            own = np.array(codes, dtype=np.uint8)
            rows = [(value, np.flatnonzero(own == at)) for at, value in enumerate(values, 1)]
            fields.append(self._sliced(name, rows, int((own == 0).sum()), units))
        shown = {one.field for one in fields}
        many = [TAG] if self._too_many_tags else []
        many += [name for name in sorted(self._fields) if self._many(name) and name not in shown]
        return Slices(fields=tuple(fields), many=tuple(many), unnoted=self._unnoted)

    def _shown(self) -> list[str]:
        few = (
            n for n, one in self._fields.items() if one.codes is not None and len(one.names) > 1
        )
        return sorted(few)[:MOST_FIELDS]

    def _many(self, name: str) -> bool:
        return self._fields[name].codes is None or len(self._fields[name].names) > 1

    def _sliced(
        self, name: str, rows: Iterable[tuple[str, Any]], absent: int, units: Any
    ) -> Sliced:
        ordered = sorted(rows, key=lambda one: (-len(one[1]), one[0]))
        return Sliced(
            field=name,
            slices=tuple(
                Slice(
                    value=value,
                    cases=len(own),
                    metrics=tuple(
                        self._figures(at, plan.id, own, units[own], cuts=plan.cutoff is not None)
                        for at, plan in enumerate(self._header.metrics)
                    ),
                )
                for value, own in ordered
            ),
            absent=absent,
        )

    def _figures(self, at: int, metric: str, own: Any, units: Any, *, cuts: bool) -> SliceFigures:
        import numpy as np

        from closecall.calibration.groups import clustered_rate

        labels = np.frombuffer(self._labels, dtype=np.uint8)[own]
        states = np.frombuffer(self._states[at], dtype=np.uint8)[own]
        values = np.frombuffer(self._values[at], dtype=np.float64)[own]
        measured = np.isin(states, [_CODE[s] for s in (*_DECIDED, State.SCORED)])
        decided = measured & (states != _CODE[State.SCORED])
        passed, failed = states == _CODE[State.PASSED], states == _CODE[State.FAILED]

        def rate(of: Any, hit: Any) -> Rate | None:
            return clustered_rate(hit[of], units[of]) if cuts else None

        count = int(measured.sum())
        return SliceFigures(
            metric=metric,
            asked=int((states != _CODE[State.NOT_APPLICABLE]).sum()),
            measured=count,
            mean=float(values[measured].sum() / count) if count else None,
            passed=rate(decided, passed),
            false_accepts=rate(decided & (labels == _LABELS[Label.REJECT]), passed),
            false_rejects=rate(decided & (labels == _LABELS[Label.ACCEPT]), failed),
        )


def slices_of(header: RunHeader, rows: Iterable[CaseResult]) -> Slices:
    """Return the slices of a run, in one pass over its cases."""
    columns = SliceColumns(header)
    for row in rows:
        columns.add(row, unit_mark(row.case))
    return columns.slices()


def _numbered(units: Any) -> Any:
    """Return the number of each unit, in the order in which they are first met.

    As ``Units`` numbers them, in 8 bytes a case where a dictionary takes 150.
    """
    import numpy as np

    _, first, inverse = np.unique(units, return_index=True, return_inverse=True)
    numbers = np.empty(len(first), dtype=np.int64)
    numbers[np.argsort(first)] = np.arange(len(first))
    return numbers[inverse]


def unit_mark(case: Case) -> int:
    """Return 64 bits that stand for what a case belongs to; see ``closecall.seen``.

    Two units that are taken for one, a chance of 2^-64 a pair, widen an interval a little.
    """
    return mark_of(group_of(case)[0])


def hash_of(case: Case) -> int:
    """Return a number that stands for what a case belongs to, whose name may be a long text."""
    import hashlib

    name = group_of(case)[0].encode("utf-8", errors="surrogatepass")
    return int.from_bytes(hashlib.blake2b(name, digest_size=16).digest())

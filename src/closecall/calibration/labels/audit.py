"""The labels worth a second look: those the cutoff disagrees with most, and those that clash.

A reject with a high score sets the cutoff, and where there are few of them they are also the
likeliest labelling mistakes; accepts with a low score are often just worded otherwise. Relabel
them blind to the score, and on both sides: whoever sees the score, or corrects only the rejects,
moves labels towards the cutoff, and its measured errors turn out too small. An accept that gets
corrected counts as much as a reject that does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

import msgspec
import numpy as np

from closecall.calibration.decisions import accepted
from closecall.calibration.goals import Rule
from closecall.calibration.inputs import Bools, Labelled
from closecall.calibration.records import Cutoff
from closecall.errors import ShapeError, UsageError
from closecall.records import Label

AuditKind: TypeAlias = Literal[
    "high-scoring reject", "low-scoring accept", "conflicting duplicate"
]


class Conflict(msgspec.Struct, frozen=True, kw_only=True):
    """One item that several rows label differently: their ids, places, and what they say.

    ``ids`` and ``places`` go together, in the order of the file; ``accepts`` + ``rejects`` rows.
    """

    ids: tuple[str, ...]
    places: tuple[str, ...]
    accepts: int
    rejects: int


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One label to look at again.

    ``id`` and ``place`` are those of the row, of the first one for a conflict. A conflict has
    neither ``score`` nor ``label``: it was set aside. Show a person neither of the two.
    """

    id: str
    place: str
    score: float | None
    label: Label | None
    kind: AuditKind
    note: str


class LabelAudit(msgspec.Struct, frozen=True, kw_only=True):
    """The labels to look at again, with how many of each kind there are in all.

    ``high_rejects`` are the rejects that the rule accepts, ``low_accepts`` the accepts that it
    rejects, ``conflicts`` the items labelled both ways; ``entries`` has the foremost of each.
    """

    entries: tuple[AuditEntry, ...]
    high_rejects: int
    low_accepts: int
    conflicts: int


def label_audit(
    ids: Sequence[str],
    places: Sequence[str],
    data: Labelled,
    rule: Rule,
    conflicts: Sequence[Conflict],
    *,
    most: int = 20,
) -> LabelAudit:
    """List labels to look at again: conflicts, then high rejects, then low accepts.

    Relabel blind to the score and on both sides, and shuffle the list before: else the cutoff is
    biased, and looks better than it is. What is relabelled is no random sample any more, so note
    that it was.

    Parameters
    ----------
    ids, places
        (n,): the id and the place of each row.
    data
        The n labelled rows.
    rule
        What decides. What two cutoffs leave to a person is no error and is not listed.
    conflicts
        Items labelled both ways.
    most
        How many to list of each kind, the furthest from the cutoff first, equal scores by id.

    Raises
    ------
    ShapeError
        Ids, places and rows differ in number.
    UsageError
        ``most`` is not a whole number of at least 1.
    """
    n = len(data.scores)
    if not len(ids) == len(places) == n:
        raise ShapeError(f"{len(ids)} ids and {len(places)} places do not fit {n} labelled rows")
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise UsageError(f"most must be a whole number of at least 1, got {most!r}")
    upper, lower = (rule, rule) if isinstance(rule, Cutoff) else (rule.accept, rule.reject)
    high = accepted(upper, data.scores) & ~data.accept
    low = ~accepted(lower, data.scores) & data.accept

    def entries(wrong: Bools, sign: int, kind: AuditKind) -> Iterator[AuditEntry]:
        rows = np.flatnonzero(wrong).tolist()
        rows.sort(key=lambda at: (sign * data.scores[at], ids[at], places[at]))
        reject = kind == "high-scoring reject"
        for at in rows[:most]:
            yield AuditEntry(
                id=ids[at],
                place=places[at],
                score=float(data.scores[at]),
                label=Label.REJECT if reject else Label.ACCEPT,
                kind=kind,
                note="labelled reject, and the cutoff accepts it"
                if reject
                else "labelled accept, and the cutoff rejects it",
            )

    return LabelAudit(
        entries=(
            *map(_clash, conflicts[:most]),
            *entries(high, -1, "high-scoring reject"),
            *entries(low, 1, "low-scoring accept"),
        ),
        high_rejects=int(np.count_nonzero(high)),
        low_accepts=int(np.count_nonzero(low)),
        conflicts=len(conflicts),
    )


def _clash(conflict: Conflict) -> AuditEntry:
    others = ", ".join(
        place or name for name, place in zip(conflict.ids[1:], conflict.places[1:], strict=True)
    )
    also = f"; the same item stands at {others}" if others else ""
    return AuditEntry(
        id=conflict.ids[0],
        place=conflict.places[0],
        score=None,
        label=None,
        kind="conflicting duplicate",
        note=f"labelled accept {_times(conflict.accepts)} and reject "
        f"{_times(conflict.rejects)}{also}",
    )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"

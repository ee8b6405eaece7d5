"""What a merge needs to know of each case, where a run is only a part of what is merged.

The lines of a case say what it came to. Whether the run looks like its calibration, and how its
error rates spread over questions, also depends on lengths, slices and groups, of which a folder
without content holds nothing. So a shard keeps these beside each case: numbers, values of slices
as the monitor may quote them, and digests of groups. Merging then counts as one run would have.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from closecall.calibration.labels.items import group_of
from closecall.records import JSON, Case
from closecall.runs.gate_lines import Noting
from closecall.runs.grouping import GroupNames
from closecall.runs.results import CaseResult

if TYPE_CHECKING:
    from closecall.runs.monitor import Look, Monitor

_GROUP, _LOOKS, _NOTE = "group", "looks", "gates"
_MOST = 2**53
"""Characters or references; beyond it is no count of anything."""


def beside_of(
    row: CaseResult,
    monitor: Monitor | None,
    watch: object = None,
    *,
    names: GroupNames | None = None,
) -> dict[str, JSON]:
    """Return JSON values; ``grouped``, ``looks_beside`` and ``note_beside`` read them back.

    ``names`` are those of groups where no content is kept.
    """
    name = _digest if names is None else names.name
    found: dict[str, JSON] = {_GROUP: name(group_of(row.case)[0])}
    if monitor is not None:
        looks = monitor.looks(first_run(row))
        found[_LOOKS] = [None if one is None else [*one[:3], name(one.group)] for one in looks]
    note = watch.note(row) if isinstance(watch, Noting) else None
    if note is not None:
        found[_NOTE] = [bool(one) for one in note]
    return found


def note_beside(beside: Mapping[str, Any]) -> list[bool] | None:
    """Return which gates a case was about; raises ``msgspec.ValidationError``."""
    return msgspec.convert(beside.get(_NOTE), list[bool] | None)


def with_group(case: Case, beside: Mapping[str, Any]) -> Case:
    """Return a case whose texts were not kept with what stands for its group."""
    digest = beside.get(_GROUP)
    if case.group is not None or not isinstance(digest, str):
        return case
    return msgspec.structs.replace(case, group=digest)


def grouped(row: CaseResult, beside: Mapping[str, Any]) -> CaseResult:
    """Return a case under what stands for its group, as all of one group are then counted as one.

    Of some the texts were cut, or left out and the label kept, and what is left of them would
    name their group in another way.
    """
    digest = beside.get(_GROUP)
    if not isinstance(digest, str):
        return row
    case = msgspec.structs.replace(row.case, group=digest)
    return msgspec.structs.replace(row, case=case)


def looks_beside(beside: Mapping[str, Any]) -> Sequence[Look | None]:
    """Return what the monitor noted of a case.

    Raises
    ------
    msgspec.ValidationError, ValueError
        It is no such thing.
    """
    from closecall.runs.monitor import Look

    found = msgspec.convert(beside.get(_LOOKS, []), list[Look | None])
    for one in found:
        if one is not None and not (0 <= one.length <= _MOST and 0 <= one.references <= _MOST):
            raise ValueError(
                f"{one.length!r:.40} characters, {one.references!r:.40} references: no counts"
            )
    return found


def first_run(row: CaseResult) -> CaseResult:
    """Return one answer of a case: a mean over several is spread otherwise than single ones."""
    return row.trials[0] if row.trials else row


def first_runs(rows: Sequence[CaseResult]) -> list[CaseResult]:
    """Return one answer a case."""
    return [first_run(row) for row in rows]


def _digest(name: str) -> str:
    spelt = name.encode("utf-8", errors="surrogatepass")
    return hashlib.blake2b(spelt, digest_size=16).hexdigest()

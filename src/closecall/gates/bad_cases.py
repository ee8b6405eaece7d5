"""Answers that are known to be bad: written by hand, or made of references by rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import structs

from closecall.datasets._strict import parse
from closecall.datasets._talk import is_talk
from closecall.errors import DataError, UsageError
from closecall.records import Case, Label
from closecall.runs.asked import read_cases
from closecall.stress.edits import WRONG
from closecall.stress.making import stress_set

if TYPE_CHECKING:
    from closecall.datasets import OnBadRow
    from closecall.runs.asked import PathLike

_ASSISTANTS = frozenset({"assistant", "ai"})

HAND_WRITTEN = "hand-written"
"""The family of bad answers that name none in their ``family`` field."""


def hand_written(
    bad: PathLike | Iterable[Case | Mapping[str, Any]],
    mapping: Mapping[str, str] | None,
    on_bad_row: OnBadRow,
) -> list[Case]:
    """Return bad answers of a person's own, labelled reject, each with a family.

    Raises
    ------
    DataError
        They cannot be read, or one is labelled accept.
    """
    made = []
    for case in read_cases(bad, mapping, on_bad_row, frozenset({"response"}))[0]:
        if case.label is Label.ACCEPT:
            raise DataError(
                f"{case.place or case.id}: labelled accept, among answers that are known to be "
                "bad: label it reject, or leave it out"
            )
        family = case.metadata.get("family")
        known = isinstance(family, str) and family.strip()
        facts = {"family": family if known else HAND_WRITTEN}
        made.append(structs.replace(case, label=Label.REJECT, metadata={**case.metadata, **facts}))
    return made


def made_up(
    cases: PathLike | Iterable[Case | Mapping[str, Any]],
    mapping: Mapping[str, str] | None,
    on_bad_row: OnBadRow,
    *,
    families: Sequence[str] | None,
    most: int | None,
    seed: int,
) -> list[Case]:
    """Return wrong answers made of the references; tags and metadata of each case stay.

    Raises
    ------
    UsageError, DataError
        A family is none of wrong answers, or there is nothing to edit.
    """
    wrong = tuple(WRONG) if families is None else tuple(families)
    harmless = [name for name in wrong if name not in WRONG]
    if harmless:
        raise UsageError(
            f"{harmless[0]!r} is no family of wrong answers; those are {', '.join(WRONG)}"
        )
    source = list(read_cases(cases, mapping, on_bad_row, frozenset({"references"}))[0])
    by_id = {case.id: case for case in source}
    made = []
    for case in stress_set(source, families=wrong, most=most, seed=seed).cases:
        own = by_id[case.metadata["stress"]["source"]]
        made.append(
            structs.replace(
                case,
                tags=tuple(dict.fromkeys((*own.tags, *case.tags))),
                metadata={**_unanswered(own.metadata), **case.metadata},
            )
        )
    return made


def _unanswered(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return a case's metadata without the answer at the end of its conversation.

    Another answer stands in its place now, and a conversation that holds both contradicts itself.
    """
    return {
        name: _open_talk(value) if is_talk(name) else value for name, value in metadata.items()
    }


def _open_talk(value: Any) -> Any:
    if isinstance(value, str) and value.lstrip().startswith(("[", "{")):
        try:
            value = parse(value)
        except (ValueError, RecursionError):
            return value  # whoever reads it says what is wrong with it
    if isinstance(value, Mapping) and "messages" in value:
        return {**value, "messages": _open_talk(value["messages"])}
    if not isinstance(value, list):
        return value
    last = value[-1] if value else None
    said = isinstance(last, Mapping) and last.get("content") and not last.get("tool_calls")
    if isinstance(last, Mapping) and said and last.get("role") in _ASSISTANTS:
        return value[:-1]
    return value


def distinct(cases: Sequence[Case]) -> list[Case]:
    """Return the cases under ids that differ, as those of two files need not."""
    taken: set[str] = set()
    made = []
    for case in cases:
        name, number = case.id, 1
        while name in taken:
            number += 1
            name = f"{case.id}~{number}"
        taken.add(name)
        made.append(case if name == case.id else structs.replace(case, id=name))
    return made

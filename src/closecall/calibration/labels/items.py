"""When two rows are the same item, and which rows belong to one group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from closecall.errors import UsageError
from closecall.instrument import canonical_text
from closecall.records import Case

BY_FIELD = "field"
BY_GROUP = "the group column"
BY_QUESTION = "question"
BY_REFERENCE = "reference"
BY_ROW = "row"

WAYS = (BY_GROUP, BY_QUESTION, BY_REFERENCE, BY_ROW)
"""What makes a group where no field was asked for, in this order."""

Item: TypeAlias = tuple[str, str, tuple[str, ...], tuple[str, ...]]

_FIELDS = ("group", "input", "references", "context", "id")


def item_of(case: Case) -> Item:
    """Return what makes a labelled item: question, response, references and context."""
    question, response = canonical_text(case.input or ""), canonical_text(case.response or "")
    references, context = (
        tuple(map(canonical_text, texts)) for texts in (case.references, case.context)
    )
    return question, response, references, context


def group_of(case: Case, field: str | None = None) -> tuple[str, str]:
    """Return the name of a case's group and what it was made from.

    Parameters
    ----------
    case
        Rows of one group are not independent.
    field
        A field of ``Case`` or a dotted path into its metadata. None: the case's ``group``, else
        its question, else its first reference, case and spacing apart; else it is on its own.

    Raises
    ------
    UsageError
        The case has no such field.
    """
    if field is not None:
        return _asked(case, field), BY_FIELD
    if case.group is not None:
        return f"g:{case.group}", BY_GROUP
    if case.input and case.input.strip():
        return f"q:{_alike(case.input)}", BY_QUESTION
    reference = next((text for text in case.references if text.strip()), None)
    if reference is not None:
        return f"r:{_alike(reference)}", BY_REFERENCE
    return f"i:{case.id}", BY_ROW


def _asked(case: Case, name: str) -> str:
    value: Any = getattr(case, name, None) if name in _FIELDS else _reach(case.metadata, name)
    if value is None or value in ((), ""):
        known = ", ".join([*_FIELDS, *sorted(case.metadata)])
        raise UsageError(
            f"{case.place or case.id}: no {name!r} to group by; this case has: {known}"
        )
    return f"{name}:{value}"


def _reach(value: Any, path: str) -> Any:
    if isinstance(value, Mapping) and path in value:
        return value[path]
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _alike(text: str) -> str:
    """Return what questions that differ in case and spacing only have in common."""
    return " ".join(canonical_text(text).casefold().split())

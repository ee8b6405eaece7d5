"""A case as one line of a case file, which reads back as the same case."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from closecall.datasets._content import JUDGED
from closecall.datasets._fields import plain
from closecall.records import Case

FIELDS = ("id", "input", "response", "references", "context", "label", "group", "tags")

_encode = msgspec.json.Encoder().encode


def case_line(case: Case) -> str:
    """Return a case as JSON on one line, without what it lacks.

    Fields that a metric reads stand beside the case's own; all other metadata is one object, where
    no name can be mistaken for a field.
    """
    return _encode(values_of(case)).decode("utf-8")


def values_of(case: Case) -> dict[str, Any]:
    """Return the members of that line."""
    values: dict[str, Any] = {}
    for field in FIELDS:
        value = getattr(case, field)
        if value is not None and value != ():
            values[field] = value
    judged = {key: value for key, value in case.metadata.items() if plain(key) in JUDGED}
    rest = {key: value for key, value in case.metadata.items() if key not in judged}
    nested = rest.get("metadata")
    if isinstance(nested, Mapping) and not set(nested) & (set(rest) - {"metadata"}):
        rest = {**nested, **{key: value for key, value in rest.items() if key != "metadata"}}
    if rest:
        judged["metadata"] = rest
    return {**values, **judged}

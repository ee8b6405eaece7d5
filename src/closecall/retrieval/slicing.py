"""The values a question has in a field, to look at each kind of question apart."""

from __future__ import annotations

import json
from collections.abc import Sequence

from closecall.errors import UsageError
from closecall.records import JSON
from closecall.retrieval.collection import Query

NONE = "(none)"
"""What stands for a question without the field."""

TAGS = ("tag", "tags")
GROUP = "group"


def slice_values(query: Query, field: str) -> tuple[str, ...]:
    """Return the values of a question in a field: each tag, each entry of a list, else one.

    ``field`` is ``group``, ``tag``, or a dotted path into the metadata.
    """
    if field in TAGS:
        return query.tags or (NONE,)
    value = _reach(query, field)
    if isinstance(value, list):
        return tuple(dict.fromkeys(_text(one) for one in value)) or (NONE,)
    return (_text(value),)


def check_fields(queries: Sequence[Query], fields: Sequence[str]) -> None:
    """Refuse a field that no question has.

    Raises
    ------
    UsageError
        The message names the fields there are.
    """
    for field in fields:
        if all(slice_values(query, field) == (NONE,) for query in queries):
            known = sorted({name for query in queries for name in query.metadata})
            has = [
                *(["group"] if any(query.group for query in queries) else []),
                *(["tag"] if any(query.tags for query in queries) else []),
                *(name for name in known if name not in {*TAGS, GROUP}),
            ]
            raise UsageError(
                f"no question has the field {field!r} to slice by; fields: "
                f"{', '.join(has) or 'none'}"
            )


def _reach(query: Query, field: str) -> JSON:
    if field == GROUP:
        return query.group
    value: JSON = query.metadata
    if field in query.metadata:
        return query.metadata[field]
    for part in field.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _text(value: JSON) -> str:
    if value is None or value == "":
        return NONE
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

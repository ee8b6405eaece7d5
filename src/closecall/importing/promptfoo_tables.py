"""promptfoo's tests in a table: a column is a variable, unless it begins with two underscores."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

EXPECTED = "__expected"
SPECIAL = {
    "__description": "description",
    "__providerOutput": "providerOutput",
    "__threshold": "threshold",
    "__metric": "metric",
    "__prefix": "prefix",
    "__suffix": "suffix",
}
METADATA = "__metadata:"

_WRITTEN = re.compile(r"((?:not-)?[a-z][a-z0-9-]*)(?:\((\d+(?:\.\d+)?)\))?(?::(.*))?", re.DOTALL)
_LISTS = ("contains-all", "contains-any", "icontains-all", "icontains-any")
_BARE = frozenset(
    {"is-json", "is-refusal", "is-xml", "is-sql", "is-html", "contains-json", "contains-xml"}
)
_KNOWN = frozenset(
    {
        "answer-relevance",
        "bleu",
        "classifier",
        "contains",
        "context-faithfulness",
        "context-recall",
        "context-relevance",
        "cost",
        "equals",
        "factuality",
        "g-eval",
        "gleu",
        "grade",
        "icontains",
        "javascript",
        "fn",
        "eval",
        "latency",
        "levenshtein",
        "llm-rubric",
        "meteor",
        "model-graded-closedqa",
        "model-graded-factuality",
        "moderation",
        "perplexity",
        "perplexity-score",
        "pi",
        "python",
        "regex",
        "rouge-n",
        "similar",
        "starts-with",
        "webhook",
        "word-count",
        *_LISTS,
        *_BARE,
    }
)


def is_table_row(row: Mapping[str, Any], *, cells: bool) -> bool:
    """Whether a row is a test of a table, or of JSON lines written like one."""
    return cells or any(key.startswith("__") for key in row)


def test_of_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the test that a row of a table stands for."""
    test: dict[str, Any] = {"vars": {}, "assert": []}
    kept: dict[str, Any] = {}
    for column, value in row.items():
        if column.startswith(EXPECTED):
            if isinstance(value, str) and value.strip():
                test["assert"].append(assertion_of(value))
        elif column in SPECIAL:
            test[SPECIAL[column]] = value
        elif column.startswith(METADATA):
            kept[column.removeprefix(METADATA)] = value
        elif column.startswith("__"):
            test[column] = value
        else:
            test["vars"][column] = value
    if kept:
        test["metadata"] = kept
    return test


def assertion_of(written: str) -> dict[str, Any]:
    """Return the assertion that a cell spells: ``contains-any:a,b``, ``similar(0.8):c``, a text.

    >>> assertion_of("icontains: five days")
    {'type': 'icontains', 'value': 'five days'}
    >>> assertion_of("Refunds: five days")
    {'type': 'equals', 'value': 'Refunds: five days'}
    """
    if written.startswith("file://"):
        return {"type": "python" if ".py" in written else "javascript", "value": written}
    found = _WRITTEN.fullmatch(written)
    if found is None:
        return {"type": "equals", "value": written}
    base = found[1].removeprefix("not-")
    if base not in _KNOWN or (found[3] is None and base not in _BARE):
        return {"type": "equals", "value": written}
    value: Any = None if found[3] is None else found[3].strip()
    if base in _LISTS:
        value = [part.strip() for part in value.split(",")]
    assertion = {"type": found[1], "value": value}
    if found[2]:
        assertion["threshold"] = float(found[2])
    return assertion

"""Assertions of promptfoo as what closecall has for them: references, facts and refusals.

Which text an assertion compares with becomes a reference; the cutoff is closecall's own. Texts and
patterns that must stand in the answer, or must not, become ``expected_facts``. Whatever a model or
code decides cannot be taken over and is counted; the assertions themselves stay in the metadata.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from closecall.importing.budget import Budget
from closecall.importing.tally import Tally

COMPARED = frozenset(
    {
        "equals",
        "similar",
        "similar:cosine",
        "similar:dot",
        "similar:euclidean",
        "levenshtein",
        "rouge-n",
        "rouge-s",
        "rouge-l",
        "bleu",
        "gleu",
        "meteor",
        "factuality",
        "model-graded-factuality",
        "context-recall",
    }
)
"""Their value is a text that the answer is compared with."""

FOUND = {
    "contains": ("all", True),
    "contains-all": ("all", True),
    "contains-any": ("any", True),
    "icontains": ("all", False),
    "icontains-all": ("all", False),
    "icontains-any": ("any", False),
}
"""Their values must stand in the answer: all or any of them; whether case counts."""

NOT_TAKEN = "assertions not taken over, kept in metadata.assert"

_LONGEST_PATTERN = 9_000
"""Characters of one that is taken over: a little less than a metric may be given."""

_VARIABLE = re.compile(r"\{\{-?\s*([A-Za-z_][\w.]*)\s*-?\}\}")
_TEMPLATE = re.compile(r"\{[{%#]")


class Asked(NamedTuple):
    """What a test's assertions ask of the answer."""

    references: tuple[str, ...]
    facts: dict[str, Any]


def asked_by(
    assertions: Any, variables: Mapping[str, Any], tally: Tally, budget: Budget, place: str
) -> Asked:
    """Return what these assertions ask; what cannot be taken over is counted.

    Raises
    ------
    DatasetError
        Variables put into assertions make more than the file may (``Budget``).
    """

    def spend(characters: int) -> None:
        budget.spend(characters, place, "variables in assertions")

    references: list[str] = []
    must: list[str] = []
    must_not: list[str] = []
    facts: dict[str, Any] = {}
    for one in _flat(assertions, tally):
        kind = str(one.get("type", ""))
        negated, base = kind.startswith("not-"), kind.removeprefix("not-")
        values = _values(one.get("value"), variables, spend)
        if base == "is-refusal":
            facts["expected_refusal"] = not negated
        elif values is None:
            tally.list(NOT_TAKEN, kind or "without a type")
        elif base in COMPARED and not negated and len(values) == 1:
            references += values
        elif pattern := _patterns(base, values, negated=negated):
            (must_not if negated else must).extend(pattern)
        else:
            tally.list(NOT_TAKEN, kind or "without a type")
    wanted = {"all": must, "none": must_not}
    found = {key: list(dict.fromkeys(patterns)) for key, patterns in wanted.items() if patterns}
    if found:
        facts["expected_facts"] = found
    return Asked(tuple(dict.fromkeys(references)), facts)


def _flat(assertions: Any, tally: Tally) -> Iterator[Mapping[str, Any]]:
    """Yield assertions, those of a set that must all hold among them."""
    for one in assertions if isinstance(assertions, list) else ():
        if not isinstance(one, Mapping):
            tally.list(NOT_TAKEN, "in another file")
        elif one.get("type") != "assert-set":
            yield one
        elif one.get("threshold") is None:
            yield from _flat(one.get("assert"), tally)
        else:
            tally.list(NOT_TAKEN, "assert-set with a threshold")


def _values(
    value: Any, variables: Mapping[str, Any], spend: Callable[[int], None]
) -> list[str] | None:
    """Return the texts of a value with variables put in; None where there is more to it."""
    texts = value if isinstance(value, list) else [value]
    found = []
    for text in texts:
        if isinstance(text, bool) or not isinstance(text, str | int | float):
            return None
        filled = _filled(str(text), variables, spend)
        if filled is None or filled.startswith(("file://", "package:")) or not filled.strip():
            return None
        found.append(filled)
    return found or None


def _filled(text: str, variables: Mapping[str, Any], spend: Callable[[int], None]) -> str | None:
    """Return a template with its variables, None where it asks for more than variables."""
    missing = False

    def put(match: re.Match[str]) -> str:
        nonlocal missing
        value: Any = variables
        for step in match[1].split("."):
            value = value.get(step) if isinstance(value, Mapping) else None
        if not isinstance(value, str | int | float):
            missing = True
            return ""
        put_in = str(value)
        spend(len(put_in))
        return put_in

    filled = _VARIABLE.sub(put, text)
    rest = _VARIABLE.sub("", text)
    return None if missing or _TEMPLATE.search(rest) else filled


def _patterns(base: str, values: list[str], *, negated: bool) -> list[str]:
    """Return regular expressions of Python's for what must stand in the answer; [] for none."""
    if base == "regex" and len(values) == 1:
        return [f"(?-i:{values[0]})"] if _compiles(values[0]) else []
    if base == "starts-with" and len(values) == 1:
        return [rf"\A(?-i:{re.escape(values[0])})"]
    if base not in FOUND:
        return []
    how, exact = FOUND[base]
    if base.endswith(("-all", "-any")) and len(values) == 1:
        values = [part.strip() for part in values[0].split(",")]  # as tables write a list
    patterns = [
        f"(?-i:{re.escape(text)})" if exact else re.escape(text) for text in values if text
    ]
    if not patterns or (negated and how == "all" and len(patterns) > 1):
        return []  # not all of them: no list of patterns says that
    # None of several may be there; one of several must.
    return patterns if how == "all" or negated else [f"(?:{'|'.join(patterns)})"]


def _compiles(pattern: str) -> bool:
    """Whether a pattern of JavaScript's is one of Python's, taken on its own and in a group."""
    if len(pattern) > _LONGEST_PATTERN:
        return False
    try:
        re.compile(f"(?-i:{pattern})")
    except (re.error, OverflowError, RecursionError, MemoryError):
        return False
    return True

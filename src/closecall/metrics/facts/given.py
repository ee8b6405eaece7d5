"""What a case, or an option, says must or must not stand in the response.

A case says so in a field of its own that closecall keeps as metadata, under any spelling of its
name (``expected_facts``, ``expectedFacts``, ``Expected facts``), at the top or in an object
``metadata``. In a table a cell may hold a JSON list or object.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from closecall.datasets._fields import plain
from closecall.errors import ClosecallError, UsageError
from closecall.metrics.facts.patterns import MOST_PATTERNS, problem_with, shown
from closecall.metrics.sides import response_side
from closecall.records import JSON, Case, State, Unmeasured

REGEX = "regex"
TEXT = "text"
SYNTAXES = (REGEX, TEXT)

_NESTED = "metadata"
_NEAR = 0.85
_HASHED = "sha256-"
_NAMEABLE = re.compile(r"[^\s:,\x00-\x1f\x7f]{1,64}")
_READS_OTHERWISE = frozenset({"true", "false", "()"})


class GivenError(ClosecallError):
    """A case's field cannot be read; its message becomes the reason of an absence."""


class Given(NamedTuple):
    """A field of a case that says something: its name as written, and its value."""

    name: str
    value: Any


def field_of_case(case: Case, names: Sequence[str]) -> Given | None:
    """Return the case's field of one of these names; None where it is missing or blank.

    Raises
    ------
    GivenError
        Two fields say something under these names, or a name is nearly one of these: taken for
        absent, a misspelt field would check nothing and fail nobody.
    """
    wanted = {plain(name) for name in names}
    fields = list(_fields(case.metadata))
    found = [Given(name, value) for name, value in fields if plain(name) in wanted]
    found = [given for given in found if not _says_nothing(given.value)]
    if len(found) > 1:
        raise GivenError(
            f"the case has both {found[0].name} and {found[1].name}, which mean the same; keep one"
        )
    if found:
        return found[0]
    for name, value in fields:
        if _nearly(plain(name), tuple(names)) and not _says_nothing(value):
            raise GivenError(f"the case's field {shown(name)} is not known; is it {names[0]}?")
    return None


@lru_cache(maxsize=1024)
def _nearly(name: str, names: tuple[str, ...]) -> bool:
    wanted = [plain(each) for each in names]
    return name not in wanted and bool(difflib.get_close_matches(name, wanted, n=1, cutoff=_NEAR))


def _fields(metadata: Mapping[str, JSON]) -> Iterator[tuple[str, JSON]]:
    for name, value in metadata.items():
        if name == _NESTED and isinstance(value, Mapping):
            yield from ((str(inner), inner_value) for inner, inner_value in value.items())
        else:
            yield name, value


def _says_nothing(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip()) or value in ([], {}, ())


def from_cell(value: Any) -> Any:
    """Return the list of texts or the object that a text spells as JSON, else the value itself.

    ``[0-9]+`` and ``[42]`` are patterns, ``["42", "forty-two"]`` is a list of two.
    """
    if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{"):
        return value
    try:
        spelled = json.loads(value)
    except (ValueError, RecursionError):
        return value
    is_texts = isinstance(spelled, list) and all(isinstance(item, str) for item in spelled)
    return spelled if is_texts or isinstance(spelled, dict) else value


def texts_in(name: str, value: Any) -> tuple[str, ...]:
    """Return the texts of a field: one text or whole number, or a list of them.

    Raises
    ------
    GivenError
        It is something else, or a text is blank.
    """
    items = list(value) if isinstance(value, list | tuple) else [value]
    texts: list[str] = []
    for item in items:
        if isinstance(item, bool) or not isinstance(item, str | int):
            raise GivenError(
                f"the case's {name} must be a text or a list of texts, got {type(item).__name__}"
            )
        if not str(item).strip():
            raise GivenError(f"the case's {name} holds a blank text")
        texts.append(str(item))
    return tuple(texts)


def texts_option(metric: str, name: str, value: object, *, regex: bool) -> tuple[str, ...]:
    """Return the texts or patterns of an option: one, or a sequence of them; checked.

    Raises
    ------
    UsageError
        One is blank or no text, or a pattern that cannot be compiled.
    """
    if isinstance(value, bool):  # how a name spells the texts "true" and "false"
        value = str(value).lower()
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list | tuple):
        raise UsageError(f"{metric}: {name} must be a text or a list of texts, got {value!r}")
    if len(items) > MOST_PATTERNS:
        raise UsageError(f"{metric}: {name} may hold at most {MOST_PATTERNS}, got {len(items)}")
    for item in items:
        if not isinstance(item, str):
            raise UsageError(f"{metric}: {name} must hold texts, got {item!r}")
        if item.startswith(_HASHED):
            raise UsageError(
                f"{metric}: {name} was too long for the metric's name, which only has its digest; "
                "give it as it was given first"
            )
        problem = problem_with(item) if regex else None if item.strip() else "it is blank"
        if problem:
            raise UsageError(f"{metric}: {name}: {shown(item)}: {problem}")
    return tuple(items)


def spelled(texts: Sequence[str]) -> JSON:
    """Return texts as a metric's id names them: a single short one itself, else a digest.

    >>> spelled(["30.days"]), spelled(["a, b"])
    ('30.days', 'sha256-28897c2d4545e282')
    """
    if not texts:
        return []
    only = texts[0] if len(texts) == 1 else ""
    if _NAMEABLE.fullmatch(only) and only.lower() not in _READS_OTHERWISE:
        return only
    return _HASHED + hashlib.sha256(json.dumps(list(texts)).encode()).hexdigest()[:16]


def response_of(case: Case) -> str | Unmeasured:
    """Return the response, or why there is none to look at."""
    side = response_side(case)
    return side if isinstance(side, Unmeasured) else side.texts[0]


def not_asked(metric: str, names: Sequence[str], option: str) -> Unmeasured:
    """Return the absence of a metric that nothing was asked of on this case."""
    return Unmeasured(
        f"the case asks nothing of {metric}: it has no {names[0]}, and no {option} was given",
        State.NOT_APPLICABLE,
    )

r"""``expected_fact``: does the response say what it must say?

A case lists regular expressions in a field ``expected_facts``: one, a list, or an object with
``all`` (each must match), ``any`` (one of them must) and ``none`` (none may)::

    {"response": "...", "expected_facts": ["\\b30 days\\b", "full refund"]}
    {"response": "...", "expected_facts": {"any": ["\\b42\\b", "forty-two"], "none": ["not sure"]}}

The value is the share of the conditions that hold: each pattern of ``all`` and of ``none`` is one
condition, and each ``any`` as a whole. Patterns search anywhere: ``30`` is also found in ``300``,
``\b30\b`` is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from closecall.embedders.base import TextKey, VectorLookup
from closecall.instrument import canonical_text
from closecall.metrics.facts.found import finds, misses, spans
from closecall.metrics.facts.given import (
    REGEX,
    SYNTAXES,
    Given,
    GivenError,
    field_of_case,
    from_cell,
    not_asked,
    response_of,
    spelled,
    texts_in,
    texts_option,
)
from closecall.metrics.facts.patterns import PatternError
from closecall.metrics.lexical.options import one_of, switch
from closecall.metrics.lexical.unit_metric import UnitMetric, measured
from closecall.records import JSON, Case, Measured, Measurement, Unmeasured

FIELDS = ("expected_facts", "expected_fact")
ALL, ANY, NONE = "all", "any", "none"
MATCH = (ALL, ANY, NONE)


class Facts(msgspec.Struct, frozen=True):
    """What a response must match: every one of ``all``, one of each ``any``, none of ``none``."""

    all: tuple[str, ...] = ()
    any: tuple[tuple[str, ...], ...] = ()
    none: tuple[str, ...] = ()

    @property
    def conditions(self) -> int:
        """How many things are asked."""
        return len(self.all) + len(self.any) + len(self.none)

    def __add__(self, other: Facts) -> Facts:
        return Facts(self.all + other.all, self.any + other.any, self.none + other.none)


def facts_of(given: Given, match: str = ALL) -> Facts:
    """Return what a case's field asks for; ``match`` says how a plain list is meant.

    Raises
    ------
    GivenError
        The field is neither a text, a list of texts nor such an object.
    """
    value = from_cell(given.value)
    if not isinstance(value, Mapping):
        return _listed(texts_in(given.name, value), match)
    unknown = [key for key in value if key not in MATCH]
    if unknown:
        raise GivenError(
            f"the case's {given.name} may have all, any and none, got {str(unknown[0])[:60]!r}"
        )
    found = Facts()
    for key, part in value.items():
        found += _listed(texts_in(f"{given.name}.{key}", [] if part is None else part), key)
    return found


def _listed(patterns: Sequence[str], match: str) -> Facts:
    patterns = tuple(patterns)
    if match == ANY:
        return Facts(any=(patterns,) if patterns else ())
    return Facts(none=patterns) if match == NONE else Facts(all=patterns)


class ExpectedFact(UnitMetric):
    r"""``expected_fact``: the share of a case's expected facts that the response has; cutoff 1.

    A case without any, where none is given as an option, is not applicable. A pattern that is
    wrong, or takes too long, leaves the case unmeasured and is named.

    Parameters
    ----------
    patterns
        Facts every response must have, beside those of its own case. One as an option of the
        name, several from Python: ``expected_fact:patterns=\[\d+\]``.
    match
        How ``patterns`` and a plain list in a case are meant: ``all`` (default), ``any``,
        ``none``.
    syntax
        ``regex`` (default): Python's regular expressions. ``text``: the words as they stand.
    ignore_case
        True (default): upper and lower case are the same. ``(?-i:...)`` in a pattern sees them.
    cutoff
        0 to 1; the default asks for every fact.
    """

    NAME = "expected_fact"
    NEEDS = ("response",)
    DEFAULT_CUTOFF = 1.0
    EXACT = True
    DESCRIPTION = "Share of the facts expected of the response that stand in it, 0 to 1."
    DEFAULTS: ClassVar[dict[str, JSON]] = {
        "patterns": [],
        "match": ALL,
        "syntax": REGEX,
        "ignore_case": True,
    }

    def __init__(
        self,
        cutoff: float | None = None,
        *,
        patterns: str | Sequence[str] = (),
        match: str = ALL,
        syntax: str = REGEX,
        ignore_case: bool = True,
    ) -> None:
        self.match = one_of(self.NAME, "match", match, MATCH)
        self.syntax = one_of(self.NAME, "syntax", syntax, SYNTAXES)
        self.ignore_case = switch(self.NAME, "ignore_case", ignore_case)
        self.patterns = texts_option(self.NAME, "patterns", patterns, regex=syntax == REGEX)
        options: dict[str, Any] = {
            "patterns": list(self.patterns),
            "match": self.match,
            "syntax": self.syntax,
            "ignore_case": self.ignore_case,
        }
        self._settle(cutoff, options, {"patterns": spelled(self.patterns)})

    def texts(self, case: Case) -> tuple[TextKey, ...] | Unmeasured:
        """Return no texts, since no vectors are needed; or why nothing can be measured."""
        asked = self._asked(case)
        return asked if isinstance(asked, Unmeasured) else ()

    def measure(self, case: Case, vectors: VectorLookup) -> Measurement:  # noqa: ARG002 - no model
        """Measure one case; ``vectors`` may be empty."""
        asked = self._asked(case)
        if isinstance(asked, Unmeasured):
            return asked
        facts, response = asked
        try:
            return self._measure(facts, canonical_text(response))
        except PatternError as absent:
            return Unmeasured(str(absent))

    def _asked(self, case: Case) -> tuple[Facts, str] | Unmeasured:
        try:
            given = field_of_case(case, FIELDS)
            own = Facts() if given is None else facts_of(given, self.match)
        except GivenError as absent:
            return Unmeasured(str(absent))
        facts = _listed(self.patterns, self.match) + own
        if not facts.conditions:
            return not_asked(self.NAME, FIELDS, "patterns option")
        response = response_of(case)
        return response if isinstance(response, Unmeasured) else (facts, response)

    def _measure(self, facts: Facts, response: str) -> Measured:
        one_of_each = [pattern for group in facts.any for pattern in group]
        wanted = [*facts.all, *one_of_each, *facts.none]
        places = spans(wanted, response, syntax=self.syntax, ignore_case=self.ignore_case)
        first, last = len(facts.all), len(wanted) - len(facts.none)
        alternatives = iter(places[first:last])
        groups = [[next(alternatives) is not None for _ in group] for group in facts.any]
        met = sum(place is not None for place in places[:first])
        met += sum(map(any, groups)) + sum(place is None for place in places[last:])
        details: dict[str, JSON] = {
            "conditions": facts.conditions,
            "met": met,
            "found": finds(wanted[:last], places[:last], response),
            "missing": misses(facts.all, places[:first]),
        }
        unmet = [group for group, held in zip(facts.any, groups, strict=True) if not any(held)]
        if unmet:
            details["missingAnyOf"] = [misses(group, [None] * len(group)) for group in unmet]
        if facts.none:
            details["unwanted"] = finds(facts.none, places[last:], response)
        return measured(met / facts.conditions, details)

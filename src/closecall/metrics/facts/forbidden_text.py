"""``forbidden_text``: does the response keep clear of what it must not say?

Texts come from an option, from the case's field ``forbidden_text``, or both. A single one found
makes the value 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from closecall.embedders.base import TextKey, VectorLookup
from closecall.instrument import canonical_text
from closecall.metrics.facts.found import finds, spans
from closecall.metrics.facts.given import (
    SYNTAXES,
    TEXT,
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
from closecall.records import JSON, Case, Measurement, Unmeasured

FIELDS = ("forbidden_text", "forbidden_texts")


class ForbiddenText(UnitMetric):
    """``forbidden_text``: 1 where no forbidden text stands in the response, else 0; cutoff 1.

    A case that forbids nothing, where nothing is given as an option, is not applicable.

    Parameters
    ----------
    texts
        Forbidden in every response, beside what its own case forbids. One as an option of the
        name, several from Python.
    syntax
        ``text`` (default): the words as they stand, with any white space between them.
        ``regex``: Python's regular expressions, with a time limit.
    ignore_case
        True (default): upper and lower case are the same.
    whole_words
        False (default): also inside a longer word. Has no effect on patterns.
    cutoff
        0 to 1.
    """

    NAME = "forbidden_text"
    NEEDS = ("response",)
    DEFAULT_CUTOFF = 1.0
    EXACT = True
    DESCRIPTION = "1 where nothing forbidden stands in the response, else 0."
    DEFAULTS: ClassVar[dict[str, JSON]] = {
        "texts": [],
        "syntax": TEXT,
        "ignore_case": True,
        "whole_words": False,
    }

    def __init__(
        self,
        cutoff: float | None = None,
        *,
        texts: str | Sequence[str] = (),
        syntax: str = TEXT,
        ignore_case: bool = True,
        whole_words: bool = False,
    ) -> None:
        self.syntax = one_of(self.NAME, "syntax", syntax, SYNTAXES)
        self.ignore_case = switch(self.NAME, "ignore_case", ignore_case)
        self.whole_words = switch(self.NAME, "whole_words", whole_words)
        self.forbidden = texts_option(self.NAME, "texts", texts, regex=syntax != TEXT)
        options: dict[str, Any] = {
            "texts": list(self.forbidden),
            "syntax": self.syntax,
            "ignore_case": self.ignore_case,
            "whole_words": self.whole_words,
        }
        self._settle(cutoff, options, {"texts": spelled(self.forbidden)})

    def texts(self, case: Case) -> tuple[TextKey, ...] | Unmeasured:
        """Return no texts, since no vectors are needed; or why nothing can be measured."""
        asked = self._asked(case)
        return asked if isinstance(asked, Unmeasured) else ()

    def measure(self, case: Case, vectors: VectorLookup) -> Measurement:  # noqa: ARG002 - no model
        """Measure one case; ``vectors`` may be empty."""
        asked = self._asked(case)
        if isinstance(asked, Unmeasured):
            return asked
        forbidden, response = asked
        response = canonical_text(response)
        try:
            places = spans(
                forbidden,
                response,
                syntax=self.syntax,
                ignore_case=self.ignore_case,
                whole_words=self.whole_words,
            )
        except PatternError as absent:
            return Unmeasured(str(absent))
        found = sum(place is not None for place in places)
        details: dict[str, JSON] = {
            "forbidden": len(forbidden),
            "present": found,
            "found": finds(forbidden, places, response),
        }
        return measured(0.0 if found else 1.0, details)

    def _asked(self, case: Case) -> tuple[tuple[str, ...], str] | Unmeasured:
        try:
            given = field_of_case(case, FIELDS)
            own = () if given is None else texts_in(given.name, from_cell(given.value))
        except GivenError as absent:
            return Unmeasured(str(absent))
        forbidden = self.forbidden + own
        if not forbidden:
            return not_asked(self.NAME, FIELDS, "texts option")
        response = response_of(case)
        return response if isinstance(response, Unmeasured) else (forbidden, response)

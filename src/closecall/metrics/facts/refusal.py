"""``refusal``: does the response refuse where it should, and answer where it should?

A case says what is right in its field ``expected_refusal``: true, false, or the very words of the
refusal. A refusal is told by its words, never by similarity: *I don't know* has nothing of the
reference in it and may be the right answer.

Words are looked for in this order, and only those of the first kind that is given count: the
case's own, the options ``texts`` and ``patterns``, usual English beginnings (``refusal_cues``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from closecall.embedders.base import TextKey, VectorLookup
from closecall.instrument import canonical_text
from closecall.metrics.facts.found import clipped, spans
from closecall.metrics.facts.given import (
    REGEX,
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
from closecall.metrics.facts.refusal_cues import refusal_cue
from closecall.metrics.lexical.options import one_of, switch
from closecall.metrics.lexical.unit_metric import UnitMetric, measured
from closecall.records import JSON, Case, Measurement, Unmeasured

FIELDS = ("expected_refusal", "expect_refusal")
CASE, REFUSAL, ANSWER = "case", "refusal", "answer"
EXPECT = (CASE, REFUSAL, ANSWER)

_TRUE = frozenset({"true", "yes", "1"})
_FALSE = frozenset({"false", "no", "0"})
_ENDS = " \t\n.!\N{HORIZONTAL ELLIPSIS}\"'"


class Expected(NamedTuple):
    """Whether a case should be refused, and in which words where it says so."""

    refuse: bool
    texts: tuple[str, ...] = ()


def expected_refusal(case: Case) -> Expected | None:
    """Return what a case says of refusing, None where it says nothing.

    Raises
    ------
    GivenError
        Its field is neither true, false, a text nor a list of texts.
    """
    given = field_of_case(case, FIELDS)
    if given is None:
        return None
    value = from_cell(given.value)
    word = str(value).strip().lower()
    if word in _TRUE | _FALSE:
        return Expected(word in _TRUE)
    return Expected(refuse=True, texts=texts_in(given.name, value))


def same_words(first: str, second: str) -> bool:
    """Return whether two texts are the same, case, white space and the final mark aside.

    >>> same_words("I don't know.", "i DON\N{RIGHT SINGLE QUOTATION MARK}T know")
    True
    """
    return _plain(first) == _plain(second)


def _plain(text: str) -> str:
    text = canonical_text(text).casefold()
    for curly, straight in (("\u2019", "'"), ("\u2018", "'"), ("\u201c", '"'), ("\u201d", '"')):
        text = text.replace(curly, straight)
    return " ".join(text.split()).strip(_ENDS)


class Refusal(UnitMetric):
    """``refusal``: 1 where the response refuses, or answers, as the case expects; cutoff 1.

    A case that does not say what is expected is not applicable, unless ``expect`` says it for
    all.

    Parameters
    ----------
    expect
        ``case`` (default): what the case says. ``refusal`` or ``answer``: what every case should
        get that says nothing itself.
    texts
        The refusals of your system, word for word: a response that is one of them as a whole,
        case, white space and the final mark aside. One as an option of the name, several from
        Python.
    patterns
        Regular expressions, with a time limit; a response that one of them matches anywhere is a
        refusal.
    ignore_case
        True (default): upper and lower case are the same in ``patterns``.
    cutoff
        0 to 1.
    """

    NAME = "refusal"
    NEEDS = ("response",)
    DEFAULT_CUTOFF = 1.0
    EXACT = True
    DESCRIPTION = "1 where the response refuses or answers as expected, else 0."
    DEFAULTS: ClassVar[dict[str, JSON]] = {
        "expect": CASE,
        "texts": [],
        "patterns": [],
        "ignore_case": True,
    }

    def __init__(
        self,
        cutoff: float | None = None,
        *,
        expect: str = CASE,
        texts: str | Sequence[str] = (),
        patterns: str | Sequence[str] = (),
        ignore_case: bool = True,
    ) -> None:
        self.expect = one_of(self.NAME, "expect", expect, EXPECT)
        self.refusals = texts_option(self.NAME, "texts", texts, regex=False)
        self.patterns = texts_option(self.NAME, "patterns", patterns, regex=True)
        self.ignore_case = switch(self.NAME, "ignore_case", ignore_case)
        options: dict[str, Any] = {
            "expect": self.expect,
            "texts": list(self.refusals),
            "patterns": list(self.patterns),
            "ignore_case": self.ignore_case,
        }
        shown = {"texts": spelled(self.refusals), "patterns": spelled(self.patterns)}
        self._settle(cutoff, options, shown)

    def texts(self, case: Case) -> tuple[TextKey, ...] | Unmeasured:
        """Return no texts, since no vectors are needed; or why nothing can be measured."""
        asked = self._asked(case)
        return asked if isinstance(asked, Unmeasured) else ()

    def measure(self, case: Case, vectors: VectorLookup) -> Measurement:  # noqa: ARG002 - no model
        """Measure one case; ``vectors`` may be empty."""
        asked = self._asked(case)
        if isinstance(asked, Unmeasured):
            return asked
        expected, response = asked
        try:
            by, words = self._refused(expected, canonical_text(response))
        except PatternError as absent:
            return Unmeasured(str(absent))
        refused = words is not None
        details: dict[str, JSON] = {
            "expectedRefusal": expected.refuse,
            "refused": refused,
            "judgedBy": by,
        }
        if words is not None:
            details["found"] = clipped(words)
        return measured(float(refused == expected.refuse), details)

    def _refused(self, expected: Expected, response: str) -> tuple[str, str | None]:
        """Return by what a refusal was judged, and the words that make it one."""
        texts = expected.texts or self.refusals
        if any(same_words(text, response) for text in texts):
            return "text", response
        if expected.texts or not (texts or self.patterns):
            return ("text", None) if expected.texts else ("cue", refusal_cue(response))
        places = spans(self.patterns, response, syntax=REGEX, ignore_case=self.ignore_case)
        place = next((place for place in places if place is not None), None)
        by = "pattern" if self.patterns else "text"
        return by, None if place is None else response[place.start : place.end]

    def _asked(self, case: Case) -> tuple[Expected, str] | Unmeasured:
        try:
            expected = expected_refusal(case)
        except GivenError as absent:
            return Unmeasured(str(absent))
        if expected is None and self.expect == CASE:
            return not_asked(self.NAME, FIELDS, "expect option")
        response = response_of(case)
        if isinstance(response, Unmeasured):
            return response
        return expected or Expected(self.expect == REFUSAL), response

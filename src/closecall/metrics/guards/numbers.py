"""``numbers``: does the response hold the numbers of the reference?

The rules, each tested; *reference* stands left, *response* right:

=================== ==============================================================================
separators          ``1,234.5`` = ``1.234,5`` = ``1 234,5`` = ``1'234.5`` = ``12,34,567`` read in
                    groups; ``1,234`` alone is a thousand in English and one point two in German,
                    French and Spanish text; where the language is not known either reading counts
digits and words    ``25`` = *twenty-five* = *fünfundzwanzig* = *vingt-cinq* = *veinticinco*;
                    *nineteen eighty-four* = ``1984``; ``3rd`` = *third* = ``3``; ``II`` = ``2``
scales              ``5 million`` = ``5,000,000`` = ``5m`` after a currency sign; *billion* is
                    10**9 in English and 10**12 in German and French; ``half a million``, *dozen*
rounding            a number with decimals, with a scale, or after *about* is told to its last
                    digit: ``3.14`` = ``3.14159``, ``1.5 million`` = ``1,512,345``, *about 5,000* =
                    ``5,217``; whole numbers are exact: ``30`` is not ``33``
percent             ``25%`` = ``25 percent`` = ``0.25`` = *a quarter*
units               compared in one base unit: ``5 km`` = ``5000 m``; from one system to another to
                    1.5 %: ``100 miles`` = ``160 km``; ``2 h 30 min`` = ``150 minutes``; a month
                    is 28 to 31 days; ``GB`` is 10**9 or 2**30; temperatures to half a degree
no unit             a number without one matches the same number with one: ``30`` = ``30 days``
other unit, money   ``5 km`` is not ``5 kg``; ``5 euros`` are not ``5 dollars``; ``5 a day`` is not
                    ``5 a month``
dates               the spellings of one day are the same; the response may say more (*2004* =
                    *25 February 2004*), not less; ``03/04/2020`` is either day
years               ``44 BC`` is not ``44 AD``; a year matches the decade or century in the
                    reference, not the other way round
times of day        ``9:15`` = ``9:15 pm`` = ``21:15``; ``9:15 am`` is not ``9:15 pm``
ranges              ``5-10`` = *5 to 10* = *between 5 and 10*; ``1939-45`` ends in 1945; an end of
                    a range in the response matches one number, both ends match a range
zero                ``0`` = *none* = *no ...*
codes               ``B-52`` is not ``B-2``; a code that is merely left out does not count
=================== ==============================================================================

A number of the reference that also stands in the question need not be repeated. *One*, *first*,
*an hour* and Roman numerals need not be either; they differ only where the response counts the
same thing otherwise (*first season*, *second season*). Numbers that only the response has never
count. A whole reference without a number is ``absent``.
"""

from __future__ import annotations

from collections.abc import Iterable

from closecall.metrics.guards.base import GuardFinding, Span, kept, quoted
from closecall.metrics.guards.number_comparison import Compared, compare
from closecall.metrics.guards.quantities import Quantity


class Numbers:
    """The guard ``numbers``; see the table at the top of this module."""

    name = "numbers"
    every = True

    def check(self, reference: str, response: str, question: str | None = None) -> GuardFinding:
        """Return ``differ`` where a number of the reference is contradicted or lacking."""
        found = compare(reference, response, question)
        if found.missing or found.contradicted:
            return self._differ(reference, response, found)
        if not found.matched:
            ours = _spans(q for q, _ in found.vague)
            theirs = _spans(r for _, r in found.vague)
            less = f"{quoted(response, theirs)} tells less than {quoted(reference, ours)}"
            return GuardFinding(
                guard=self.name,
                state="absent",
                spans_reference=kept(ours),
                spans_response=kept(theirs),
                words=less if ours else "the reference has no number to look for",
            )
        ours = _spans(q for q, _ in found.matched)
        return GuardFinding(
            guard=self.name,
            state="agree",
            spans_reference=kept(ours),
            spans_response=kept(_spans(r for _, r in found.matched if r is not None)),
            words=f"the response has {quoted(reference, ours)}",
        )

    def _differ(self, reference: str, response: str, found: Compared) -> GuardFinding:
        ours = _spans(q for q, _ in found.contradicted)
        theirs = _spans(r for _, r in found.contradicted)
        lacking = _spans(found.missing)
        words = []
        if ours:
            words.append(
                f"the reference has {quoted(reference, ours)}, "
                f"the response {quoted(response, theirs)}"
            )
        if lacking:
            words.append(f"the response lacks {quoted(reference, lacking)}")
        return GuardFinding(
            guard=self.name,
            state="differ",
            spans_reference=kept([*ours, *lacking]),
            spans_response=kept(theirs),
            words="; ".join(words),
        )


def _spans(found: Iterable[Quantity]) -> list[Span]:
    return [(q.start, q.end) for q in found]

"""What the guards find in a case, as numbers a head can weigh."""

from __future__ import annotations

from collections.abc import Sequence

from closecall.metrics.facts.refusal_cues import refusal_cue
from closecall.metrics.fitted.texts import amount
from closecall.metrics.guards import names as naming
from closecall.metrics.guards import number_comparison as numbering
from closecall.metrics.guards.antonyms import Antonyms
from closecall.metrics.guards.base import Guard, GuardState, against_any
from closecall.metrics.guards.names import Names
from closecall.metrics.guards.negation import Negation
from closecall.metrics.guards.polarity import read
from closecall.metrics.guards.quantifiers import Quantifiers
from closecall.metrics.guards.words import language_of

READ = 20_000
"""Characters of a text that the guards look at: some 3,000 words."""

NEAREST = 8
"""References that the guards look at: those nearest by alignment."""

_GUARDS: tuple[Guard, ...] = (Names(), Negation(), Quantifiers(), Antonyms())


def against_references(
    references: Sequence[str], response: str, question: str | None
) -> dict[str, float]:
    """Return the features of an answer beside references, the nearest first; at least one.

    Counts are about the first of them; whether a guard differs, about any.
    """
    asked = None if question is None else question[:READ]
    said, near = response[:READ], [one[:READ] for one in references[:NEAREST]]
    found: dict[str, float] = {}
    for guard in _GUARDS:
        state = against_any(guard, near, said, asked).finding.state
        found[f"{guard.name}_differ"] = float(state == "differ")
        if guard.name == "names":
            found["names_agree"] = float(state == "agree")
    told = numbering.compare(near[0], said, asked)
    state = _numbers(told, near[1:], said, asked)
    found["numbers_differ"], found["numbers_agree"] = (
        float(state == "differ"),
        float(state == "agree"),
    )
    named = naming.compare(near[0], said, asked)
    found["numbers_missing"] = amount(len(told.missing) + len(told.contradicted))
    found["numbers_extra"] = amount(_extra_numbers(said, near[0], asked))
    found["names_missing"] = amount(len(named.missing))
    found["names_extra"] = amount(_extra_names(said, near[0], asked))
    here, there = _negates(said), any(map(_negates, near))
    given = asked is not None and _negates(asked)
    found["negation_added"] = float(here and not there and not given)
    found["negation_dropped"] = float(there and not here)
    found["refusal"] = float(refusal_cue(response) is not None)
    return found


def against_context(
    passages: Sequence[str], response: str, question: str | None
) -> dict[str, float]:
    """Return the features of an answer beside the passages it should rest on; at least one."""
    whole, said = "\n".join(passages)[:READ], response[:READ]
    asked = None if question is None else question[:READ]
    numbers = numbering.compare(said, whole)
    named = naming.compare(said, whole)
    negation = Negation().check(whole, said, asked)
    return {
        "numbers_extra": amount(len(numbers.missing) + len(numbers.contradicted)),
        "numbers_agree": float(bool(numbers.matched)),
        "names_extra": amount(len(named.missing)),
        "names_agree": float(bool(named.matched)),
        "negation_differ": float(negation.state == "differ"),
        "negation_added": float(_negates(said) and not _negates(whole)),
        "refusal": float(refusal_cue(response) is not None),
    }


def _numbers(
    first: numbering.Compared, others: Sequence[str], response: str, question: str | None
) -> GuardState:
    """Return what the guard on numbers finds beside any reference, the first compared already."""
    states = {_number_state(first)}
    for other in others:
        if "agree" in states:
            break
        states.add(_number_state(numbering.compare(other, response, question)))
    if "agree" in states:
        return "agree"
    return "absent" if "absent" in states else "differ"


def _number_state(found: numbering.Compared) -> GuardState:
    if found.missing or found.contradicted:
        return "differ"
    return "agree" if found.matched else "absent"


def _extra_numbers(response: str, reference: str, question: str | None) -> int:
    """Return how many numbers of the response neither reference nor question has."""
    found = numbering.compare(response, f"{reference}\n{question or ''}")
    return len(found.missing) + len(found.contradicted)


def _extra_names(response: str, reference: str, question: str | None) -> int:
    return len(naming.compare(response, f"{reference}\n{question or ''}").missing)


def _negates(text: str) -> bool:
    """Return whether a text has a negation cue."""
    return any(clause.cues for clause in read(text, language_of(text) or "en").clauses)

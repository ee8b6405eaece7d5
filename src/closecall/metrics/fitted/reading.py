"""From a case to its features: which texts are embedded, and why there may be none."""

from __future__ import annotations

from typing import NamedTuple

from closecall.embedders.base import Embedded, Failure, TextKey, VectorLookup
from closecall.metrics.alignment.answer import Unread, pieces_of
from closecall.metrics.base import DECIMALS
from closecall.metrics.fitted.answer_features import Answer, answer_features
from closecall.metrics.fitted.context_features import Grounded, context_features
from closecall.metrics.fitted.features import OF, SUPPORT, Sides, features_of, names
from closecall.metrics.fitted.support import log_odds
from closecall.metrics.sides import known_tokens, not_blank, response_side
from closecall.records import Case, Measurement, Role, Tokens, Unmeasured

_FIELD = {"references": "reference", "context": "context"}
_ONE = {"references": "reference", "context": "passage"}


class Read(NamedTuple):
    """The features of a case, by name; each finite and rounded to ``DECIMALS``.

    ``best`` is the reference, or passage, that aligns best, as the case numbers it.
    """

    features: dict[str, float]
    best: int
    tokens: dict[str, Tokens]


def texts_of(case: Case, sides: Sides) -> tuple[TextKey, ...] | Unmeasured:
    """Return the texts to embed, the response last but for the question; or why there are none."""
    given = case.references if sides == "references" else case.context
    _, others = not_blank(given)
    if not others:
        return Unmeasured(f"the case's {_FIELD[sides]} is {'blank' if given else 'missing'}")
    response = response_side(case)
    if isinstance(response, Unmeasured):
        return response
    keys = [TextKey(text, Role.TEXT, pieces=True) for text in (*others, response.texts[0])]
    if case.input is not None and case.input.strip():
        keys.append(TextKey(case.input))
    return tuple(keys)


def read(case: Case, sides: Sides, vectors: VectorLookup) -> Read | Unmeasured:
    """Return the features of a case, or why it has none.

    A reference or passage that the model cannot read is left out, as alignment leaves it out. A
    question that it cannot read is no question.
    """
    keys = texts_of(case, sides)
    if isinstance(keys, Unmeasured):
        return keys
    written, others = not_blank(case.references if sides == "references" else case.context)
    count = len(others)
    found = [pieces_of(vectors, key, _ONE[sides]) for key in keys[:count]]
    answer = pieces_of(vectors, keys[count], "response")
    if isinstance(answer, Unmeasured):
        return answer
    broken = next((one for one in found if type(one) is Unmeasured), None)
    if broken is not None:
        return broken
    kept = [at for at, one in enumerate(found) if not isinstance(one, Unread)]
    embedded = tuple(one for one in found if isinstance(one, Embedded))
    if not embedded:
        return Unmeasured(f"the model knows no word or sign of any {_ONE[sides]}")
    asked, question = None, None
    if len(keys) > count + 1:
        vector = vectors.get(keys[-1])
        if vector is None or (isinstance(vector, Failure) and not vector.unreadable):
            reason = "" if vector is None else f": {vector.reason}"
            return Unmeasured(f"the question was not embedded{reason}")
        if isinstance(vector, Embedded):
            asked, question = case.input, vector.vector
    texts = tuple(others[at] for at in kept)
    response = keys[count].text
    if sides == "references":
        features, best = answer_features(
            Answer(texts, embedded, response, answer, asked, question)
        )
    else:
        features, best = context_features(
            Grounded(texts, embedded, response, answer, asked, question)
        )
    return Read(
        {one.name: round(features[one.name], DECIMALS) + 0.0 for one in OF[sides]},
        written[kept[best]],
        known_tokens([(_ONE[sides], embedded[best].tokens), ("response", answer.tokens)]),
    )


def with_support(
    found: Read | Unmeasured, sides: Sides, support: Measurement | None
) -> Read | Unmeasured:
    """Return the features with what the pair model makes of the case, or why there is none.

    The same where ``support`` is None: the judge goes without it.
    """
    if isinstance(found, Unmeasured) or support is None:
        return found
    name = SUPPORT[sides].name
    if isinstance(support, Unmeasured):
        return Unmeasured(f"{name}: {support.reason}", support.state)
    told = {**found.features, name: round(log_odds(support), DECIMALS) + 0.0}
    order = names(features_of(sides, support=True))
    return found._replace(features={one: told[one] for one in order})

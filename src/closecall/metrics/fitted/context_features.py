"""The scalars of an answer beside the context it should rest on, linear in the texts."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from closecall.embedders.base import Embedded, Vector
from closecall.instrument import canonical_text
from closecall.metrics.alignment.answer import pieces
from closecall.metrics.alignment.matching import best_matches, weighted_mean
from closecall.metrics.alignment.sentences import sentences
from closecall.metrics.cosine import cosine
from closecall.metrics.fitted.facts import against_context
from closecall.metrics.fitted.texts import (
    amount,
    recall,
    runs_recall,
    triples,
    triples_recall,
    weights,
)
from closecall.metrics.guards.words import STOP
from closecall.metrics.lexical.tokenizers import SQUAD, TokenPairs

POOR = 0.5
"""A match below this is a poor one."""


class Grounded(NamedTuple):
    """A response beside the passages that the model can read, embedded with their tokens.

    ``question`` is the vector of ``asked``; both are None without a question.
    """

    passages: tuple[str, ...]
    embedded: tuple[Embedded, ...]
    response: str
    answer: Embedded
    asked: str | None
    question: Vector | None


def context_features(case: Grounded) -> tuple[dict[str, float], int]:
    """Return every feature by name, and the passage with most of the best matches."""
    own = pieces(case.answer)
    text = canonical_text(case.response)
    best, whose = best_matches(own.vectors, [pieces(one).vectors for one in case.embedded])
    starts = np.array([span[0] for span in own.spans])
    parts = [best[(starts >= start) & (starts < end)] for start, end in sentences(text)]
    means = [weighted_mean(part, None) for part in parts if len(part)]
    means = means or [weighted_mean(best, None)]
    there, words = TokenPairs(SQUAD, case.response).against(" ".join(case.passages))
    matter = [word for word in words if word not in STOP]
    letters: Counter[str] = Counter()
    for passage in case.passages:
        letters.update(triples(passage))
    found = {
        "align_precision": weighted_mean(best, None),
        "align_content": weighted_mean(best, weights(text, own, frozenset())),
        "align_weakest": min(means),
        "align_min": float(best.min()),
        "align_low_share": float(np.count_nonzero(best < POOR)) / len(best),
        "token_precision": recall(words, there),
        "token_content": recall(matter or words, there),
        "pairs_precision": runs_recall(words, there, 2),
        "threes_precision": runs_recall(words, there, 3),
        "characters_precision": triples_recall(triples(case.response), letters),
        "cosine": max(cosine(one.vector, case.answer.vector) for one in case.embedded),
        "response_length": amount(len(case.response.split())),
        "context_length": amount(sum(len(passage.split()) for passage in case.passages)),
        "passages": amount(len(case.passages)),
        "sentences": amount(len(means)),
        "has_question": float(case.question is not None),
        "question_cosine": 0.0
        if case.question is None
        else cosine(case.answer.vector, case.question),
    }
    nearest = int(np.bincount(whose, minlength=len(case.embedded)).argmax())
    return found | against_context(case.passages, case.response, case.asked), nearest

"""The scalars of an answer beside its references: one number a name, linear in the texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from closecall.embedders.base import Embedded, Pieces, Vector, Vectors
from closecall.instrument import canonical_text
from closecall.metrics.alignment.answer import pieces
from closecall.metrics.alignment.matching import best_matches, weighted_mean
from closecall.metrics.alignment.sentences import sentences
from closecall.metrics.alignment.spelling import Spellings
from closecall.metrics.alignment.weights import question_words, word_weights
from closecall.metrics.cosine import cosine
from closecall.metrics.fitted.facts import against_references
from closecall.metrics.fitted.texts import (
    amount,
    contains,
    f1,
    recall,
    triples,
    triples_recall,
    weights,
    words_of,
)
from closecall.metrics.lexical.tokenizers import SQUAD, TokenPairs

SENTENCES = 64
"""Sentences of a response that are looked at one by one, from its start."""


class Answer(NamedTuple):
    """A response beside the references that the model can read, embedded with their tokens.

    ``question`` is the vector of ``asked``; both are None without a question.
    """

    references: tuple[str, ...]
    embedded: tuple[Embedded, ...]
    response: str
    answer: Embedded
    asked: str | None
    question: Vector | None


class _Beside(NamedTuple):
    """One reference beside the response: what the maximum over references is taken of."""

    align_recall: float
    align_content: float
    align_min: float
    align_precision: float
    token_recall: float
    word_recall: float
    token_precision: float
    token_f1: float
    contains: float
    characters_recall: float
    cosine: float
    cosine_beyond: float


def answer_features(case: Answer) -> tuple[dict[str, float], int]:
    """Return every feature by name, and which reference aligns best.

    Each likeness is the highest over the references, each on its own: one reference may be
    nearest by its words and another by its vector. What is about one reference only is about the
    one that aligns best. 30 words against 3 take two or three milliseconds, most of it the guards.
    """
    own = pieces(case.answer)
    light = words_of(case.asked)
    asked = question_words(case.asked)
    cut = TokenPairs(SQUAD, case.response)
    letters = triples(case.response)
    beside = []
    for text, one in zip(case.references, case.embedded, strict=True):
        wanted, there = cut.against(text)
        mine = pieces(one)
        forth, _ = best_matches(mine.vectors, [own.vectors])
        back, _ = best_matches(own.vectors, [mine.vectors])
        beside.append(
            _Beside(
                align_recall=weighted_mean(forth, None),
                align_content=weighted_mean(forth, weights(canonical_text(text), mine, light)),
                align_min=float(forth.min()),
                align_precision=weighted_mean(back, None),
                token_recall=recall(wanted, there),
                word_recall=_spelled(wanted, there, asked),
                token_precision=recall(there, wanted),
                token_f1=f1(wanted, there),
                contains=float(contains(wanted, there)),
                characters_recall=triples_recall(triples(text), letters),
                cosine=cosine(one.vector, case.answer.vector),
                cosine_beyond=_beyond(one.vector, case.answer.vector, case.question),
            )
        )
    ranks = sorted(range(len(beside)), key=lambda at: (-_rank(beside[at]), at))
    best = ranks[0]
    found = {name: max(getattr(one, name) for one in beside) for name in _Beside._fields}
    first, whole = _by_sentence(case.response, own, pieces(case.embedded[best]).vectors)
    found |= {
        "align_first": first,
        "align_sentence": whole,
        "response_length": amount(len(case.response.split())),
        "reference_length": amount(len(case.references[best].split())),
        "references": amount(len(case.references)),
        "has_question": float(case.question is not None),
        "question_cosine": _or_zero(case.answer.vector, case.question),
        "reference_question_cosine": _or_zero(case.embedded[best].vector, case.question),
    }
    nearest = [case.references[at] for at in ranks]
    return found | against_references(nearest, case.response, case.asked), best


def _rank(one: _Beside) -> float:
    return one.align_recall + one.token_recall


def _spelled(wanted: Sequence[str], there: Sequence[str], asked: frozenset[str]) -> float:
    """Return how well each wanted word is there, those of the question light; 0 of no words."""
    if not wanted:
        return 0.0
    found = Spellings(there).matches(wanted)
    return float(np.average(found, weights=word_weights(wanted, asked)))


def _by_sentence(response: str, own: Pieces, wanted: Vectors) -> tuple[float, float]:
    """Return how much of a reference is in the first sentence, and in the one that has most."""
    text = canonical_text(response)
    starts = np.array([span[0] for span in own.spans])
    found = []
    for start, end in sentences(text)[:SENTENCES]:
        inside: NDArray[np.bool_] = (starts >= start) & (starts < end)
        if inside.any():
            forth, _ = best_matches(wanted, [own.vectors[inside]])
            found.append(weighted_mean(forth, None))
    if not found:
        forth, _ = best_matches(wanted, [own.vectors])
        found.append(weighted_mean(forth, None))
    return found[0], max(found)


def _or_zero(vector: Vector, question: Vector | None) -> float:
    return 0.0 if question is None else cosine(vector, question)


def _beyond(first: Vector, second: Vector, question: Vector | None) -> float:
    """Return the cosine of what two vectors hold besides the direction of the question.

    The plain cosine without a question, and 0 where one of them is all question.
    """
    if question is None:
        return cosine(first, second)
    asked = question.astype(np.float64)
    asked /= np.linalg.norm(asked)
    one, other = (vector.astype(np.float64) for vector in (first, second))
    one, other = one / np.linalg.norm(one), other / np.linalg.norm(other)
    left, right = one - (one @ asked) * asked, other - (other @ asked) * asked
    size = float(np.linalg.norm(left) * np.linalg.norm(right))
    return float(left @ right) / size if size > _NOTHING else 0.0


_NOTHING = 1e-6
"""Below this length float32 vectors have no direction of their own left."""

"""What a token or word weighs in a mean: less where it stands in the question, or carries little.

The lists are part of a metric's meaning: changing one changes the metric's version.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from closecall.instrument import canonical_text
from closecall.metrics.alignment.matching import surfaces
from closecall.metrics.lexical.tokenizers import squad_tokens

PLAIN = "plain"
CONTENT = "content"
WEIGHTS = (PLAIN, CONTENT)

IN_QUESTION = 0.15
"""What a reference's word weighs that stands in the question too: to repeat it is no answer."""

FUNCTION = 0.5
"""What a function word weighs under ``content``."""

LONGEST_QUESTION = 100
"""An input of more words holds instructions or passages; its words then weigh as all others."""

# Articles, pronouns, prepositions, conjunctions, and forms of be, have and do. No negation, no
# quantifier, no modal verb; and no word that carries matter in another of the languages (German
# die and war, French son and pour, Spanish sin).
_ENGLISH = (
    "a an the this that these those it its they them their theirs he him his she her hers we us "
    "our ours you your yours i me my mine who whom whose which what when where why how of to in "
    "on at by for from with about into onto as than then so and or but if because while although "
    "though since until is am are was were be been being do does did done have has had having "
    "there here also"
)
_GERMAN = (
    "der das den dem des ein eine einen einem einer eines und oder aber ist sind waren wird "
    "werden wurde wurden hat haben hatte hatten ich du er sie es wir ihr ihn ihm sich auf im am "
    "zum zur von vom mit bei nach aus für über unter durch als wie wenn weil dass ob da dort "
    "hier auch"
)
_FRENCH = (
    "le la les l un une du de d et ou mais est sont était étaient être été ont avait avoir je tu "
    "il elle nous vous ils elles ce cet cette ces ses leur leurs qui que qu dont où dans sur par "
    "avec chez en au aux à y se s comme aussi"
)
_SPANISH = (
    "el la los las lo un una unos unas y o pero es eran ser estar está están fue fueron ha han "
    "había haber yo tú él ella nosotros ellos ellas su sus este esta estos estas ese esa quien "
    "cual donde cuando como del al en con para desde hasta también le les"
)
FUNCTION_WORDS = frozenset(f"{_ENGLISH} {_GERMAN} {_FRENCH} {_SPANISH}".split())
"""Lower-cased; words of other languages weigh all alike."""


def question_words(question: str | None) -> frozenset[str]:
    """Return the words of a question, normalised as words are; none of a long input."""
    if not question or len(question.split()) > LONGEST_QUESTION:
        return frozenset()
    return frozenset(squad_tokens(question))


def word_weights(
    words: Sequence[str], asked: AbstractSet[str], weights: str = PLAIN
) -> NDArray[np.float64]:
    """Return what each word weighs: float64, (len(words),), above 0.

    Parameters
    ----------
    words
        As ``squad_tokens`` cuts them.
    asked
        The question's words.
    weights
        One of ``WEIGHTS``.
    """
    return np.array([_one(word, weights, in_question=word in asked) for word in words])


def token_weights(
    text: str, spans: Sequence[tuple[int, int]], asked: AbstractSet[str], weights: str = PLAIN
) -> NDArray[np.float64] | None:
    """Return what each token weighs, by the whole word it is part of; None where all weigh alike.

    A character of a script without spaces is a word of its own.

    Parameters
    ----------
    text
        The canonical text.
    spans
        Of its tokens.
    asked
        The question's words.
    weights
        One of ``WEIGHTS``.
    """
    if not asked and weights == PLAIN:
        return None
    found = np.ones(len(spans))
    for at, (span, (_, word)) in enumerate(zip(spans, surfaces(text, spans), strict=True)):
        asks = _stands_in(text[slice(*span)], word, asked)
        found[at] = _one(word.lower(), weights, in_question=asks)
    return found


def _one(word: str, weights: str, *, in_question: bool) -> float:
    weight = IN_QUESTION if in_question else 1.0
    return weight * FUNCTION if weights == CONTENT and word in FUNCTION_WORDS else weight


def _stands_in(own: str, word: str, asked: AbstractSet[str]) -> bool:
    if not asked:
        return False
    if len(own) == 1 and not own.isascii() and own.lower() in asked:
        return True
    found = _words(word)
    return bool(found) and found <= asked


@lru_cache(maxsize=1 << 14)
def _words(surface_form: str) -> frozenset[str]:
    return frozenset(squad_tokens(canonical_text(surface_form)))

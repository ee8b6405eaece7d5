"""The scalars a judge is fitted on: their names, which way each may count, and their order.

Each is a plain number of one case, read off the texts and the vectors that alignment needs
anyway; one more, where there is a pair model, is what that makes of the case. None is fitted to
the labels at hand. Where a case has nothing for one to be about (no question, no number), it
has the neutral value that stands here, and a feature beside it says that there was something:
``has_question``, ``numbers_agree`` with ``numbers_differ``, and so on. No mean of other cases is
put in its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

VERSION = "1"
"""Moves whenever the same texts and vectors would give another number."""

_SUPPORT = "+support:"
"""Stands in a version between that of the other features and that of the pair model's metric."""

Sides: TypeAlias = Literal["references", "context"]
"""What a response is judged by."""


class Feature(NamedTuple):
    """One scalar.

    ``sign`` is the way it may count in a head: 1 never against acceptance, -1 never for it, 0
    either. ``words`` is what a person reads in an explanation.
    """

    name: str
    sign: Literal[-1, 0, 1]
    words: str


REFERENCES: tuple[Feature, ...] = (
    # For few labels.
    Feature("align_recall", 1, "how much of the reference is in the response, token by token"),
    Feature("characters_recall", 1, "share of the reference's letter triples in the response"),
    Feature("token_f1", 1, "words that response and reference share"),
    Feature("names_differ", -1, "a name of the reference is replaced by another"),
    Feature("numbers_differ", -1, "a number of the reference is missing or contradicted"),
    Feature("response_length", 0, "length of the response"),
    # For more.
    Feature("align_content", 1, "match of the reference's words of matter beyond the question"),
    Feature("align_min", 1, "the token of the reference that is least in the response"),
    Feature("align_first", 1, "how much of the reference is in the first sentence"),
    Feature("token_recall", 1, "share of the reference's words in the response"),
    Feature("token_precision", 0, "share of the response's words in the reference"),
    Feature("cosine", 1, "cosine of response and reference"),
    Feature("cosine_beyond", 1, "cosine to the reference, the question's direction taken out"),
    Feature("reference_length", 0, "length of the reference"),
    # All.
    Feature("word_recall", 1, "words of the reference in the response, near spellings in part"),
    Feature("align_precision", 0, "how much of the response is in the reference, token by token"),
    Feature("contains", 1, "the reference stands in the response word for word"),
    Feature("align_sentence", 1, "how much of the reference is in one sentence"),
    Feature("has_question", 0, "there is a question"),
    Feature("question_cosine", 0, "cosine of response and question"),
    Feature("reference_question_cosine", 0, "cosine of reference and question"),
    Feature("numbers_agree", 1, "the response has a number of the reference"),
    Feature("numbers_missing", -1, "numbers of the reference that are not in the response"),
    Feature("numbers_extra", 0, "numbers of the response that the reference does not have"),
    Feature("names_agree", 1, "the response has a name of the reference"),
    Feature("names_missing", 0, "names of the reference that are not in the response"),
    Feature("names_extra", 0, "names of the response that the reference does not have"),
    Feature("negation_differ", -1, "one negates what the other says"),
    Feature("negation_added", 0, "the response negates something, the reference nothing"),
    Feature("negation_dropped", 0, "the reference negates something, the response nothing"),
    Feature("quantifiers_differ", -1, "one says all where the other says some"),
    Feature("antonyms_differ", -1, "one says the opposite word of the other"),
    Feature("refusal", -1, "the response begins like a refusal"),
    Feature("references", 0, "number of references"),
)
"""Of an answer beside its references, in the order in which labels pay for them."""

CONTEXT: tuple[Feature, ...] = (
    Feature("align_precision", 1, "how much of the response is in the context, token by token"),
    Feature("token_precision", 1, "share of the response's words in the context"),
    Feature("align_weakest", 1, "how much of its least supported sentence is in the context"),
    Feature("response_length", 0, "length of the response"),
    Feature("numbers_extra", -1, "numbers of the response that are not in the context"),
    Feature("cosine", 1, "cosine of response and nearest passage"),
    Feature("align_min", 1, "the token of the response that is least in the context"),
    Feature("align_content", 1, "match of the response's words of matter in the context"),
    Feature("names_extra", -1, "names of the response that are not in the context"),
    Feature("pairs_precision", 1, "share of the response's pairs of words in the context"),
    Feature("token_content", 1, "share of the response's words of matter in the context"),
    Feature("context_length", 0, "length of the context"),
    Feature("align_low_share", 0, "share of the response's tokens with a poor match"),
    Feature("characters_precision", 1, "share of the response's letter triples in the context"),
    Feature("threes_precision", 1, "share of the response's runs of three words in the context"),
    Feature("has_question", 0, "there is a question"),
    Feature("question_cosine", 0, "cosine of response and question"),
    Feature("numbers_agree", 1, "the context has a number of the response"),
    Feature("names_agree", 1, "the context has a name of the response"),
    Feature("negation_added", 0, "the response negates something, the context nothing"),
    Feature("negation_differ", -1, "one negates what the other says"),
    Feature("refusal", 0, "the response begins like a refusal"),
    Feature("passages", 0, "number of passages"),
    Feature("sentences", 0, "number of sentences of the response"),
)
"""Of an answer beside its context, in the order in which labels pay for them."""

OF: dict[Sides, tuple[Feature, ...]] = {"references": REFERENCES, "context": CONTEXT}
"""Those that need no pair model."""

SUPPORT: dict[Sides, Feature] = {
    "references": Feature(
        "answer_support", 1, "what the pair model makes of answer and reference, read together"
    ),
    "context": Feature(
        "context_support", 1, "what the pair model makes of the least supported sentence"
    ),
}
"""That of the pair model, named as the metric it comes from."""

_SOME: dict[Sides, tuple[int, ...]] = {"references": (6, 14), "context": (6, 12)}
"""How many of them a head may use, besides all: the first so many, and nothing between."""

PER_FEATURE = 10
"""Fewest labels of the scarcer class for each feature of a head."""


def features_of(sides: Sides, *, support: bool = False) -> tuple[Feature, ...]:
    """Return the features, in the order in which labels pay for them.

    With ``support`` that of the pair model stands second: the fewest labels pay for it too, in
    the place of the last that they would pay for without it.
    """
    plain = OF[sides]
    return (plain[0], SUPPORT[sides], *plain[1:]) if support else plain


def sizes(sides: Sides, *, support: bool = False) -> tuple[int, ...]:
    """Return how many features a head may use: the first so many, and nothing between."""
    return (*_SOME[sides], len(features_of(sides, support=support)))


def affordable(sides: Sides, scarce: int, *, support: bool = False) -> tuple[Feature, ...]:
    """Return the features that so many labels of the scarcer class pay for; the fewest at least.

    Whether they pay even for those is the caller's to ask: see ``PER_FEATURE``.
    """
    allowed = sizes(sides, support=support)
    fit = [size for size in allowed if size * PER_FEATURE <= scarce]
    return features_of(sides, support=support)[: max(fit, default=allowed[0])]


def names(features: Sequence[Feature]) -> tuple[str, ...]:
    """Return their names, in order."""
    return tuple(one.name for one in features)


def joined_version(support: str | None) -> str:
    """Return the version of the features, with that of the pair model's metric where it is used.

    >>> joined_version(None), joined_version("2+ab12")
    ('1', '1+support:2+ab12')
    """
    return VERSION if support is None else f"{VERSION}{_SUPPORT}{support}"


def parted_version(version: str) -> tuple[str, str | None]:
    """Return the version of the plain features, and of the pair model's metric, None without it.

    >>> parted_version("1"), parted_version("1+support:2+ab12")
    (('1', None), ('1', '2+ab12'))
    """
    plain, mark, support = version.partition(_SUPPORT)
    return plain, support if mark else None

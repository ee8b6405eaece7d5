"""Shared words of response and reference, whatever their order.

With o the size of the multiset intersection of the tokens, m tokens in the response and n in the
reference::

    token_precision = o / m      token_recall = o / n      token_f1 = 2 o / (m + n)

and 0 where m is 0. ``exact_match`` and ``contains_reference`` ask for all of it in a row.
Tokens are those of the SQuAD evaluation (Rajpurkar et al. 2016) unless told otherwise: without
case, punctuation and articles. That normalisation drops signs and decimal points too: ``-3.5``
becomes ``35``. And none of these sees a ``not``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

from closecall.metrics.lexical.ngrams import lacking, shared
from closecall.metrics.lexical.options import one_of, switch
from closecall.metrics.lexical.references import Compared, ReferenceMetric
from closecall.metrics.lexical.tokenizers import MEAI, SPACE, SQUAD, WORDS, TokenPairs
from closecall.records import JSON

_EXCERPT = 200


class _TokenOverlap(ReferenceMetric):
    """Shared tokens, counted as often as in the text that has fewer of them."""

    DEFAULTS: ClassVar[dict[str, JSON]] = {"tokenizer": SQUAD}

    def __init__(self, cutoff: float | None = None, *, tokenizer: str = SQUAD) -> None:
        allowed = (SQUAD, WORDS, MEAI, SPACE)
        self.tokenizer = one_of(self.NAME, "tokenizer", tokenizer, allowed)
        self._settle(cutoff, {"tokenizer": self.tokenizer})

    def _each(self, references: list[str], response: str) -> list[Compared]:
        pairs = TokenPairs(self.tokenizer, response)
        return [self._compared(*pairs.against(reference)) for reference in references]

    def _compared(self, reference: list[str], response: list[str]) -> Compared:
        overlap = shared(Counter(reference), Counter(response))
        missing, added = lacking(reference, response), lacking(response, reference)
        details: dict[str, JSON] = {
            "sharedTokens": overlap,
            "referenceTokens": len(reference),
            "responseTokens": len(response),
            "missing": missing.shown,
            "added": added.shown,
        }
        return Compared(self._share(overlap, len(reference), len(response)), details)

    @staticmethod
    def _share(overlap: int, reference: int, response: int) -> float:
        raise NotImplementedError


class TokenF1(_TokenOverlap):
    """``token_f1``: shared words over the mean length of both, 0 to 1; cutoff 0.5, not calibrated.

    With several references the best counts and is named.

    Parameters
    ----------
    tokenizer
        ``squad`` (default), ``words``, ``meai`` or ``space``; see ``tokenizers``. ``meai`` gives
        the F1 of Microsoft.Extensions.AI.Evaluation.
    cutoff
        0 to 1.
    """

    NAME = "token_f1"
    DESCRIPTION = "F1 of the words response and best reference share, 0 to 1."

    @staticmethod
    def _share(overlap: int, reference: int, response: int) -> float:
        return 2 * overlap / (reference + response)


class TokenRecall(_TokenOverlap):
    """``token_recall``: which share of the reference's words is in the response? Cutoff 0.5.

    What else the response says costs nothing, so a long response has it easier. Options as in
    ``token_f1``.
    """

    NAME = "token_recall"
    DESCRIPTION = "Share of the best reference's words that the response has, 0 to 1."

    @staticmethod
    def _share(overlap: int, reference: int, response: int) -> float:  # noqa: ARG004
        return overlap / reference


class TokenPrecision(_TokenOverlap):
    """``token_precision``: which share of the response's words is in the reference? Cutoff 0.5.

    What the response leaves out costs nothing. Options as in ``token_f1``.
    """

    NAME = "token_precision"
    DESCRIPTION = "Share of the response's words that the best reference has, 0 to 1."

    @staticmethod
    def _share(overlap: int, reference: int, response: int) -> float:  # noqa: ARG004
        return overlap / response if response else 0.0


class _InARow(ReferenceMetric):
    """1 where the tokens of a reference stand in the response in a row, else 0."""

    DEFAULT_CUTOFF = 1.0
    EXACT = True
    DEFAULTS: ClassVar[dict[str, JSON]] = {"normalize": True}

    def __init__(self, cutoff: float | None = None, *, normalize: bool = True) -> None:
        self.normalize = switch(self.NAME, "normalize", normalize)
        self._settle(cutoff, {"normalize": self.normalize})

    def _each(self, references: list[str], response: str) -> list[Compared]:
        pairs = TokenPairs(SQUAD, response)
        return [
            self._compared(*pairs.against(reference))
            if self.normalize
            else self._compared_as_written(reference.strip(), response.strip())
            for reference in references
        ]

    def _compared(self, reference: list[str], response: list[str]) -> Compared:
        missing = lacking(reference, response)
        return Compared(
            float(self._found(_line(reference), _line(response))),
            {
                "reference": " ".join(reference)[:_EXCERPT],
                "missingTokens": missing.total,
                "missing": missing.shown,
            },
        )

    def _compared_as_written(self, reference: str, response: str) -> Compared:
        found = self._found(reference, response)
        return Compared(float(found), {"reference": reference[:_EXCERPT]})

    @staticmethod
    def _found(reference: str, response: str) -> bool:
        raise NotImplementedError


class ExactMatch(_InARow):
    """``exact_match``: 1 where the response is a reference, else 0; cutoff 1.

    Parameters
    ----------
    normalize
        True (default): without case, punctuation, articles and surplus white space, as in the
        SQuAD evaluation. False: character by character, white space around the text aside.
    cutoff
        0 to 1.
    """

    NAME = "exact_match"
    DESCRIPTION = "1 where the response is one of the references, else 0."

    @staticmethod
    def _found(reference: str, response: str) -> bool:
        return reference == response


class ContainsReference(_InARow):
    """``contains_reference``: 1 where a reference stands in the response, else 0; cutoff 1.

    Whole words in the same order, without a gap: ``cat`` is not in ``concatenate``. Options as in
    ``exact_match``; with ``normalize=false`` any characters in a row will do.
    """

    NAME = "contains_reference"
    DESCRIPTION = "1 where one of the references stands in the response, else 0."

    @staticmethod
    def _found(reference: str, response: str) -> bool:
        return reference in response


def _line(tokens: Sequence[str]) -> str:
    """Return the tokens with a space around each, so that only whole ones are found."""
    return f" {' '.join(tokens)} "

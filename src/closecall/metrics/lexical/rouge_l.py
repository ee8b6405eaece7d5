"""``rouge_l``: how much of the reference's word order does the response keep?

ROUGE-L of whole texts (Lin 2004) from the longest common subsequence, LCS, of their words::

    recall = LCS / n      precision = LCS / m      F1 = 2 LCS / (m + n)

for n words in the reference and m in the response. The LCS is found bit by bit in parallel
(Hyyroe 2004), a block of the reference at a time: O(m n / word size) time, O(m + n) memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from closecall.metrics.lexical.ngrams import lacking
from closecall.metrics.lexical.options import one_of
from closecall.metrics.lexical.references import Compared, ReferenceMetric
from closecall.metrics.lexical.tokenizers import ALNUM, TokenPairs
from closecall.records import JSON, Unmeasured

F1 = "f1"
RECALL = "recall"
PRECISION = "precision"

BLOCK_BITS = 1 << 14
MOST_PAIRS = 4 * 10**10
"""Pairs of words compared at most for a case, some seconds' work: 200,000 words with as many."""


def lcs_length(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the length of the longest common subsequence of two lists of tokens.

    >>> lcs_length("the sky is very blue".split(), "is the sky blue".split())
    3
    """
    start = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        start += 1
    first, second = first[start:], second[start:]
    # A token that only one of them has is in no common subsequence.
    both = set(first).intersection(second)
    rows = [token for token in first if token in both]
    columns = [token for token in second if token in both]
    if len(rows) < len(columns):
        rows, columns = columns, rows
    carries = bytearray(len(columns))
    return start + sum(
        _block(rows[at : at + BLOCK_BITS], columns, carries)
        for at in range(0, len(rows), BLOCK_BITS)
    )


def _block(rows: Sequence[str], columns: Sequence[str], carries: bytearray) -> int:
    """Return how many rows of a block begin a step of the LCS; ``carries`` go on to the next.

    A bit is 0 where the LCS grows with that row; the sum moves it past a run of rows.
    """
    masks: dict[str, int] = {}
    for at, token in enumerate(rows):
        masks[token] = masks.get(token, 0) | 1 << at
    size = len(rows)
    full = (1 << size) - 1
    open_rows = full
    for at, token in enumerate(columns):
        matched = open_rows & masks.get(token, 0)
        total = open_rows + matched
        if carries[at]:
            total += 1
        carries[at] = total > full
        open_rows = (total & full if total > full else total) | (open_rows - matched)
    return size - open_rows.bit_count()


class RougeL(ReferenceMetric):
    """``rouge_l``: the longest common subsequence of words, 0 to 1; cutoff 0.5, not calibrated.

    Words are runs of letters and digits without case, not stemmed. With several references the
    best counts and is named. Texts too long to be compared within seconds are not measured.

    Parameters
    ----------
    measure
        ``f1`` (default), ``recall`` or ``precision``.
    cutoff
        0 to 1.
    """

    NAME = "rouge_l"
    DESCRIPTION = "ROUGE-L of response and best reference, 0 to 1."
    DEFAULTS: ClassVar[dict[str, JSON]] = {"measure": F1}

    def __init__(self, cutoff: float | None = None, *, measure: str = F1) -> None:
        self._share = one_of(self.NAME, "measure", measure, (F1, RECALL, PRECISION))
        self._settle(cutoff, {"measure": measure})

    def _each(self, references: list[str], response: str) -> list[Compared | Unmeasured]:
        pairs = TokenPairs(ALNUM, response)
        cut = [pairs.against(reference) for reference in references]
        asked = sum(len(reference) * len(answer) for reference, answer in cut)
        if asked > MOST_PAIRS:
            return [
                Unmeasured(
                    f"rouge_l compares at most {MOST_PAIRS:,} pairs of words, and response and "
                    f"{'reference' if len(cut) == 1 else 'references'} are so long that there "
                    f"are {asked:,}"
                )
            ]
        return [self._compared(*pair) for pair in cut]

    def _compared(self, reference: list[str], response: list[str]) -> Compared:
        n, m = len(reference), len(response)
        common = lcs_length(reference, response)
        missing = lacking(reference, response)
        details: dict[str, JSON] = {
            "commonTokens": common,
            "referenceTokens": n,
            "responseTokens": m,
            "missingTokens": missing.total,
            "missing": missing.shown,
        }
        recall, precision = common / n, common / m if m else 0.0
        value = {F1: 2 * common / (n + m), RECALL: recall, PRECISION: precision}[self._share]
        return Compared(value, details)

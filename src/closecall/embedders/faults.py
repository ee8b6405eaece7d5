"""What every embedder of this machine refuses, in the same words: texts, lengths, vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from closecall.embedders.base import Vectors
from closecall.errors import EmbeddingError, TextTooLongError, UsageError
from closecall.instrument import Instrument
from closecall.records import Tokens, is_whole_text

_BROKEN_TEXT = (
    "holds half of a surrogate pair, which is not a character; the text was damaged before it "
    "came here"
)


def check_texts(texts: Sequence[str]) -> None:
    """Refuse what is not a sequence of texts that can be written as UTF-8."""
    if isinstance(texts, str | bytes):
        raise UsageError("texts must be a list of str, got a single text; put it in a list")
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise UsageError(f"texts[{index}] must be str, got {type(text).__name__}")
    broken = [index for index, text in enumerate(texts) if not is_whole_text(text)]
    if broken:
        raise EmbeddingError(
            f"{_listed(broken)}: {_BROKEN_TEXT}",
            broken,
            reason=_BROKEN_TEXT,
        )


def refuse_too_long(
    indices: Sequence[int], tokens: Sequence[Tokens], instrument: Instrument
) -> None:
    """Refuse texts that the policy ``error`` read no window of."""
    if indices:
        longest = max(tokens[index].total for index in indices)
        reason = (
            f"longer than the {instrument.max_tokens} tokens {instrument.model} reads at once; "
            "window='chunk' reads such texts in windows, window='truncate' their beginning"
        )
        raise TextTooLongError(
            f"{_listed(indices)}: {reason} (the longest has {longest})", indices, reason=reason
        )


def check_finite(vectors: Vectors) -> None:
    """Refuse texts whose vector holds NaN or infinity."""
    broken = np.flatnonzero(~np.isfinite(vectors).all(axis=1)).tolist()
    if broken:
        raise EmbeddingError(
            f"{_listed(broken)}: the model made a vector that is not finite",
            broken,
            reason="the model made a vector that is not finite",
        )


def refuse_broken(broken: dict[int, str]) -> None:
    """Refuse texts with token vectors that cannot be compared."""
    if broken:
        indices = sorted(broken)
        reason = broken[indices[0]]
        indices = [index for index in indices if broken[index] == reason]
        raise EmbeddingError(f"{_listed(indices)}: {reason}", indices, reason=reason)


def _listed(indices: Sequence[int]) -> str:
    """Name texts by index, the first few of many."""
    shown = ", ".join(f"texts[{index}]" for index in indices[:5])
    rest = len(indices) - 5
    return f"{shown} and {rest} more" if rest > 0 else shown

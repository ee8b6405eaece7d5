"""A tokenizer written in Python, behind the methods of the tokenizers library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class _Encoding(NamedTuple):
    ids: list[int]


class SlowTokenizer:
    """Gives tokens, but not where in the text they stand, so a text has no pieces."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def encode_batch_fast(
        self,
        texts: Sequence[str],
        add_special_tokens: bool = True,  # noqa: FBT001, FBT002 - as the library has it
    ) -> list[_Encoding]:
        """Return the tokens of each text."""
        encoded = self._tokenizer(
            list(texts), add_special_tokens=add_special_tokens, truncation=False, verbose=False
        )
        return [_Encoding(list(ids)) for ids in encoded["input_ids"]]

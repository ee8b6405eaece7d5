"""Two texts as the row of tokens a model reads, in windows where one row cannot hold them.

The frame around the two texts (``[CLS] A [SEP] B [SEP]``) is read off the tokenizer once, by
showing it a pair, and put together here, so that a window is framed as a whole text is.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from closecall.embedders.windows import spans
from closecall.errors import EmbeddingError, ModelError
from closecall.instrument import canonical_text
from closecall.models.tokenizer_files import tokenizing
from closecall.records import Tokens, is_whole_text

Ids = NDArray[np.int32]

SMALLEST_SHARE = 4
"""A window leaves a quarter of its tokens at least to the text that is cut; less would make the
cost grow with the square of the other text's length and show the model scraps."""

OVERLAP_SHARE = 4
"""Neighbouring windows share a quarter of what a window holds of the text, at most
``MOST_OVERLAP`` tokens."""

MOST_OVERLAP = 32


class Frame(NamedTuple):
    """Special tokens before, between and after two texts, and the type of every token.

    ``types`` are those of the five parts in order: before, first text, between, second, after.
    """

    before: Ids
    between: Ids
    after: Ids
    types: tuple[Ids, int, Ids, int, Ids]

    @property
    def size(self) -> int:
        """How many special tokens a row holds."""
        return len(self.before) + len(self.between) + len(self.after)


class Text(NamedTuple):
    """A text as tokens, without special ones; the first ``lead`` are the question before it.

    ``unknown`` of them are outside the model's vocabulary.
    """

    ids: Ids
    lead: int = 0
    unknown: int = 0

    def tokens(self, windows: int = 1) -> Tokens:
        """Return what is reported of it: all of it is seen, question included."""
        count = len(self.ids)
        return Tokens(count, count, windows, own=count, unknown=self.unknown)


class Rows(NamedTuple):
    """The windows of one pair and what they hold of the two texts.

    ``ids`` and ``types`` are int32, one (s,) array a window.
    """

    ids: list[Ids]
    types: list[Ids]
    first: Tokens
    second: Tokens


class TooLongError(ValueError):
    """A pair that no window can hold; ``total`` is the tokens of the whole pair."""

    def __init__(self, total: int) -> None:
        super().__init__(f"{total} tokens")
        self.total = total


class PairTokenizer:
    """Makes rows of at most ``window`` tokens, special ones included.

    Parameters
    ----------
    tokenizer
        One of the tokenizers library, which neither cuts nor pads.
    window
        Most tokens in a row.
    where
        The tokenizer's file, for messages.
    typed
        Whether the model is told by token types which text a token is of.
    unknown
        The number of the token that stands for what the model does not know, -1 for none.

    Raises
    ------
    ModelError
        The tokenizer frames pairs in a way that cannot be put together, or does not part them.
    """

    def __init__(
        self, tokenizer: Any, window: int, where: str, *, typed: bool, unknown: int
    ) -> None:
        self._tokenizer = tokenizer
        self._window = window
        self._where = where
        self._unknown = unknown
        self.frame = self._frame(typed=typed)
        if window < self.frame.size + SMALLEST_SHARE:
            raise ModelError(
                f"{where}: {self.frame.size} special tokens leave no room for two texts in "
                f"{window} tokens"
            )

    def text(self, text: str, question: str = "") -> Text:
        """Return a text as tokens, after a question where there is one.

        Raises
        ------
        ValueError
            The text cannot be read: half a surrogate pair, or no token at all.
        """
        whole = canonical_text(text)
        before = f"{canonical_text(question).strip()} " if question else ""
        if not is_whole_text(before + whole):
            raise ValueError("holds half of a surrogate pair, which is not a character")
        try:
            with tokenizing("cannot be read by the tokenizer", EmbeddingError):
                found = self._tokenizer.encode(before + whole, add_special_tokens=False)
                ids = np.array(found.ids, dtype=np.int32)
        except EmbeddingError as error:
            raise ValueError(str(error)) from error
        # A token that is in both, which some tokenizers make of the space, is the text's.
        lead = sum(end <= len(before) for _, end in found.offsets) if before else 0
        unknown = ids == self._unknown
        if unknown[lead:].all():
            raise ValueError("has no token that the model knows")
        return Text(ids, lead, int(unknown.sum()))

    def rows(self, first: Text, second: Text) -> Rows:
        """Return the rows of a pair: one where it fits, else windows of the first text.

        Each window holds the whole second text, and the question of the first.

        Raises
        ------
        TooLongError
            The second text and the question leave less than a quarter of the window.
        """
        frame, whole = self.frame, len(first.ids)
        room = self._window - frame.size - len(second.ids)
        if whole <= room:
            return self._joined([first.ids], second, first)
        capacity = room - first.lead
        if capacity < self._window // SMALLEST_SHARE:
            raise TooLongError(frame.size + whole + len(second.ids))
        overlap = min(MOST_OVERLAP, capacity // OVERLAP_SHARE)
        lead = first.ids[: first.lead]
        parts = [
            np.concatenate([lead, first.ids[first.lead + one.start : first.lead + one.stop]])
            for one in spans(whole - first.lead, capacity, overlap)
        ]
        return self._joined(parts, second, first)

    def _joined(self, parts: list[Ids], second: Text, first: Text) -> Rows:
        frame = self.frame
        before, a, between, b, after = frame.types
        ids, types = [], []
        for part in parts:
            ids.append(
                np.concatenate([frame.before, part, frame.between, second.ids, frame.after])
            )
            types.append(
                np.concatenate(
                    [
                        before,
                        np.full(len(part), a, dtype=np.int32),
                        between,
                        np.full(len(second.ids), b, dtype=np.int32),
                        after,
                    ]
                )
            )
        return Rows(ids, types, first.tokens(len(parts)), second.tokens())

    def _frame(self, *, typed: bool) -> Frame:
        """Read the frame off one pair, and see that it makes another pair as well."""
        sample = self._encoded("a b", "b a b")
        order = [key for key, _ in groupby(sample.sequence_ids)]
        if [key for key in order if key is not None] != [0, 1]:
            raise ModelError(
                f"{self._where}: frames a pair in an order that is not first text, second text"
            )
        with tokenizing(f"{self._where}: numbers tokens beyond all bounds", ModelError):
            ids = np.array(sample.ids, dtype=np.int32)
            types = np.array(sample.type_ids, dtype=np.int32)
        places = [np.flatnonzero([s == n for s in sample.sequence_ids]) for n in (0, 1)]
        (a, b), (c, d) = ((int(p[0]), int(p[-1]) + 1) for p in places)
        frame = Frame(
            before=ids[:a],
            between=ids[b:c],
            after=ids[d:],
            types=(types[:a], int(types[a]), types[b:c], int(types[c]), types[d:]),
        )
        if not len(frame.between) and (not typed or types[a] == types[c]):
            raise ModelError(
                f"{self._where}: puts nothing between the two texts of a pair, so the model "
                "could not tell them apart; its post_processor has no template for pairs"
            )
        self.frame = frame
        again = self._encoded("b b a", "a")
        first, second = (self._bare(text) for text in ("b b a", "a"))
        made = self._joined([first.ids], second, first)
        if made.ids[0].tolist() != again.ids or made.types[0].tolist() != again.type_ids:
            raise ModelError(f"{self._where}: frames one pair unlike another")
        return frame

    def _bare(self, text: str) -> Text:
        with tokenizing(f"{self._where}: cannot read a pair of letters", ModelError):
            found = self._tokenizer.encode(text, add_special_tokens=False)
            return Text(np.array(found.ids, dtype=np.int32))

    def _encoded(self, first: str, second: str) -> Any:
        with tokenizing(f"{self._where}: cannot read a pair of letters", ModelError):
            found = self._tokenizer.encode(first, second)
        if not {0, 1} <= set(found.sequence_ids):
            raise ModelError(f"{self._where}: makes no token of the letters a and b")
        return found


def row_lengths(rows: list[Rows]) -> Iterator[int]:
    """Yield the length of every row, pair by pair."""
    for pair in rows:
        yield from map(len, pair.ids)

"""Token vectors of a text, gathered from the windows it was read in."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from closecall.embedders.base import Pieces, Vectors
from closecall.embedders.onnx_reading import Reader, Reading, Tokenizing
from closecall.embedders.windows import Span, shares

NOT_FINITE = "the model made a token vector that is not finite"
NO_LENGTH = "the model made a token vector of zeros, which has no direction"


class LeftOut:
    """Tokens that stand for no word of a text: the special ones and the unknown one.

    They are left out where they stand in a text, too: somebody who writes ``[SEP]`` gets the
    model's own sign, which means nothing that could be compared.
    """

    def __init__(self, loaded: Tokenizing) -> None:
        added = loaded.tokenizer.get_added_tokens_decoder()
        special = {number for number, token in added.items() if token.special}
        ids = {*special, *loaded.before.tolist(), *loaded.after.tolist(), loaded.unknown} - {-1}
        # One entry more stands for all tokens above.
        self._table = np.zeros(max(ids, default=-1) + 2, dtype=np.bool_)
        self._table[list(ids)] = True

    def of(self, ids: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which tokens are left out: (t,) to bool, (t,)."""
        found: NDArray[np.bool_] = self._table[np.minimum(ids, len(self._table) - 1)]
        return found


class _Window(NamedTuple):
    """Whose window it is, the tokens that are taken from it, and the row of the text's first."""

    owner: int
    share: Span
    origin: int


class PieceSheet:
    """Where the token vectors of a slab of readings come together, window by window.

    Each token is taken from one window only (see ``shares``). ``put`` may be called by several
    threads, once for each window, in any order.
    """

    def __init__(
        self,
        reader: Reader,
        left_out: LeftOut,
        texts: Sequence[str],
        slab: Sequence[Reading],
        width: int,
    ) -> None:
        kept = [_kept(reader, left_out, *pair) for pair in zip(texts, slab, strict=True)]
        self._places = [np.array(places, dtype=np.intp) for places, _ in kept]
        self._spans = [spans for _, spans in kept]
        self._rows = [np.empty((len(spans), width), dtype=np.float32) for spans in self._spans]
        self._broken: dict[int, str] = {}
        self._windows = list(
            chain.from_iterable(
                (
                    _Window(owner, share, reader.first(reading) - span.start)
                    for span, share in zip(reading.spans, shares(reading.spans), strict=True)
                )
                for owner, reading in enumerate(slab)
            )
        )

    def put(self, window: int, hidden: Vectors) -> None:
        """Take the tokens that are this window's to give: ``hidden`` is float32, (s, d)."""
        owner, share, origin = self._windows[window]
        places = self._places[owner]
        low, high = places.searchsorted((share.start, share.stop))
        if low == high:
            return
        rows = hidden[places[low:high] + origin]
        # In float64 no square of a float32 overflows or vanishes, and the sum of a row does not
        # depend on the rows beside it.
        lengths = np.sqrt(np.square(rows, dtype=np.float64).sum(axis=1))
        if not np.isfinite(lengths).all():
            self._broken[owner] = NOT_FINITE
        elif not lengths.all():
            self._broken.setdefault(owner, NO_LENGTH)
        else:
            self._rows[owner][low:high] = rows / lengths[:, None]

    @property
    def broken(self) -> dict[int, str]:
        """What is wrong with a reading's token vectors, where something is."""
        return self._broken

    def pieces(self) -> list[Pieces]:
        """Return the pieces of each reading; call it once all windows are put."""
        for rows in self._rows:
            rows.flags.writeable = False
        return [Pieces(*pair) for pair in zip(self._rows, self._spans, strict=True)]


def _kept(
    reader: Reader, left_out: LeftOut, text: str, reading: Reading
) -> tuple[list[int], tuple[tuple[int, int], ...]]:
    """Return which tokens of a text become pieces, counted from its first, and their spans."""
    text, places = reader.own_places(text, reading)
    own = slice(reading.lead, reading.lead + reading.spans[-1].stop)
    dropped = left_out.of(reading.ids[own]).tolist()
    kept = []
    spans = []
    for at, (start, end) in enumerate(places[own].tolist()):
        span = _trimmed(text, max(start, 0), end)
        if span and not dropped[at]:
            kept.append(at)
            spans.append(span)
    return kept, tuple(spans)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return a span without white space around it, None if nothing is left.

    Some tokenizers count the space before a word as part of it.
    """
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return (start, end) if start < end else None

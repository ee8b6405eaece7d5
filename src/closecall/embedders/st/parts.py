"""Texts as rows of tokens for the model, some thousands at a time."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import NamedTuple

import numpy as np

from closecall.embedders.onnx_pieces import LeftOut, PieceSheet
from closecall.embedders.onnx_reading import Reader, Reading
from closecall.embedders.onnx_runtime import Ids
from closecall.embedders.windows import Span

AHEAD_TEXTS = 2048
AHEAD_TOKENS = 131_072
"""What is read at once where the next is read meanwhile: less, so that both begin soon."""


class Part(NamedTuple):
    """Some texts in order, from the text ``start`` on.

    ``windows`` says of each row whose it is, as an index into ``readings``; ``rows`` holds its
    tokens, special ones included. Both are empty where a text is too long for the policy, as
    none is then run. ``sheet`` takes token vectors where they are wanted.
    """

    start: int
    readings: list[Reading]
    windows: list[tuple[int, Span]]
    rows: list[Ids]
    sheet: PieceSheet | None

    @property
    def too_long(self) -> list[int]:
        """The texts that the policy refuses."""
        return [self.start + at for at, read in enumerate(self.readings) if not read.spans]


def parts(
    reader: Reader, texts: Sequence[str], left_out: LeftOut | None, width: int, *, small: bool
) -> Generator[Part, None, None]:
    """Yield all texts in order.

    Parameters
    ----------
    reader
        It notes places where ``left_out`` is given.
    texts
        As they came.
    left_out
        Given where token vectors are wanted.
    width
        Numbers of a token vector.
    small
        Whether as little is read at once as suits reading ahead.
    """
    most = (AHEAD_TEXTS, AHEAD_TOKENS) if small else (None, None)
    start = 0
    for slab in reader.slabs(texts, map, *most):
        windows: list[tuple[int, Span]] = []
        sheet = None
        if all(read.spans for read in slab):
            windows = [(owner, span) for owner, read in enumerate(slab) for span in read.spans]
            if left_out is not None:
                own = texts[start : start + len(slab)]
                sheet = PieceSheet(reader, left_out, own, slab, width)
        rows = [np.concatenate(reader.row(slab[owner], span)) for owner, span in windows]
        yield Part(start, slab, windows, rows, sheet)
        start += len(slab)

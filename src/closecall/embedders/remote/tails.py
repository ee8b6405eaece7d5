"""Was a text read to its end? Asked of a server that may cut texts and say nothing of it.

Two texts that differ at their ends only have two vectors, unless the ends were not read. So the
longest text is asked for once more with another end; what is shorter than one that was read whole
needs no such request.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

import numpy as np

from closecall.embedders.remote.asking import Asking, Call, Expected, Row
from closecall.embedders.remote.sizes import most_tokens

SURELY_READ = 300
"""Tokens from above up to which no text is asked about: some 150 of English. No window in use is
smaller."""

TAIL = 48
"""Characters that are replaced at the end of a text. Fewer would tell of a shorter end that was
not read, and could change too little for servers that round to 16 bits."""

_OTHER_END = " 9 8 7 6 5 4 3 2 1 0"
# A server that repeats itself does so to the last bits; an end that is read changes far more.
_SAME = 1e-6


class Tails:
    """Finds texts whose end was not read; safe to use from several threads.

    Parameters
    ----------
    asking
        How to ask the provider.
    """

    def __init__(self, asking: Asking) -> None:
        self._asking = asking
        self._lock = threading.Lock()
        self._read_whole = SURELY_READ

    def checked(self, rows: Mapping[str, Row | str], expected: Expected) -> dict[str, Row | str]:
        """Return the rows, those of texts that were cut marked as short.

        A text of which that cannot be found out has the reason instead of a row.

        Raises
        ------
        ConfigurationError
            No request can succeed.
        """
        found = dict(rows)
        sizes = {text: most_tokens(text) for text, row in rows.items() if isinstance(row, Row)}
        # The longest first: if it was read whole, the others were.
        for text in sorted(sizes, key=lambda text: -sizes[text]):
            row = found[text]
            if sizes[text] <= self._read_whole:
                break
            if isinstance(row, str) or row.short:
                continue
            (other,) = self._asking.rows([text[:-TAIL] + _OTHER_END], expected, Call())
            if isinstance(other, str):
                found[text] = f"whether it was read to its end could not be found out: {other}"
            elif np.allclose(row.vector, other.vector, rtol=0.0, atol=_SAME):
                found[text] = row._replace(short=True)
            else:
                with self._lock:
                    self._read_whole = max(self._read_whole, sizes[text])
        return found

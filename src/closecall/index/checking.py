"""Whether every row and vector of an open index can be read and compared, and not the files alone.

A checksum that fits says who wrote a file last, not that it holds what an index holds.
"""

from __future__ import annotations

import numpy as np

from closecall.errors import IndexFolderError
from closecall.index.manifest import RANKS
from closecall.index.products import Similarity, block_of
from closecall.index.stored import Stored
from closecall.index.writer import ranks_of

_BATCH = 1024


def read_through(stored: Stored, similarity: Similarity) -> int:
    """Read every row and vector; return how many rows there are.

    Raises
    ------
    IndexFolderError
        A line is no row, an id stands twice, or the order of the ids is another.
    NonFiniteError, ZeroVectorError
        A vector cannot be compared; the message names the file and its row.
    """
    table = stored.table
    ids = [table.row(position).id for position in range(len(table))]
    stored.require(ids[:1], there=True)  # looks for ids that stand twice
    for start in range(0, len(ids), _BATCH):
        rows = stored.stack[start : start + _BATCH]
        block_of(rows, stored.where, start, refuse_zero=similarity == "cosine")
    if not np.array_equal(stored.field(similarity).ranks, ranks_of(ids)):
        raise IndexFolderError(
            f"{RANKS}: not the order of the ids in the rows; build the index again"
        )
    return len(ids)

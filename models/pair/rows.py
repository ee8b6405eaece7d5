"""One training pair, and where it comes from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import NamedTuple


class Row(NamedTuple):
    """Two texts and whether the second is acceptable beside the first.

    ``first`` is what is read first, put together by ``closecall.metrics.support.texts``; ``kind``
    says what made it, ``group`` which rows are not independent of it.
    """

    first: str
    response: str
    accept: bool
    kind: str
    group: str


def digest(rows: Iterable[Row]) -> str:
    """Return the sha256 (hex) of rows in their order."""
    found = hashlib.sha256()
    for row in rows:
        found.update(json.dumps(list(row), ensure_ascii=False).encode() + b"\n")
    return found.hexdigest()


def mark(text: str) -> int:
    """Return a number from 0 to 99 that only the text decides."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") % 100

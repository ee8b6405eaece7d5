"""Vectors kept between runs, in one SQLite file.

``location`` says where, ``vectors`` reads and writes, ``maintenance`` and ``explain`` look
after the file; ``database``, ``schema`` and ``entries`` are theirs.

The file holds hashes of texts, never texts. Vectors can still give away something of the texts
behind them, so a folder made here is its owner's alone, and a folder that others may write to is
only as trustworthy as they are.
"""

from __future__ import annotations

from closecall.cache.location import cache_path, open_cache
from closecall.cache.vectors import VectorCache

__all__ = ["VectorCache", "cache_path", "open_cache"]

"""Recordings of everything that leaves the process, kept as text for version control.

A cassette is a folder with one file a scenario. ``entries`` says what a line is, ``tape`` reads
and writes one file, ``cassette`` is the door; ``embedder``, ``chat`` and ``subject`` stand in
front of what answers, ``maintenance``, ``verifying`` and ``explaining`` look after the files.

A cassette holds texts, unlike the cache of vectors: whoever may read it reads what was asked and
what was answered. Values of variables that hold keys never enter it.
"""

from __future__ import annotations

from closecall.cassettes.cassette import Cassette, Mode
from closecall.cassettes.opening import open_cassette

__all__ = ["Cassette", "Mode", "open_cassette"]

"""A stand-in embedder of next to no cost, which a child process finds as an installed package.

What it takes to evaluate a million cases is then all but the model's. A text's vector is one of
4,096, chosen by its checksum: no memory that grows, no meaning.
"""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Sequence
from pathlib import Path

NAME = "standin"
ROWS, DIMS = 4096, 384
"""As wide as the bundled model's vectors."""


def install(folder: Path) -> Path:
    """Write a folder that makes ``--embedder standin`` known to whoever has it on PYTHONPATH."""
    facts = folder / "closecall_standin-1.dist-info"
    facts.mkdir(parents=True)
    shutil.copyfile(__file__, folder / "closecall_standin.py")
    (facts / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: closecall-standin\nVersion: 1\n", encoding="utf-8"
    )
    (facts / "entry_points.txt").write_text(
        f"[closecall.embedders]\n{NAME} = closecall_standin:make\n", encoding="utf-8"
    )
    return folder


def make(rest: str, *, window: str, threads: int | None):
    """Return it, as a plug-in is asked to."""
    del rest, window, threads
    return StandIn()


class StandIn:
    """Vectors by checksum; see the module."""

    def __init__(self):
        import numpy as np

        from closecall import Instrument

        self.instrument = Instrument(
            kind="test", model="checksum", provider="local", dims=DIMS, revision="1"
        )
        drawn = np.random.default_rng(1).standard_normal((ROWS, DIMS))
        self._rows = (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)

    def embed(self, texts: Sequence[str], role: object = None):
        """Return one unit vector a text: float32, (n, dims)."""
        del role
        return self._rows[[zlib.crc32(text.encode()) % ROWS for text in texts]]

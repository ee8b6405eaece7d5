"""An embedder made of hashes, ``words``, which victims find as an installed package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

NAME = "words"


def install(folder: Path) -> Path:
    """Write a folder that makes ``--embedder words`` known to whoever has it on the path."""
    facts = folder / "closecall_words-1.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: closecall-words\nVersion: 1\n", encoding="utf-8"
    )
    (facts / "entry_points.txt").write_text(
        f"[closecall.embedders]\n{NAME} = trials.plug:make\n", encoding="utf-8"
    )
    return folder


def make(rest: str, *, window: str, threads: int | None) -> Any:
    """Return it, as a plug-in is asked to."""
    del rest, window, threads
    from closecall.testing import HashEmbedder

    return HashEmbedder(dims=16)

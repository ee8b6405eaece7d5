"""Indexes that are killed while they are built or added to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .kills import Scenario
from .making import row


def _corpus(folder: Path, name: str, first: int, count: int) -> None:
    rows = ({"id": f"p{at}", "text": row(at)["response"]} for at in range(first, first + count))
    (folder / name).write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")


def _index_files(folder: Path) -> dict[str, Any]:
    """Return the files of the generation that is the index, and the names of all else."""
    place = folder / "idx"
    generation = json.loads((place / "index.json").read_bytes())["generation"]
    found = {path.name: path.read_bytes().hex() for path in (place / generation).iterdir()}
    others = sorted(one.name for one in place.iterdir() if one.name != generation)
    return found | {"others": others}


def _sound_index(folder: Path) -> list[str]:
    place = folder / "idx"
    if not (place / "index.json").exists():
        return []
    from closecall.index.folder import verify
    from closecall.index.manifest import read_manifest

    verify(place, read_manifest(place))
    return []


_BUILD = ["index", "build", "corpus.jsonl", "-o", "idx", "--embedder", "words", "--no-cache", "-q"]
_SEARCH = (("search", "idx", "a green heron", "--embedder", "words", "--json"), (0,))


def _index() -> Scenario:
    return Scenario(
        "index build",
        lambda folder: _corpus(folder, "corpus.jsonl", 0, 60),
        lambda _: (_BUILD, ""),
        _index_files,
        _sound_index,
        after=(_SEARCH, (("index", "verify", "idx"), (0,))),
    )


def _built(folder: Path, name: str) -> None:
    from closecall.index.building import build_index
    from closecall.retrieval.passages import Passages
    from closecall.testing import HashEmbedder

    build_index(
        Passages(folder / name), folder / "idx", embedder=HashEmbedder(dims=16),
        embedder_name="words",
    )  # fmt: skip


def _index_again() -> Scenario:
    def prepare(folder: Path) -> None:
        _corpus(folder, "older.jsonl", 200, 20)
        _built(folder, "older.jsonl")
        _corpus(folder, "corpus.jsonl", 0, 60)

    def sound(folder: Path) -> list[str]:
        there = (folder / "idx" / "index.json").exists()
        return _sound_index(folder) if there else ["the older index is gone"]

    return _index()._replace(name="index build over an older one", prepare=prepare, sound=sound)


def _index_add() -> Scenario:
    def prepare(folder: Path) -> None:
        _corpus(folder, "corpus.jsonl", 0, 40)
        _built(folder, "corpus.jsonl")
        _corpus(folder, "more.jsonl", 40, 20)

    def sound(folder: Path) -> list[str]:
        there = (folder / "idx" / "index.json").exists()
        return _sound_index(folder) if there else ["the index is gone"]

    argv = [
        "index",
        "add",
        "idx",
        "more.jsonl",
        "--replace",
        "--embedder",
        "words",
        "--no-cache",
        "-q",
    ]
    return _index()._replace(
        name="index add", prepare=prepare, sound=sound, argv=lambda _: (argv, "")
    )


def all_of() -> list[Scenario]:
    """Return them."""
    return [_index(), _index_again(), _index_add()]

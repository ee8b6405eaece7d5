"""Models that are killed while they are fetched or made."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from .kills import Scenario
from .making import content, half_json, read, write_cases
from .servers import TESTS, Served


def _store(folder: Path) -> dict[str, Any]:
    found = content(folder / "models") if (folder / "models").exists() else {}
    return {name: value for name, value in found.items() if not name.endswith(".lock")}


def _visible(folder: Path) -> list[str]:
    """Return models of the store that are half there."""
    place = folder / "models"
    names = [one for one in place.iterdir() if one.name[0] != "."] if place.exists() else []
    return [f"{one.name} is half there" for one in names if not (one / "card.toml").exists()]


def _pull(served: Served) -> Scenario:
    return Scenario(
        "models pull",
        lambda _: None,
        lambda _: (["models", "pull", "acme/tiny", "-q"], ""),
        _store,
        _visible,
        env={"HF_ENDPOINT": served.hub, "CLOSECALL_MODELS_DIR": "models"},
        after=((("models", "verify", "tiny"), (0,)),),
    )


def _pull_again(served: Served) -> Scenario:
    def prepare(folder: Path) -> None:
        sys.path.insert(0, str(TESTS / "models"))
        import tiny_bert  # type: ignore[import-not-found]

        from closecall.models.compiler import Naming, compile_folder

        tiny_bert.write_folder(folder / "source", seed=5)
        (folder / "models").mkdir()
        compile_folder(folder / "source", folder / "models" / "tiny", Naming(name="tiny"))

    def sound(folder: Path) -> list[str]:
        there = (folder / "models" / "tiny").exists() or any(
            (folder / "models").glob(".adding-*/old/card.toml")
        )
        return _visible(folder) if there else ["the older model is gone"]

    return _pull(served)._replace(
        name="models pull over an older one",
        prepare=prepare,
        argv=lambda _: (["models", "pull", "acme/tiny", "-q", "--force"], ""),
        sound=sound,
    )


def _distil() -> Scenario:
    def prepare(folder: Path) -> None:
        sys.path.insert(0, str(TESTS / "models"))
        import tiny_bert

        from closecall.models.compiler import Naming, compile_folder

        tiny_bert.write_folder(folder / "source", seed=5)
        compile_folder(folder / "source", folder / "tiny", Naming(name="tiny"))

    return Scenario(
        "models distil",
        prepare,
        lambda _: (
            ["models", "distil", "onnx:tiny", "-o", "static", "--dims", "8", "-q", "--force"],
            "",
        ),
        lambda folder: content(folder / "static"),
        after=((("score", "a red cat", "the cat", "--embedder", "static:static"), (0, 1)),),
    )


def _isotropy() -> Scenario:
    return Scenario(
        "models isotropy",
        lambda folder: write_cases(folder / "cases.jsonl", 520),
        lambda _: (["models", "isotropy", "cases.jsonl", "-o", "spread.json", "--embedder",
                    "words", "--no-cache", "-q", "--force"], ""),
        lambda folder: {"spread.json": {**read(folder / "spread.json", folder), "digest": ""}},
        lambda folder: half_json(folder / "spread.json"),
    )  # fmt: skip


def all_of(served: Served) -> list[Scenario]:
    """Return them."""
    return [_pull(served), _pull_again(served), _distil(), _isotropy()]

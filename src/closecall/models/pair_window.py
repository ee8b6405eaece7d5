"""How many tokens a pair model reads at once, by the three files of its folder that may say so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from closecall.errors import ModelError
from closecall.models.config_files import read_or_empty

_ENDLESS = 1_000_000
"""A ``model_max_length`` from here on is how libraries write that there is none."""

_LEAST_WINDOW = 8

_AFTER_PADDING = (
    "roberta", "xlm-roberta", "xlm-roberta-xl", "camembert", "mpnet", "longformer", "ibert",
    "xmod", "roberta-prelayernorm", "data2vec-text", "esm",
)  # fmt: skip
"""Values of ``model_type`` whose positions begin after that of the padding token, so that the
first of them are never used."""


def pair_window(folder: Path, config: dict[str, Any], module: dict[str, Any]) -> int:
    """Return the longest pair in tokens: the least of what model and tokenizer allow.

    Parameters
    ----------
    folder
        The model's folder.
    config, module
        What its ``config.json`` and its ``sentence_bert_config.json`` hold.

    Raises
    ------
    ModelError
        If a number is none, is too small for a pair, or there is none at all.
    """
    places = (
        (folder / "config.json", config, "max_position_embeddings"),
        (
            folder / "tokenizer_config.json",
            read_or_empty(folder / "tokenizer_config.json"),
            "model_max_length",
        ),
        (folder / "sentence_bert_config.json", module, "max_seq_length"),
    )
    found: list[int] = []
    for path, raw, field in places:
        value = raw.get(field)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 1:
            # Some models write -1 where positions have no end.
            if value == -1:
                continue
            raise ModelError(f"{path}: {field}: expected a number, got {value!r}")
        if value < _ENDLESS:
            found.append(int(value) - (_unused(config) if raw is config else 0))
    if not found:
        raise ModelError(
            f"{folder}: nothing says how many tokens the model reads at once. Write "
            '"model_max_length" in tokenizer_config.json'
        )
    if min(found) < _LEAST_WINDOW:
        raise ModelError(
            f"{folder}: the model reads {min(found)} tokens at once; a pair needs "
            f"{_LEAST_WINDOW} at least"
        )
    return min(found)


def _unused(config: dict[str, Any]) -> int:
    if config.get("model_type") not in _AFTER_PADDING:
        return 0
    # Positions of mpnet begin after 1, whatever its config says of padding.
    padding = 1 if config.get("model_type") == "mpnet" else config.get("pad_token_id", 1)
    return padding + 1 if isinstance(padding, int) and padding >= 0 else 2

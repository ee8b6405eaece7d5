"""The folder of a distilled model: the layout of model2vec, with a record of how it was made."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import msgspec

from closecall.embedders.static.distil import Distilled, digest
from closecall.errors import UsageError
from closecall.models.cards import TOKENIZER_FILE, ModelCard, is_model_name
from closecall.models.placing import placing
from closecall.models.safetensors_file import format_tensors
from closecall.models.static_files import (
    CONFIG_FILE,
    MODEL2VEC,
    MODULES_FILE,
    RECORD,
    DistilledFrom,
    is_static,
)
from closecall.models.weights import WEIGHTS_FILE

README_FILE = "README.md"

_NO_END = 1_000_000
_MODULES = (("StaticEmbedding", "."), ("Normalize", "1_Normalize"))


def require_place(folder: Path, *, force: bool) -> None:
    """Refuse a place that is taken.

    Raises
    ------
    UsageError
        Something is there and ``force`` is not given, or it is no static model.
    """
    if not os.path.lexists(folder):
        return
    if not is_static(folder):
        raise UsageError(f"{folder}: already there, and no static model; name another folder")
    if not force:
        raise UsageError(
            f"{folder}: already there, and what was calibrated with it would be refused; name "
            "another folder, or replace it with --force (force=True)"
        )


def save_static(
    folder: Path,
    made: Distilled,
    card: ModelCard,
    *,
    name: str,
    producer: str,
    force: bool = False,
) -> DistilledFrom:
    """Write a model's folder, whole or not at all; the same arguments give the same bytes.

    Parameters
    ----------
    folder
        Where to.
    made
        The model.
    card
        That of the encoder it was made from.
    name
        What to call it.
    producer
        The version of closecall.
    force
        Whether to replace a static model that is there.

    Raises
    ------
    UsageError
        The name cannot be used, or the place is taken.
    ModelError
        The folder cannot be written.
    """
    if not is_model_name(name):
        raise UsageError(
            f"{name!r:.40} cannot name a model; use letters, digits, '.', '-' and '_'"
        )
    require_place(folder, force=force)
    tensors = format_tensors({"embeddings": made.rows})
    record = DistilledFrom(
        name=name,
        encoder=card.name,
        instrument=made.instrument.digest,
        weights=made.instrument.weights,
        dims=made.dims,
        weighting=str(made.weighting),
        rows=made.words,
        kept=made.kept,
        producer=producer,
        files={WEIGHTS_FILE: digest(tensors), TOKENIZER_FILE: digest(made.tokenizer)},
    )
    files = {
        WEIGHTS_FILE: tensors,
        TOKENIZER_FILE: made.tokenizer,
        CONFIG_FILE: _spelled(_config(made, card, record)),
        MODULES_FILE: _spelled(
            [
                {
                    "idx": at,
                    "name": str(at),
                    "path": path,
                    "type": f"sentence_transformers.models.{kind}",
                }
                for at, (kind, path) in enumerate(_MODULES)
            ]
        ),
        README_FILE: _readme(record, card).encode("utf-8"),
    }
    with placing(folder) as new:
        new.mkdir()
        for file, data in files.items():
            (new / file).write_bytes(data)
    return record


def _config(made: Distilled, card: ModelCard, record: DistilledFrom) -> dict[str, Any]:
    sif = made.weighting.kind == "sif"
    return {
        "model_type": MODEL2VEC,
        "architectures": ["StaticModel"],
        "tokenizer_name": card.source or card.name,
        "apply_pca": made.dims,
        "apply_zipf": made.weighting.kind == "log",
        "sif_coefficient": made.weighting.a if sif else None,
        "hidden_dim": made.dims,
        "seq_length": _NO_END,
        "normalize": True,
        "embedding_dtype": "float16",
        RECORD: msgspec.to_builtins(record),
    }


def _spelled(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode("utf-8")


def _readme(record: DistilledFrom, card: ModelCard) -> str:
    licence = f"license: {json.dumps(card.licence.lower())}\n" if card.licence else ""
    origin = f" ({card.source}, revision {card.revision or 'unknown'})" if card.source else ""
    return f"""---
base_model: {json.dumps(card.source or card.name)}
library_name: model2vec
{licence}---

# {record.name}

A static embedding model: a vector of {record.dims} numbers for each of {record.rows:,} tokens.
The vector of a text is the mean of those of its tokens, at length 1.

Distilled from {card.name}{origin}, whose terms hold for it, by closecall {record.producer}. Each
token ran through the encoder alone; its own last hidden state, at length 1, was centred, turned to
principal components ({record.kept:.1%} of the variance kept) and weighted by {record.weighting}.
The encoder's instrument was {record.instrument}, its weights {record.weights}.
"""

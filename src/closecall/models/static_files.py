"""Where the files of a static model lie: a table of token vectors and a tokenizer.

Two published layouts are read: that of model2vec (``model.safetensors`` with a tensor
``embeddings``, ``tokenizer.json``, ``config.json``) and that of sentence-transformers'
``StaticEmbedding`` (a tensor ``embedding.weight``, in the folder itself or in
``0_StaticEmbedding``, and a ``modules.json`` that says what follows). Nothing of the tensors is
read here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from closecall.errors import ModelError
from closecall.models.cards import CARD_FILE, TOKENIZER_FILE, is_model_name
from closecall.models.store import store_folder
from closecall.models.weights import WEIGHTS_FILE
from closecall.plain import read_plain
from closecall.there import exists, is_dir, is_file

CONFIG_FILE = "config.json"
MODULES_FILE = "modules.json"

MODEL2VEC = "model2vec"
TABLES = ("embeddings", "embedding.weight")
"""What the two layouts call the table."""

RECORD = "closecall"
"""The member of ``config.json`` that holds how a model was made here."""

MAX_CONFIG = 1 << 20
"""Largest JSON file that is read, in bytes."""

_FOLDERS = ("", "0_StaticEmbedding")
_KINDS = ("StaticEmbedding", "Normalize")


class DistilledFrom(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a static model was made: what ``closecall models distil`` writes into ``config.json``.

    ``instrument`` is the digest of the encoder, ``kept`` the share of the variance of the token
    vectors in the ``dims`` directions that were kept, ``rows`` how many tokens have a vector.
    ``files`` maps each file to its sha256 (hex).
    """

    name: str
    encoder: str
    instrument: str
    weights: str
    dims: int
    weighting: str
    rows: int
    kept: float
    producer: str
    files: dict[str, str]


class StaticFolder(NamedTuple):
    """A static model's files, what people call it, and what its configuration says.

    ``made`` is there where closecall made it.
    """

    folder: Path
    name: str
    weights: Path
    tokenizer: Path
    normalize: bool
    made: DistilledFrom | None = None


def read_static(folder: Path | str) -> StaticFolder:
    """Return what a folder says of its static model.

    Raises
    ------
    ModelError
        It is missing, holds none, or a file is wrong; the message names it.
    """
    path = Path(folder)
    try:
        there = is_dir(path)
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: cannot be read: {error}") from error
    if not there:
        raise ModelError(f"{path}: no such folder")
    kinds = _module_kinds(path / MODULES_FILE)
    config = _json_object(path / CONFIG_FILE)
    if config.get("model_type") != MODEL2VEC and kinds[:1] != _KINDS[:1]:
        raise ModelError(
            f"{path}: holds no static model: a {CONFIG_FILE} with model_type {MODEL2VEC!r}, or a "
            f"{MODULES_FILE} that begins with {_KINDS[0]}. "
            "Make one with 'closecall models distil -o FOLDER'"
        )
    if kinds and kinds not in (_KINDS[:1], _KINDS):
        raise ModelError(
            f"{path / MODULES_FILE}: the modules are {', '.join(kinds)}; those of a static model "
            f"are {_KINDS[0]} and then perhaps {_KINDS[1]}"
        )
    # What model2vec goes by; its own modules say the same.
    normalize = config.get("normalize", _KINDS[1] in kinds)
    if not isinstance(normalize, bool):
        raise ModelError(
            f"{path / CONFIG_FILE}: normalize: expected true or false, got {normalize!r:.40}"
        )
    made = _record(path / CONFIG_FILE, config.get(RECORD))
    name = path.resolve().name if made is None else made.name
    inner = next((path / one for one in _FOLDERS if is_file(path / one / WEIGHTS_FILE)), path)
    if not inner.resolve().is_relative_to(path.resolve()):
        raise ModelError(f"{inner}: leads out of the model's folder")
    weights, tokenizer = inner / WEIGHTS_FILE, inner / TOKENIZER_FILE
    for file in (weights, tokenizer):
        if not is_file(file):
            raise ModelError(f"{file}: no such file")
    return StaticFolder(path, name, weights, tokenizer, normalize, made)


def is_static(folder: Path) -> bool:
    """Return whether a folder holds a static model, as far as its JSON files say."""
    try:
        read_static(folder)
    except ModelError:
        return False
    return True


def static_named(name: str) -> Path | None:
    """Return the folder of that name in the store if it holds a static model, else None."""
    if not is_model_name(name):
        return None
    try:
        folder = store_folder() / name
    except ModelError:  # no home to keep models in
        return None
    try:
        return folder if not exists(folder / CARD_FILE) and is_static(folder) else None
    except OSError:  # a store that may not be read holds nothing for this person
        return None


def _record(where: Path, given: object) -> DistilledFrom | None:
    if given is None:
        return None
    try:
        made = msgspec.convert(given, DistilledFrom, strict=True)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:  # the latter of half a letter
        raise ModelError(f"{where}: {RECORD}: {error}") from error
    if not is_model_name(made.name):
        raise ModelError(f"{where}: {RECORD}.name: {made.name!r:.40} cannot name a model")
    return made


def _module_kinds(path: Path) -> tuple[str, ...]:
    """Return the classes of the modules in order; none where there is no such file."""
    value = _json(path, [])
    if not isinstance(value, list) or not all(
        isinstance(one, dict) and isinstance(one.get("type"), str) for one in value
    ):
        raise ModelError(f"{path}: expected a list of modules, each with its type")
    return tuple(
        kind.rpartition(".")[2] if kind.startswith("sentence_transformers.") else kind
        for kind in (one["type"] for one in value)
    )


def _json_object(path: Path) -> dict[str, Any]:
    value = _json(path, {})
    if not isinstance(value, dict):
        raise ModelError(f"{path}: expected a JSON object")
    return value


def _json(path: Path, missing: Any) -> Any:
    """Return what a JSON file holds, ``missing`` where there is none."""
    try:
        return json.loads(read_plain(path, MAX_CONFIG).decode("utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError):
        return missing
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path}: cannot be read as JSON: {error}") from error

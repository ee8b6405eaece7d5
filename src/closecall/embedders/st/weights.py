"""The files that make a model what it is: its weights, its tokenizer, its configurations.

One digest stands for each kind. Of a single file it is that file's own sha256, so that it can be
held against the published one; of several it is the sha256 of their list as ``sha256sum``
prints it, sorted by name.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from closecall.embedders.st.files import read_json, read_object
from closecall.embedders.st.layout import TRANSFORMER, WEIGHTED, StLayout
from closecall.errors import ModelError
from closecall.instrument import canonical_json
from closecall.models.hashing import hash_file
from closecall.there import is_file

WEIGHTS = "model.safetensors"
INDEX = f"{WEIGHTS}.index.json"

_PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json", "model.pt", "model.ckpt")
_VOCABULARIES = (
    "vocab.txt", "vocab.json", "merges.txt", "sentencepiece.bpe.model", "spiece.model",
    "tokenizer.model",
)  # fmt: skip
_TOKENIZER = "tokenizer.json"
_SETTINGS = ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json")
# Where a configuration came from and what wrote it changes no vector.
_PROVENANCE = (
    "_name_or_path", "name_or_path", "transformers_version", "torch_dtype", "dtype", "__version__",
    "architectures", "use_cache", "gradient_checkpointing",
)  # fmt: skip
_HEADER_BYTES = 8
_MOST_HEADER = 100_000_000


class Stamp(NamedTuple):
    """What a file looked like when it was hashed."""

    path: Path
    size: int
    changed: int
    node: int


class Identity(NamedTuple):
    """Digests of weights, tokenizer and configurations, and the files they were taken from."""

    weights: str
    tokenizer: str
    config: str
    stamps: tuple[Stamp, ...]


def weight_files(layout: StLayout) -> list[Path]:
    """Return every file of weights, of all modules.

    Raises
    ------
    ModelError
        If one is missing; pickled weights are never opened.
    """
    return [
        path
        for module in layout.modules
        if module.kind in WEIGHTED
        for path in _weights_in(module.folder, split=module.kind == TRANSFORMER)
    ]


def read_identity(layout: StLayout) -> Identity:
    """Hash a model; about 1 s a gigabyte, no library of machine learning loaded.

    Raises
    ------
    ModelError
        If a file is missing or cannot be read.
    """
    stamps = _stamps(layout)
    weights = weight_files(layout)
    tokenizer = _tokenizer_files(layout.transformer)
    return Identity(
        weights=_digest(layout.folder, weights),
        tokenizer=_digest(layout.folder, tokenizer),
        config=_config_digest(layout),
        stamps=stamps,
    )


def require_unchanged(layout: StLayout, identity: Identity) -> None:
    """Refuse a model whose files were changed since they were read and hashed.

    Raises
    ------
    ModelError
        If one was; the message names it.
    """
    changed = sorted({stamp.path for stamp in set(identity.stamps) ^ set(_stamps(layout))})
    if changed:
        raise ModelError(f"{changed[0]}: changed while the model was being loaded; start again")


def tensor_names(path: Path) -> set[str]:
    """Return the names of the tensors in a safetensors file, from its header alone.

    Raises
    ------
    ModelError
        If the file is not safetensors.
    """
    try:
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(_HEADER_BYTES), "little")
            if length > _MOST_HEADER:
                raise ModelError(f"{path}: not a safetensors file: its header is too long")
            header: dict[str, Any] = json.loads(stream.read(length))
        return set(header) - {"__metadata__"}
    except (OSError, ValueError, RecursionError, TypeError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"{path}: not a safetensors file: {error}") from error


def _weights_in(folder: Path, *, split: bool) -> list[Path]:
    if is_file(folder / WEIGHTS):
        return [folder / WEIGHTS]
    if split and is_file(folder / INDEX):
        return _parts(folder)
    pickled = next((name for name in _PICKLES if is_file(folder / name)), None)
    if pickled:
        raise ModelError(
            f"{folder}: holds {pickled} but no {WEIGHTS}. Pickled weights can run code when "
            "opened and are not read; save the model again with safe_serialization=True, or take "
            "a revision that has safetensors"
        )
    raise ModelError(f"{folder / WEIGHTS}: no such file")


def _parts(folder: Path) -> list[Path]:
    path = folder / INDEX
    parts = read_object(path).get("weight_map")
    if not isinstance(parts, dict) or not parts:
        raise ModelError(f"{path}: weight_map: expected an object")
    names = sorted({str(name) for name in parts.values()})
    for name in names:
        if Path(name).name != name or "\\" in name or not name.endswith(".safetensors"):
            raise ModelError(f"{path}: weight_map: {name!r} is not a safetensors file beside it")
        if not is_file(folder / name):
            raise ModelError(f"{folder / name}: no such file; the model is not whole")
    return [folder / name for name in names]


def _tokenizer_files(folder: Path) -> list[Path]:
    if is_file(folder / _TOKENIZER):
        return [folder / _TOKENIZER]
    found = [folder / name for name in _VOCABULARIES if is_file(folder / name)]
    if not found:
        raise ModelError(
            f"{folder / _TOKENIZER}: no such file, nor a vocabulary; save the tokenizer beside "
            "the weights with AutoTokenizer.from_pretrained(NAME).save_pretrained(FOLDER)"
        )
    return found


def _digest(root: Path, paths: Sequence[Path]) -> str:
    hashed = {path.relative_to(root).as_posix(): hash_file(path).sha256 for path in paths}
    if len(hashed) == 1:
        return next(iter(hashed.values()))
    listed = "".join(f"{hashed[name]}  {name}\n" for name in sorted(hashed))
    return hashlib.sha256(listed.encode("utf-8", errors="surrogateescape")).hexdigest()


def _config_digest(layout: StLayout) -> str:
    """Digest what the configurations say, however they are spelled."""
    said: list[Any] = [[module.kind, _without(module.config)] for module in layout.modules]
    for name in _SETTINGS:
        path = layout.transformer / name
        said.append(_without(read_json(path)) if is_file(path) else None)
    reading = layout.transformer / "sentence_bert_config.json"
    said.append(_without(read_object(reading, missing_ok=True)))
    try:
        return hashlib.sha256(canonical_json(said)).hexdigest()
    except ValueError as error:
        raise ModelError(
            f"{layout.folder}: a configuration holds a number that is not finite: {error}"
        ) from error


def _without(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {name: _without(inner) for name, inner in value.items() if name not in _PROVENANCE}


def _stamps(layout: StLayout) -> tuple[Stamp, ...]:
    """Return what weights, tokenizer and every JSON file beside them look like now."""
    paths = {*weight_files(layout), *_tokenizer_files(layout.transformer)}
    for folder in {layout.folder, *(module.folder for module in layout.modules)}:
        paths |= set(folder.glob("*.json"))
    return tuple(_stamp(path) for path in sorted(paths))


def _stamp(path: Path) -> Stamp:
    try:
        found = path.stat()
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror or error}") from error
    return Stamp(path, found.st_size, found.st_mtime_ns, found.st_ino)

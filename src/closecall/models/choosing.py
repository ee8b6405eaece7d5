"""Which files of a repository are taken: those a model is made of, and none that is code."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from closecall.errors import ModelError, UnsupportedArchitectureError
from closecall.models.hub import RemoteFile, Repository
from closecall.models.published import is_inner_path

WEIGHTS = "model.safetensors"
GRAPHS = ("onnx/model.onnx", "model.onnx")

MOST_BYTES = 20_000_000_000
"""Largest model that is pulled unless more is allowed."""

_MOST_FILES = 500
_SMALL = 100_000_000
"""Bytes; tokenizers of many languages have some 35 million."""

_SHOWN = 80

_SETTINGS = (
    "config.json", "modules.json", "config_sentence_transformers.json",
    "sentence_bert_config.json", "tokenizer.json", "tokenizer_config.json",
    "special_tokens_map.json", "added_tokens.json", "vocab.txt", "vocab.json", "merges.txt",
    "sentencepiece.bpe.model", "spiece.model", "tokenizer.model", "preprocessor_config.json",
    "processor_config.json",
)  # fmt: skip
_ABOUT = re.compile(r"(README|LICEN[CS]E|NOTICE|COPYING|USE_POLICY)(\.(md|txt))?", re.IGNORECASE)
_SHARD = re.compile(r"model-\d{5}-of-\d{5}\.safetensors")
_STEP = re.compile(r"\d+_[A-Za-z]+")
_STEP_FILES = ("config.json", WEIGHTS)
# How weights are published that run code when they are opened.
_PICKLED = re.compile(r"(pytorch_model.*\.bin|.*\.(pt|pth|ckpt|pkl|pickle|joblib))")
_BESIDE_GRAPH = re.compile(r"model\.onnx[._].+")


def is_allowed(path: str) -> bool:
    """Return whether a model's folder may hold a file of that path."""
    return path in GRAPHS or _wanted(path)


def choose(repository: Repository, *, onnx: bool = False) -> list[RemoteFile]:
    """Return the files to take, the small ones first.

    Parameters
    ----------
    repository
        What there is.
    onnx
        Whether to take the ONNX graph in place of the safetensors.

    Raises
    ------
    UnsupportedArchitectureError
        If its weights are neither safetensors nor, where asked for, one ONNX file; the message
        names what there is.
    ModelError
        If a file has no hash or no size, is too large for what it is, or a name leads out of the
        folder.
    """
    repo = repository.repo
    taken = [file for file in repository.files if _wanted(file.path)]
    if onnx:
        taken = [file for file in taken if not file.path.endswith(".safetensors")]
        taken += [_graph(repository)]
    elif not any(_leads(file.path) for file in taken):
        raise UnsupportedArchitectureError(_no_weights(repository))
    elif any(file.path == WEIGHTS for file in taken):
        taken = [file for file in taken if not _SHARD.fullmatch(file.path)]
    if len(taken) > _MOST_FILES:
        raise ModelError(f"{repo}: {len(taken)} files, more than a model has")
    paths = [file.path.casefold() for file in taken]
    if len(set(paths)) < len(paths):
        raise ModelError(f"{repo}: two files of one name")
    for file in taken:
        _check(file, repo)
    return sorted(taken, key=lambda file: (_weighs(file.path), file.size, file.path))


def require_size(files: Iterable[RemoteFile], repo: str, most: int) -> int:
    """Return the bytes of all files.

    Raises
    ------
    ModelError
        If they are more than ``most``.
    """
    total = sum(file.size for file in files)
    if total > most:
        raise ModelError(
            f"{repo}: {total / 1e9:.1f} GB, more than the {most / 1e9:.1f} GB that are allowed; "
            "allow more with --at-most GB"
        )
    return total


def _wanted(path: str) -> bool:
    parts = PurePosixPath(path).parts
    if "/".join(parts) != path or not is_inner_path(path):
        return False
    if len(parts) == 1:
        settings = path in _SETTINGS or path == f"{WEIGHTS}.index.json"
        return settings or _weighs(path) or _ABOUT.fullmatch(path) is not None
    if len(parts) == 2:  # noqa: PLR2004 - a step of sentence-transformers and its file
        return _STEP.fullmatch(parts[0]) is not None and parts[1] in (*_STEP_FILES, *_SETTINGS)
    return False


def _weighs(path: str) -> bool:
    """Return whether a file is large for what it is, and so kept by its sha256."""
    name = path.rpartition("/")[2]
    return name == WEIGHTS or _SHARD.fullmatch(path) is not None or path in GRAPHS


def _leads(path: str) -> bool:
    """Return whether a file holds the weights of a model's first step, not only of a later one."""
    folder, _, name = path.rpartition("/")
    return _weighs(path) and (not folder or (folder.startswith("0_") and name == WEIGHTS))


def _graph(repository: Repository) -> RemoteFile:
    by_path = {file.path: file for file in repository.files}
    found = next((by_path[path] for path in GRAPHS if path in by_path), None)
    if found is None:
        raise UnsupportedArchitectureError(
            f"{repository.repo}: holds no {' or '.join(GRAPHS)}; leave --onnx out"
        )
    folder = found.path.removesuffix("model.onnx")
    beside = sorted(
        path
        for path in by_path
        if path.startswith(folder) and _BESIDE_GRAPH.fullmatch(path.removeprefix(folder))
    )
    if beside:
        raise UnsupportedArchitectureError(
            f"{repository.repo}: {found.path} keeps its weights in {', '.join(beside)}; only a "
            "graph in one file is run, because no hash of the graph covers another file"
        )
    return found


def _no_weights(repository: Repository) -> str:
    repo, paths = repository.repo, sorted(file.path[:_SHOWN] for file in repository.files)
    pickled = [path for path in paths if _PICKLED.fullmatch(PurePosixPath(path).name)]
    if pickled:
        shown = ", ".join(pickled[:5])
        return (
            f"{repo} at {repository.commit[:12]}: its weights are pickles ({shown}), which can "
            "run any code when they are opened and are never read. Name a revision "
            f"that holds {WEIGHTS} with --revision, or save the model so yourself: "
            "model.save_pretrained(FOLDER)"
        )
    graphs = [path for path in paths if path in GRAPHS]
    if graphs:
        return f"{repo}: holds {graphs[0]} and no {WEIGHTS}; take that with --onnx"
    shown = ", ".join(paths[:8]) or "nothing"
    return f"{repo} at {repository.commit[:12]}: holds no {WEIGHTS}; there are {shown}"


def _check(file: RemoteFile, repo: str) -> None:
    if file.size < 0:
        raise ModelError(f"{repo}/{file.path}: the hub does not say how large it is")
    if not file.sha256 and (not file.blob or _weighs(file.path)):
        raise ModelError(f"{repo}/{file.path}: the hub gives no hash of it, so it is not taken")
    if not _weighs(file.path) and file.size > _SMALL:
        raise ModelError(
            f"{repo}/{file.path}: {file.size:,} bytes, too many for what such a file holds"
        )

"""From a sentence-transformers folder to a model closecall can run: graph, tokenizer, card."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from closecall.errors import ModelError, UsageError
from closecall.models.cards import (
    CARD_FILE,
    GRAPH_FILE,
    TOKENIZER_FILE,
    ModelCard,
    ModelFile,
    Origin,
    format_card,
    is_model_name,
)
from closecall.models.hashing import hash_file, read_file
from closecall.models.layout import Layout, read_layout
from closecall.models.tokenizer_files import read_tokenizer
from closecall.records import Role, is_whole_text

STORAGES = {"fp32": "fp32", "fp16": "fp16-weights"}
"""How weights may be stored, and the precision that makes on the card."""


class Naming(msgspec.Struct, frozen=True, kw_only=True):
    """What a folder cannot know of itself: the descriptive fields of the card."""

    name: str
    aliases: tuple[str, ...] = ()
    source: str = ""
    revision: str = ""
    licence: str = ""
    languages: tuple[str, ...] = ()


def compile_folder(
    source: Path,
    target: Path,
    naming: Naming,
    *,
    storage: str = "fp32",
    prefixes: Mapping[str, str] | None = None,
    token_types: bool = False,
) -> ModelCard:
    """Compile a model of the BERT family into the folder ``target``.

    Writes ``model.onnx``, ``tokenizer.json`` (byte for byte) and ``card.toml``. The same source
    gives the same bytes. Needs about twice the memory of the weights; all-MiniLM-L6-v2 takes
    under a second.

    Parameters
    ----------
    source
        A folder in sentence-transformers layout.
    storage
        ``fp32``, or ``fp16`` for half the size and vectors within a cosine of 1e-6.
    prefixes
        Text before each role's texts, for models whose folder does not say; replaces what it
        says.
    token_types
        Whether the graph gets a third input, ``token_type_ids``.

    Raises
    ------
    UsageError
        If the storage, the name or a role is not known.
    ModelError
        If the folder cannot be used; see ``layout`` and ``weights``. If ``target`` cannot be
        written.
    UnsupportedArchitectureError
        If the model is not one the compiler knows.
    MissingExtraError
        If onnx or safetensors is not installed.
    """
    _check(naming, storage, prefixes)
    try:
        return _compile(source, target, naming, storage, prefixes, token_types=token_types)
    except OSError as error:
        where = error.filename or target
        raise ModelError(
            f"{where}: cannot be read or written: {error.strerror or error}"
        ) from error


def _compile(
    source: Path,
    target: Path,
    naming: Naming,
    storage: str,
    prefixes: Mapping[str, str] | None,
    *,
    token_types: bool,
) -> ModelCard:
    layout = read_layout(source)
    target.mkdir(parents=True, exist_ok=True)
    origin, graph = _graph(layout, half=storage == "fp16", token_types=token_types)
    (target / GRAPH_FILE).write_bytes(graph)
    tokenizer = read_file(layout.transformer / TOKENIZER_FILE)
    (target / TOKENIZER_FILE).write_bytes(tokenizer)
    card = ModelCard(
        **msgspec.structs.asdict(naming),
        architecture=layout.config.model_type,
        dims=layout.config.hidden_size,
        max_tokens=layout.max_tokens,
        pooling=layout.pooling,
        normalize=layout.normalize,
        lowercase=layout.lowercase,
        precision=STORAGES[storage],
        prefixes=dict(layout.prefixes if prefixes is None else prefixes),
        weights=Origin(origin.name, origin.sha256),
        files=tuple(hash_file(target / name) for name in (GRAPH_FILE, TOKENIZER_FILE)),
    )
    (target / CARD_FILE).write_bytes(format_card(card).encode("utf-8"))
    return card


def _check(naming: Naming, storage: str, prefixes: Mapping[str, str] | None) -> None:
    if storage not in STORAGES:
        raise UsageError(f"storage must be one of {', '.join(STORAGES)}, got {storage!r}")
    for name in (naming.name, *naming.aliases):
        if not is_model_name(name):
            raise UsageError(
                f"{name!r} cannot name a model; use letters, digits, '.', '-' and '_', "
                "at most 100, beginning with a letter or digit"
            )
    roles = [role.value for role in Role]
    for role in prefixes or ():
        if role not in roles:
            raise UsageError(f"no such role: {role!r}; there are {', '.join(roles)}")
    said = {
        "source": (naming.source,),
        "revision": (naming.revision,),
        "licence": (naming.licence,),
        "languages": naming.languages,
        "prefixes": tuple((prefixes or {}).values()),
    }
    for field, texts in said.items():
        for text in texts:
            if not is_whole_text(text):
                raise UsageError(f"{field}: {text!r:.80} is no text that can be written as UTF-8")


def _graph(layout: Layout, *, half: bool, token_types: bool) -> tuple[ModelFile, bytes]:
    """Return what the weights' file was, and the graph's bytes."""
    from closecall.models.bert_graph import bert_graph
    from closecall.models.graph_builder import GraphOptions
    from closecall.models.weights import Weights, weights_path

    path = weights_path(layout.transformer)
    weights = Weights(path)
    origin = hash_file(path)
    options = GraphOptions(
        pooling=layout.pooling,
        normalize=layout.normalize,
        half=half,
        token_types=token_types,
    )
    graph = bert_graph(layout.config, weights, options)
    _check_tokenizer(layout)
    return origin, graph


def _check_tokenizer(layout: Layout) -> None:
    """Refuse a tokenizer that cannot be read or makes ids the word table does not hold."""
    path = layout.transformer / TOKENIZER_FILE
    tokenizer = read_tokenizer(path, read_file(path))
    largest = max(tokenizer.get_vocab(with_added_tokens=True).values(), default=-1)
    if largest >= layout.config.vocab_size:
        raise ModelError(
            f"{path}: makes token ids up to {largest}, but the model's vocab_size is "
            f"{layout.config.vocab_size}"
        )

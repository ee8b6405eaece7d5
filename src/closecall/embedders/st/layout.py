"""What a folder in sentence-transformers layout says of itself, whatever its architecture.

Only JSON is read, and what it asks for is held against ``trust``. The result is one frozen
record from which the identity is made; once the model is loaded it is held against that.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeGuard

import msgspec

from closecall.embedders.prompts import Prompts, find_prompts
from closecall.embedders.st.files import read_json, read_object
from closecall.embedders.st.trust import (
    require_activation,
    require_plain_reading,
    require_plain_transformer,
)
from closecall.errors import ModelError, UnsupportedArchitectureError
from closecall.models.layout import inside
from closecall.records import is_whole_text
from closecall.there import is_file

TRANSFORMER, POOLING, NORMALIZE, DENSE = "Transformer", "Pooling", "Normalize", "Dense"
MODULES = (TRANSFORMER, POOLING, DENSE, "LayerNorm", "Dropout", NORMALIZE)
"""Classes of sentence-transformers that may follow one another; the first two come first."""

WEIGHTED = (TRANSFORMER, DENSE, "LayerNorm")
"""Those that have weights of their own."""

_POOLING_KEYS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
# These count positions from the padding token's on, so the first of the table are never used.
_AFTER_PADDING = (
    "roberta", "xlm-roberta", "xlm-roberta-xl", "camembert", "mpnet", "longformer",
    "roberta-prelayernorm", "data2vec-text", "ibert", "xmod",
)  # fmt: skip
_ENDLESS = 1_000_000
_LEAST_WINDOW = 3


class Module(msgspec.Struct, frozen=True):
    """One step of a model: its class, its folder, and its configuration."""

    kind: str
    folder: Path
    config: dict[str, Any]


class StLayout(msgspec.Struct, frozen=True, kw_only=True):
    """A folder, read.

    ``hidden`` is the width of a token vector, ``width`` that of a text's before it is cut to
    ``dims``. ``max_tokens`` counts special tokens. ``normalize``: whether vectors of length 1
    leave the model.
    """

    folder: Path
    modules: tuple[Module, ...]
    pooling: str
    normalize: bool
    hidden: int
    width: int
    dims: int
    max_tokens: int
    lowercase: bool
    prompts: Prompts

    @property
    def transformer(self) -> Path:
        """The folder of the transformer and its tokenizer."""
        return self.modules[0].folder

    @property
    def chain(self) -> str:
        """The classes in order, as one text."""
        return ">".join(module.kind for module in self.modules)


def read_st_layout(
    folder: Path,
    model: str,
    *,
    dims: int | None = None,
    max_tokens: int | None = None,
    prompts: str = "auto",
    modules: tuple[Module, ...] | None = None,
) -> StLayout:
    """Read a folder.

    Parameters
    ----------
    folder
        A model as sentence-transformers saves it.
    model
        What it is called, for the table of prefixes.
    dims, max_tokens, prompts
        See ``StOptions``.
    modules
        The steps of a model whose folder has no ``modules.json``.

    Raises
    ------
    ModelError
        If a file or field is missing or wrong, asks for code, or cannot be had as asked.
    UnsupportedArchitectureError
        If the model is of a kind that is not run; the message names what it asks for.
    """
    modules = _modules(folder) if modules is None else modules
    transformer = modules[0].folder
    config = modules[0].config
    reading_path = transformer / "sentence_bert_config.json"
    reading = require_plain_reading(reading_path)
    whole = read_object(folder / "config_sentence_transformers.json", missing_ok=True)
    _require_text_encoder(folder, whole)
    hidden = _hidden(transformer / "config.json", config)
    pooling, pooled = _pooling(modules[1], hidden)
    width = _width(modules, pooled)
    found = _prompts(folder, whole, [model, str(config.get("_name_or_path", ""))], prompts)
    if found.prefixes and modules[1].config.get("include_prompt", True) is not True:
        raise UnsupportedArchitectureError(
            f"{modules[1].folder / 'config.json'}: include_prompt is false; vectors are pooled "
            "over the whole text only, prefix included. prompts=none leaves the prefixes out"
        )
    return StLayout(
        folder=folder,
        modules=modules,
        pooling=pooling,
        normalize=modules[-1].kind == NORMALIZE,
        hidden=hidden,
        width=width,
        dims=_dims(folder, whole, dims, width),
        max_tokens=_window(transformer, config, reading, max_tokens),
        lowercase=_flag(reading_path, reading, "do_lower_case"),
        prompts=found,
    )


def _modules(folder: Path) -> tuple[Module, ...]:
    path = folder / "modules.json"
    if not is_file(path):
        raise ModelError(
            f"{path}: no such file, so nothing says how tokens become one vector. Save the model "
            "with SentenceTransformer(...).save(FOLDER) first, with the pooling it was made for"
        )
    listed = read_json(path)
    if not isinstance(listed, list) or not all(isinstance(entry, dict) for entry in listed):
        raise ModelError(f"{path}: expected a list of modules")
    found = []
    for number, entry in enumerate(listed):
        for field in ("type", "path"):
            if not isinstance(entry.get(field), str):
                raise ModelError(f"{path}: [{number}].{field}: expected a string")
        kind = _kind(entry["type"], path)
        place = inside(folder, entry["path"])
        found.append(Module(kind, place, _config(kind, place)))
    kinds = [module.kind for module in found]
    if kinds[:2] != [TRANSFORMER, POOLING] or set(kinds[2:]) & {TRANSFORMER, POOLING}:
        raise UnsupportedArchitectureError(
            f"{path}: the modules are {', '.join(kinds) or 'none'}; wanted are Transformer, "
            f"Pooling and then any of {', '.join(MODULES[2:])}"
        )
    return tuple(found)


def _kind(name: str, path: Path) -> str:
    """Return the class of a module; a name that leads out of the library would be imported."""
    package, _, kind = name.rpartition(".")
    parts = package.split(".")
    if parts[0] != "sentence_transformers" or not all(part.isidentifier() for part in parts):
        raise ModelError(
            f"{path}: module {name!r} is not of the sentence-transformers library; code of a "
            "model's own is not run"
        )
    if kind not in MODULES:
        raise UnsupportedArchitectureError(
            f"{path}: module {name!r} is not one that is run ({', '.join(MODULES)})"
        )
    return kind


def _config(kind: str, folder: Path) -> dict[str, Any]:
    """Return a module's configuration once it asks for nothing it may not have."""
    if kind == TRANSFORMER:
        return require_plain_transformer(folder)
    path = folder / "config.json"
    raw = read_object(path, missing_ok=kind in (NORMALIZE, "Dropout"))
    if kind == DENSE:
        require_activation(path, raw)
    for field in ("module_input_name", "module_output_name"):
        if raw.get(field, "sentence_embedding") not in ("sentence_embedding", None):
            raise UnsupportedArchitectureError(
                f"{path}: {field} is {raw[field]!r}; only steps on the text's vector, "
                "sentence_embedding, are run"
            )
    return raw


def _require_text_encoder(folder: Path, whole: dict[str, Any]) -> None:
    kind = whole.get("model_type", "SentenceTransformer")
    if kind != "SentenceTransformer":
        raise UnsupportedArchitectureError(
            f"{folder / 'config_sentence_transformers.json'}: model_type {kind!r} makes no "
            "dense vectors of texts (SentenceTransformer does)"
        )


def _hidden(path: Path, config: dict[str, Any]) -> int:
    text = config.get("text_config")
    for source in (config, text if isinstance(text, dict) else {}):
        for field in ("hidden_size", "d_model", "dim", "n_embd"):
            if field in source:
                return _count(path, field, source[field])
    raise ModelError(f"{path}: hidden_size: missing")


def _pooling(module: Module, hidden: int) -> tuple[str, int]:
    """Return the way of pooling, several joined by a plus, and the width it gives."""
    path = module.folder / "config.json"
    if "pooling_mode" in module.config:
        given = module.config["pooling_mode"]
        modes = [given] if isinstance(given, str) else given
    else:
        modes = [mode for key, mode in _POOLING_KEYS.items() if module.config.get(key)]
    known = list(_POOLING_KEYS.values())
    if not isinstance(modes, list) or not modes or any(mode not in known for mode in modes):
        raise UnsupportedArchitectureError(
            f"{path}: pooling {modes!r} is not known ({', '.join(known)})"
        )
    for field in ("word_embedding_dimension", "embedding_dimension"):
        if module.config.get(field, hidden) != hidden:
            raise ModelError(
                f"{path}: {field} is {module.config[field]!r}, but the transformer's hidden size "
                f"is {hidden}"
            )
    return "+".join(modes), len(modes) * hidden


def _width(modules: tuple[Module, ...], pooled: int) -> int:
    width = pooled
    for module in modules:
        if module.kind == DENSE:
            path = module.folder / "config.json"
            if module.config.get("in_features") != width:
                raise ModelError(
                    f"{path}: in_features is {module.config.get('in_features')!r}, but vectors "
                    f"of width {width} come in"
                )
            width = _count(path, "out_features", module.config.get("out_features"))
    return width


def _dims(folder: Path, whole: dict[str, Any], asked: int | None, width: int) -> int:
    own = whole.get("truncate_dim")
    if asked is None:
        if own is None:
            return width
        asked = _count(folder / "config_sentence_transformers.json", "truncate_dim", own)
    if asked > width:
        raise ModelError(
            f"{folder}: {asked} dims were asked for, but its vectors have {width}; dims keeps "
            "the first numbers of a vector"
        )
    return asked


def _window(
    transformer: Path, config: dict[str, Any], reading: dict[str, Any], asked: int | None
) -> int:
    """Return the longest window, special tokens included, as sentence-transformers finds it."""
    path = transformer / "config.json"
    positions = config.get("max_position_embeddings")
    if positions is None and isinstance(config.get("text_config"), dict):
        positions = config["text_config"].get("max_position_embeddings")
    if positions == -1:  # how some architectures say that any length will do
        positions = None
    if positions is not None:
        positions = _count(path, "max_position_embeddings", positions)
        if config.get("model_type") in _AFTER_PADDING:
            # Positions of mpnet begin after 1, whatever its config says of padding.
            padding = 1 if config.get("model_type") == "mpnet" else config.get("pad_token_id", 1)
            positions -= (padding if isinstance(padding, int) else 1) + 1
    longest = reading.get("max_seq_length")
    path = transformer / "sentence_bert_config.json"
    if longest is None:
        tokenizer = read_object(transformer / "tokenizer_config.json", missing_ok=True)
        own = tokenizer.get("model_max_length")
        limits = [int(limit) for limit in (own, positions) if _is_limit(limit)]
        if not limits:
            raise ModelError(
                f"{path}: max_seq_length: missing, and nothing else says how long a text the "
                "model reads. Write it there, with the number its card names"
            )
        longest = min(limits)
    longest = _count(path, "max_seq_length", longest)
    if positions is not None and longest > positions:
        raise ModelError(
            f"{path}: max_seq_length {longest} is more than the {positions} positions the model "
            "has"
        )
    if asked is not None and asked > longest:
        raise ModelError(
            f"{transformer}: a window of {asked} tokens was asked for, but the model reads at "
            f"most {longest}"
        )
    window = longest if asked is None else asked
    if window < _LEAST_WINDOW:
        raise ModelError(f"{path}: a window of {window} tokens has no room for a text")
    return window


def _prompts(folder: Path, whole: dict[str, Any], names: list[str], policy: str) -> Prompts:
    path = folder / "config_sentence_transformers.json"
    given = whole.get("prompts") or {}
    if not isinstance(given, dict):
        raise ModelError(f"{path}: prompts: expected an object")
    given = {name: text for name, text in given.items() if text is not None}
    if not all(isinstance(text, str) for text in given.values()):
        raise ModelError(f"{path}: prompts: expected an object of strings")
    for name, text in given.items():
        if not is_whole_text(text):
            raise ModelError(
                f"{path}: prompts: {name!r:.40}: holds half of a surrogate pair, which is not a "
                "character"
            )
    default = whole.get("default_prompt_name")
    if default is not None and not isinstance(default, str):
        raise ModelError(f"{path}: default_prompt_name: expected a string")
    try:
        return find_prompts(given, default, names, policy)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from error


def _is_limit(value: object) -> TypeGuard[int | float]:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and -_ENDLESS < value < _ENDLESS
    )


def _count(path: Path, field: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ModelError(f"{path}: {field}: expected a whole number from 1, got {value!r}")
    return value


def _flag(path: Path, raw: dict[str, Any], field: str) -> bool:
    value = raw.get(field) or False
    if not isinstance(value, bool):
        raise ModelError(f"{path}: {field}: expected true or false")
    return value

"""What a model folder in sentence-transformers layout says of itself.

Only JSON files are read here: ``modules.json`` and the configurations it leads to. The result is
one frozen record that holds everything the graph and the card need. A folder that asks for
something the compiler cannot do is refused, by the name of what it asks for.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import msgspec

from closecall.errors import ModelError, UnsupportedArchitectureError
from closecall.models.cards import TOKENIZER_FILE
from closecall.models.config_files import read_json, read_object
from closecall.models.encoder_config import BertConfig, read_config
from closecall.records import Role, is_whole_text
from closecall.there import is_dir, is_file, resolved

_POOLING_KEYS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """A model folder, read.

    ``transformer`` is the folder with the weights. ``pooling`` is ``mean`` or ``cls``.
    ``prefixes`` maps a role to the text put before it. ``max_tokens`` counts special tokens.
    """

    folder: Path
    transformer: Path
    config: BertConfig
    pooling: str
    normalize: bool
    max_tokens: int
    lowercase: bool
    prefixes: dict[str, str]


def read_layout(folder: Path) -> Layout:
    """Read a sentence-transformers folder.

    Raises
    ------
    ModelError
        If a file or a field is missing or wrong; the message names it.
    UnsupportedArchitectureError
        If the folder asks for something the compiler does not know; the message names it.
    """
    if not is_dir(folder):
        raise ModelError(f"{folder}: no such folder")
    paths = _modules(folder)
    transformer = inside(folder, paths["Transformer"])
    _require_tokenizer(transformer)
    config = read_config(transformer / "config.json")
    window, lowercase = _window(transformer, config)
    prefixes = _prefixes(folder / "config_sentence_transformers.json")
    pooling_file = inside(folder, paths["Pooling"]) / "config.json"
    normalize = "Normalize" in paths
    if normalize:
        _require_plain_normalize(inside(folder, paths["Normalize"]) / "config.json")
    return Layout(
        folder=folder,
        transformer=transformer,
        config=config,
        pooling=_pooling(pooling_file, config.hidden_size, with_prefixes=bool(prefixes)),
        normalize=normalize,
        max_tokens=window,
        lowercase=lowercase,
        prefixes=prefixes,
    )


def _modules(folder: Path) -> dict[str, str]:
    """Return the path of each module by its kind: Transformer, Pooling and maybe Normalize."""
    path = folder / "modules.json"
    if not is_file(path):
        raise ModelError(
            f"{path}: no such file; a model in sentence-transformers layout has one. "
            "Save the model with SentenceTransformer(...).save(FOLDER) first"
        )
    modules = read_json(path)
    if not isinstance(modules, list) or not all(isinstance(m, dict) for m in modules):
        raise ModelError(f"{path}: expected a list of modules")
    kinds: list[str] = []
    paths: list[str] = []
    for number, module in enumerate(modules):
        for field in ("type", "path"):
            if not isinstance(module.get(field), str):
                raise ModelError(f"{path}: [{number}].{field}: expected a string")
        kinds.append(_module_kind(module["type"], path))
        paths.append(module["path"])
    if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        raise UnsupportedArchitectureError(
            f"{path}: the modules are {', '.join(kinds) or 'none'}; the compiler knows "
            "Transformer, Pooling and then perhaps Normalize"
        )
    return dict(zip(kinds, paths, strict=True))


def _module_kind(name: str, path: Path) -> str:
    package, _, kind = name.rpartition(".")
    if package.split(".")[0] != "sentence_transformers" or kind not in (
        "Transformer",
        "Pooling",
        "Normalize",
    ):
        raise UnsupportedArchitectureError(
            f"{path}: module {name!r} is not one the compiler knows "
            "(sentence_transformers' Transformer, Pooling, Normalize)"
        )
    return kind


def inside(folder: Path, relative: str) -> Path:
    """Return the module's folder, or refuse a path that leads out of the model's folder."""
    parts = PurePosixPath(relative.replace("\\", "/"))
    try:
        root = folder.resolve()
        target = resolved(root / parts)
        is_dir(target)
    # A ring of links, a name too long, a NUL, half a character.
    except (OSError, RuntimeError, ValueError) as error:
        raise ModelError(
            f"{folder / 'modules.json'}: path {relative!r:.80} cannot be one: {error!s:.80}"
        ) from error
    if parts.is_absolute() or ".." in parts.parts or not target.is_relative_to(root):
        raise ModelError(
            f"{folder / 'modules.json'}: path {relative!r:.80} leads out of the model's folder"
        )
    return folder / parts


def _require_plain_normalize(path: Path) -> None:
    """Refuse a module that brings something else than the pooled vector to length 1."""
    raw = read_object(path) if is_file(path) else {}
    for field in ("module_input_name", "module_output_name"):
        if raw.get(field, "sentence_embedding") != "sentence_embedding":
            raise UnsupportedArchitectureError(
                f"{path}: {field} is {raw[field]!r}; the compiler knows sentence_embedding only"
            )


def _require_tokenizer(folder: Path) -> None:
    if not is_file(folder / TOKENIZER_FILE):
        raise ModelError(
            f"{folder / TOKENIZER_FILE}: no such file; the tokenizer is wanted in the format of "
            "the tokenizers library. Save it with AutoTokenizer.from_pretrained(FOLDER)"
            ".save_pretrained(FOLDER)"
        )


def _window(transformer: Path, config: BertConfig) -> tuple[int, bool]:
    """Return the longest window, special tokens included, and whether texts are lower-cased."""
    path = transformer / "sentence_bert_config.json"
    raw = read_object(path) if is_file(path) else {}
    task = raw.get("transformer_task", "feature-extraction")
    if task != "feature-extraction":
        raise UnsupportedArchitectureError(
            f"{path}: transformer_task {task!r} is not one the compiler knows (feature-extraction)"
        )
    lowercase = raw.get("do_lower_case") or False
    if not isinstance(lowercase, bool):
        raise ModelError(f"{path}: do_lower_case: expected true or false")
    longest = raw.get("max_seq_length")
    if longest is None:
        # What sentence-transformers does: the smaller of what the model and tokenizer allow.
        path = transformer / "tokenizer_config.json"
        tokenizer = read_object(path) if is_file(path) else {}
        allowed = tokenizer.get("model_max_length", config.positions)
        # Libraries write a number beyond all bounds for none; the others are none at all.
        if isinstance(allowed, bool) or not isinstance(allowed, int | float) or not allowed >= 0:
            raise ModelError(
                f"{path}: model_max_length: expected a number from 0, got {allowed!r:.40}"
            )
        longest = int(min(allowed, config.positions))
    # Three: two special tokens and one of the text.
    if isinstance(longest, bool) or not isinstance(longest, int) or longest < 3:  # noqa: PLR2004
        raise ModelError(f"{path}: max_seq_length: expected a number from 3, got {longest!r}")
    if longest > config.positions:
        raise ModelError(
            f"{path}: max_seq_length {longest} is more than the {config.positions} tokens the "
            f"model's max_position_embeddings of {config.max_position_embeddings} can number"
        )
    return longest, lowercase


def _pooling(path: Path, width: int, *, with_prefixes: bool) -> str:
    raw = read_object(path)
    if "pooling_mode" in raw:
        given = raw["pooling_mode"]
        modes = [given] if isinstance(given, str) else given
    else:
        modes = [mode for key, mode in _POOLING_KEYS.items() if raw.get(key)]
    if modes not in (["mean"], ["cls"]):
        shown = "+".join(map(str, modes)) if isinstance(modes, list) else repr(modes)
        raise UnsupportedArchitectureError(
            f"{path}: pooling {shown or 'none'!r} is not one the compiler knows (mean, cls)"
        )
    if with_prefixes and raw.get("include_prompt", True) is not True:
        raise UnsupportedArchitectureError(
            f"{path}: include_prompt is false; the compiler knows pooling over the whole text "
            "only, prefix included"
        )
    declared = raw.get("word_embedding_dimension", raw.get("embedding_dimension", width))
    if declared != width:
        raise ModelError(
            f"{path}: word_embedding_dimension is {declared!r} but hidden_size is {width}"
        )
    return str(modes[0])


def _prefixes(path: Path) -> dict[str, str]:
    """Return the prefix of each role, by the names sentence-transformers gives prompts.

    The default prompt is for texts that are neither query nor document. An empty prompt counts
    as none: saved models carry empty ``query`` and ``document`` entries that say nothing, and
    these must not hide a ``passage``.
    """
    raw = read_object(path) if is_file(path) else {}
    prompts = raw.get("prompts") or {}
    if not isinstance(prompts, dict) or not all(isinstance(p, str) for p in prompts.values()):
        raise ModelError(f"{path}: prompts: expected an object of strings")
    for name, text in prompts.items():
        if not is_whole_text(text):
            raise ModelError(
                f"{path}: prompts: {name!r:.40}: holds half of a surrogate pair, which is not a "
                "character"
            )
    default = raw.get("default_prompt_name")
    if default is not None and not isinstance(default, str):
        raise ModelError(f"{path}: default_prompt_name: expected a string, got {default!r:.40}")
    if default is not None and default not in prompts:
        raise ModelError(f"{path}: default_prompt_name: {default!r} is not among the prompts")
    names = {
        Role.QUERY: ("query",),
        Role.DOCUMENT: ("document", "passage", "corpus"),
        Role.TEXT: () if default is None else (default,),
    }
    prefixes = {}
    for role, wanted in names.items():
        found = next((prompts[name] for name in wanted if prompts.get(name)), "")
        if found:
            prefixes[role.value] = found
    return prefixes

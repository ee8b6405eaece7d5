"""What a folder with a sequence-classification model of text pairs says of itself.

Two layouts: an ONNX graph (``model.onnx`` or ``onnx/model.onnx``) and, where there is none, the
weights of a transformers model in ``model.safetensors``. Beside either stand ``config.json`` and
``tokenizer.json``. Only JSON is read here, and every file that can change a score is hashed.
Nothing of the folder is ever run as code: pickled weights and models with code of their own are
refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from closecall.errors import ModelError, UnsupportedArchitectureError
from closecall.models.cards import CARD_FILE, TOKENIZER_FILE, ModelFile
from closecall.models.config_files import read_json, read_object, read_or_empty
from closecall.models.hashing import hash_file
from closecall.models.pair_labels import read_names
from closecall.models.pair_window import pair_window
from closecall.there import is_dir, is_file

ONNX, TORCH = "onnx", "torch"

SOFTMAX, SIGMOID, RAW = "softmax", "sigmoid", "raw"
"""What becomes of the outputs: shares of one, a share of its own, or the number as it is."""

GRAPHS = ("model.onnx", "onnx/model.onnx")
WEIGHTS = "model.safetensors"
CONFIG = "config.json"

_ATTENTION = ("eager", "sdpa")

_ACTIVATIONS = {"Sigmoid": SIGMOID, "Identity": RAW, "Softmax": SOFTMAX}


class PairFolder(msgspec.Struct, frozen=True, kw_only=True):
    """A pair model's folder, read.

    ``kind`` is ``onnx`` or ``torch``; ``weights`` the file with the weights. ``labels`` are the
    names of the outputs in order, a single one empty; ``activation`` is ``softmax``,
    ``sigmoid`` or ``raw``. ``window`` counts the tokens of a pair, special tokens included.
    ``files`` are those a score depends on: the weights, tokenizer.json and config.json.
    """

    folder: Path
    kind: str
    weights: Path
    labels: tuple[str, ...]
    activation: str
    window: int
    files: tuple[ModelFile, ...]

    def file(self, path: Path) -> ModelFile:
        """Return what was hashed of one of the files."""
        return next(entry for entry in self.files if entry.name == path.name)

    @property
    def config(self) -> Path:
        """Path of the configuration."""
        return self.folder / CONFIG

    @property
    def tokenizer(self) -> Path:
        """Path of the tokenizer."""
        return self.folder / TOKENIZER_FILE


def read_pair_folder(folder: Path) -> PairFolder:
    """Read and hash a pair model's folder; about a second for each GB of weights.

    Raises
    ------
    ModelError
        If a file or a field is missing or wrong, or labels have no clear order.
    UnsupportedArchitectureError
        If the folder asks for something that cannot be run here; the message names it.
    """
    try:
        there = is_dir(folder)
    except OSError as error:
        raise ModelError(f"{folder}: cannot be read: {error.strerror or error}") from error
    if not there:
        raise ModelError(f"{folder}: no such folder")
    if is_file(folder / CARD_FILE):
        raise ModelError(
            f"{folder}: this model embeds single texts, as 'closecall models add' makes them; a "
            "pair model reads two at once"
        )
    kind, weights = _weights(folder)
    path = folder / CONFIG
    config = read_object(path)
    _require_no_code(config, path)
    extra = read_or_empty(folder / "config_sentence_transformers.json")
    module = read_or_empty(folder / "sentence_bert_config.json")
    _require_plain(folder, extra, module)
    if kind == TORCH:
        _require_torch(folder, config, path)
        _require_no_settings(folder, config, module)
    tokenizer = folder / TOKENIZER_FILE
    if not is_file(tokenizer):
        raise ModelError(
            f"{tokenizer}: no such file; the tokenizer is wanted in the format of the tokenizers "
            "library. Save it with AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)"
        )
    labels = read_names(config, path)
    return PairFolder(
        folder=folder,
        kind=kind,
        weights=weights,
        labels=labels,
        activation=_activation(len(labels), config, extra, path),
        window=pair_window(folder, config, module),
        files=tuple(hash_file(one) for one in (weights, tokenizer, path)),
    )


def _weights(folder: Path) -> tuple[str, Path]:
    root = folder.resolve()
    for kind, names in ((ONNX, GRAPHS), (TORCH, (WEIGHTS,))):
        for name in names:
            path = folder / name
            if is_file(path):
                # A link inside the folder may point to a store of downloads beside it; the hash
                # is of what it points to. A folder that is a link may not.
                if name.startswith("onnx/") and not (folder / "onnx").resolve().is_relative_to(
                    root
                ):
                    raise ModelError(f"{folder / 'onnx'}: leads out of the model's folder")
                return kind, path
    if is_file(folder / f"{WEIGHTS}.index.json"):
        raise UnsupportedArchitectureError(
            f"{folder}: the weights are in several files; save them as one {WEIGHTS}: "
            "model.save_pretrained(FOLDER, max_shard_size='100GB')"
        )
    if is_file(folder / "pytorch_model.bin"):
        raise UnsupportedArchitectureError(
            f"{folder / 'pytorch_model.bin'}: pickled weights can run any code when they are "
            f"read, so they are not. Save the model with {WEIGHTS} instead: "
            "model.save_pretrained(FOLDER)"
        )
    raise ModelError(
        f"{folder}: holds no model; expected {', '.join(GRAPHS)} or {WEIGHTS}, beside "
        f"{CONFIG} and {TOKENIZER_FILE}"
    )


def _require_no_code(config: dict[str, Any], path: Path) -> None:
    if config.get("auto_map"):
        raise UnsupportedArchitectureError(
            f"{path}: auto_map: the model brings code of its own, which is never run. Export it "
            "to ONNX where you trust that code, and name that folder"
        )
    kind = config.get("problem_type")
    if kind == "multi_label_classification":
        raise UnsupportedArchitectureError(
            f"{path}: problem_type {kind!r}: its labels do not exclude each other; a pair model "
            "gives one score or one label of several"
        )


def _require_torch(folder: Path, config: dict[str, Any], path: Path) -> None:
    """Refuse weights without the layer that makes scores: libraries would fill it at random."""
    found = config.get("architectures")
    names = found if isinstance(found, list) and found else [None]
    if not str(names[0]).endswith("ForSequenceClassification"):
        raise UnsupportedArchitectureError(
            f"{path}: architectures {found!r}: expected a ...ForSequenceClassification; another "
            "model has no layer that scores pairs"
        )
    if is_file(folder / "adapter_config.json"):
        raise UnsupportedArchitectureError(
            f"{folder / 'adapter_config.json'}: an adapter changes the weights; merge it and "
            "save the whole model"
        )


def _require_no_settings(folder: Path, config: dict[str, Any], module: dict[str, Any]) -> None:
    """Refuse settings of the library that loads the weights: some fetch code to run them with."""
    for name in ("attn_implementation", "_attn_implementation", "_attn_implementation_internal"):
        value = config.get(name)
        if value is not None and value not in _ATTENTION:
            raise UnsupportedArchitectureError(
                f"{folder / CONFIG}: {name} {value!r}: expected {' or '.join(_ATTENTION)}"
            )
    path = folder / "sentence_bert_config.json"
    for name, value in module.items():
        if value and name.endswith(("_args", "_kwargs")):
            raise UnsupportedArchitectureError(f"{path}: {name}: loading options are not taken")


def _require_plain(folder: Path, extra: dict[str, Any], module: dict[str, Any]) -> None:
    """Refuse a folder in sentence-transformers layout that does more than classify a pair."""
    path = folder / "modules.json"
    if is_file(path):
        modules = read_json(path)
        kinds = [
            str(one.get("type", "")).rpartition(".")[2] if isinstance(one, dict) else "?"
            for one in (modules if isinstance(modules, list) else [None])
        ]
        if kinds != ["Transformer"] or modules[0].get("path"):
            raise UnsupportedArchitectureError(
                f"{path}: the modules are {', '.join(kinds)}; a pair model has one Transformer, "
                "in the folder itself. For a model that embeds single texts, type "
                f"'closecall models add {folder}'"
            )
    task = module.get("transformer_task", "sequence-classification")
    if task != "sequence-classification":
        raise UnsupportedArchitectureError(
            f"{folder / 'sentence_bert_config.json'}: transformer_task {task!r}; a pair model "
            "has sequence-classification"
        )
    if module.get("do_lower_case"):
        raise UnsupportedArchitectureError(
            f"{folder / 'sentence_bert_config.json'}: do_lower_case: a pair model's tokenizer "
            "does that itself"
        )
    prompts = extra.get("prompts")
    name = extra.get("default_prompt_name")
    if name is not None and not isinstance(name, str):
        raise ModelError(
            f"{folder / 'config_sentence_transformers.json'}: default_prompt_name: expected a "
            f"string, got {name!r:.40}"
        )
    if isinstance(prompts, dict) and prompts.get(name):
        raise UnsupportedArchitectureError(
            f"{folder / 'config_sentence_transformers.json'}: default_prompt_name {name!r}: "
            "texts before each pair are not supported"
        )


def _activation(count: int, config: dict[str, Any], extra: dict[str, Any], path: Path) -> str:
    """Return what the folder says becomes of the outputs, by the three places it may say so."""
    inner = config.get("sentence_transformers")
    said = extra.get("activation_fn")
    if said is None and isinstance(inner, dict):
        said = inner.get("activation_fn")
    if said is None:
        said = config.get("sbert_ce_default_activation_function")
    if said is None:
        return SIGMOID if count == 1 else SOFTMAX
    found = _ACTIVATIONS.get(str(said).rpartition(".")[2])
    # Several outputs left as they are become shares here, as a classifier's are.
    if count > 1 and found in (RAW, SOFTMAX):
        return SOFTMAX
    if count == 1 and found in (RAW, SIGMOID):
        return found
    raise UnsupportedArchitectureError(
        f"{path}: activation {said!r} on {count} outputs is not one that can be applied here "
        "(Sigmoid or Identity on one, Identity or Softmax on several)"
    )

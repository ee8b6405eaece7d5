"""What a model's folder may not ask for: code, pickles, adapters, things from elsewhere.

The libraries that load a model follow what its configuration says: they import the classes it
names, run the code it carries, and look up what it points to. So everything in it that could
lead there is refused by name before any of them sees the folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from closecall.embedders.st.files import read_object
from closecall.errors import ModelError, UnsupportedArchitectureError
from closecall.there import is_file

_CODE = "auto_map"
_ATTENTION = ("attn_implementation", "_attn_implementation", "experts_implementation")
_PLAIN_ATTENTION = (None, "eager", "sdpa")
_ELSEWHERE = ("quantization_config", "compression_config")

# What sentence_bert_config.json may pass on to the loading library.
_PASSED_ON = (
    "model_args", "model_kwargs", "tokenizer_args", "processor_kwargs", "config_args",
    "config_kwargs",
)  # fmt: skip
_HARMLESS = (
    "torch_dtype", "dtype", "padding_side", "model_max_length", "use_cache", "add_pooling_layer",
    *_ATTENTION,
)  # fmt: skip
_KNOWN = (
    "max_seq_length", "do_lower_case", "transformer_task", "modality_config",
    "module_output_name", "unpad_inputs", *_PASSED_ON,
)  # fmt: skip
_TEXT_ONLY = {"method": "forward", "method_output_name": "last_hidden_state"}

ACTIVATIONS = "torch.nn.modules."
"""Where the activation of a dense layer may come from."""


def require_plain_transformer(folder: Path) -> dict[str, Any]:
    """Return ``config.json`` of a transformer's folder that asks for nothing but arithmetic.

    Raises
    ------
    ModelError
        If a configuration names code, another attention or an adapter; the message names the
        file and the field.
    UnsupportedArchitectureError
        If it asks for something else than the hidden states of texts.
    """
    config = read_object(folder / "config.json")
    beside = ("tokenizer_config.json", "processor_config.json", "preprocessor_config.json")
    for name in ("config.json", *beside):
        path = folder / name
        for field, _ in _fields(read_object(path, missing_ok=True), _CODE):
            raise ModelError(
                f"{path}: {field} names Python code of the model's own. closecall runs no code "
                "of a model; use one whose architecture the transformers library has itself"
            )
    path = folder / "config.json"
    for field in _ATTENTION:
        for where, value in _fields(config, field):
            _require_attention(path, where, value)
    for field in _ELSEWHERE:
        if config.get(field):
            raise UnsupportedArchitectureError(
                f"{path}: {field}: quantised weights are not run; use the model they came from"
            )
    if is_file(folder / "adapter_config.json"):
        raise UnsupportedArchitectureError(
            f"{folder / 'adapter_config.json'}: an adapter on top of another model; merge it "
            "into that model (merge_and_unload) and save the whole"
        )
    return config


def require_plain_reading(path: Path) -> dict[str, Any]:
    """Return ``sentence_bert_config.json``, empty if there is none, if it asks for plain texts.

    Raises
    ------
    ModelError
        If it passes on something that is not known to be harmless.
    UnsupportedArchitectureError
        If texts are to be read in another way than as tokens of the text.
    """
    raw = read_object(path, missing_ok=True)
    for field, value in raw.items():
        if field not in _KNOWN and value not in (None, False, {}, [], ""):
            raise UnsupportedArchitectureError(
                f"{path}: {field} is not a setting closecall knows ({', '.join(_KNOWN)})"
            )
    for group in _PASSED_ON:
        passed = raw.get(group) or {}
        if not isinstance(passed, dict):
            raise ModelError(f"{path}: {group}: expected an object")
        for field, value in passed.items():
            if field in _ATTENTION:
                _require_attention(path, f"{group}.{field}", value)
            elif field not in _HARMLESS:
                raise ModelError(
                    f"{path}: {group}.{field} would be passed to the library that loads the "
                    f"model; allowed are {', '.join(_HARMLESS)}"
                )
    task = raw.get("transformer_task", "feature-extraction")
    if task != "feature-extraction":
        raise UnsupportedArchitectureError(
            f"{path}: transformer_task {task!r} makes no hidden states (feature-extraction does)"
        )
    _require_text_only(path, raw)
    return raw


def require_activation(path: Path, raw: Mapping[str, Any]) -> None:
    """Refuse a dense layer whose activation is not one of torch itself.

    Raises
    ------
    ModelError
        If it names a class from elsewhere, which would be imported.
    """
    name = raw.get("activation_function", f"{ACTIVATIONS}activation.Tanh")
    parts = name.split(".") if isinstance(name, str) else []
    if not (
        isinstance(name, str)
        and name.startswith(ACTIVATIONS)
        and parts[3] in ("activation", "linear")
        and len(parts) == 5  # noqa: PLR2004 - torch.nn.modules.FILE.CLASS
        and parts[4].isidentifier()
    ):
        raise ModelError(
            f"{path}: activation_function {name!r} is not a class of {ACTIVATIONS}activation, "
            "and classes from elsewhere are not imported"
        )


def _require_text_only(path: Path, raw: Mapping[str, Any]) -> None:
    modes = raw.get("modality_config", {"text": _TEXT_ONLY})
    plain = isinstance(modes, dict) and modes.get("text") == _TEXT_ONLY and "message" not in modes
    if not plain or raw.get("module_output_name", "token_embeddings") != "token_embeddings":
        raise UnsupportedArchitectureError(
            f"{path}: modality_config: texts must go through the model's forward and come out as "
            "token_embeddings; models that read texts as chat messages are not run"
        )


def _require_attention(path: Path, field: str, value: object) -> None:
    if value not in _PLAIN_ATTENTION:
        raise ModelError(
            f"{path}: {field} is {value!r}: kernels from elsewhere are not loaded (eager and "
            "sdpa are there)"
        )


def _fields(value: object, wanted: str, at: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield where a field of that name stands, however deep, and its value."""
    if depth > 20:  # noqa: PLR2004 - no configuration is; what is deeper no library looks into
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == wanted:
                yield f"{at}{key}", inner
            yield from _fields(inner, wanted, f"{at}{key}.", depth + 1)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _fields(inner, wanted, f"{at}{number}.", depth + 1)

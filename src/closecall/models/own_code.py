"""Whether a model's configuration asks for Python code of the model's own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from closecall.errors import ModelError, UnsupportedArchitectureError
from closecall.plain import read_plain
from closecall.there import is_file

_CONFIGURATIONS = (
    "config.json", "tokenizer_config.json", "processor_config.json", "preprocessor_config.json",
)  # fmt: skip
_FIELD = "auto_map"
_LIBRARY = "sentence_transformers."
_DEPTH = 20
_MOST_BYTES = 100_000_000


def refuse_own_code(folder: Path) -> None:
    """Refuse a folder whose configuration names code that would be run.

    Raises
    ------
    UnsupportedArchitectureError
        If it does; the message names the file and the field.
    ModelError
        If a configuration cannot be read.
    """
    for name in _CONFIGURATIONS:
        path = folder / name
        if is_file(path) and _FIELD in set(_names(_read(path))):
            raise UnsupportedArchitectureError(
                f"{name}: {_FIELD} names Python code of the model's own, which closecall never "
                "runs. Use a model whose architecture the transformers library has itself"
            )
    path = folder / "modules.json"
    modules = _read(path) if is_file(path) else []
    for module in modules if isinstance(modules, list) else []:
        kind = module.get("type") if isinstance(module, dict) else None
        if isinstance(kind, str) and not kind.startswith(_LIBRARY):
            raise UnsupportedArchitectureError(
                f"modules.json: {kind[:80]!r} is a class of the model's own, which closecall "
                "never runs"
            )


def _names(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield every field's name, however deep within reason."""
    if depth > _DEPTH:
        return
    if isinstance(value, dict):
        for name, inner in value.items():
            if inner:
                yield name
            yield from _names(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            yield from _names(inner, depth + 1)


def _read(path: Path) -> Any:
    try:
        return json.loads(read_plain(path, _MOST_BYTES).decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path}: cannot be read as JSON: {error}") from error

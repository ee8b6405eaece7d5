"""The folder behind ``model=``, and the spelling by which a run finds it again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from closecall.errors import ModelError, UsageError
from closecall.models.cards import is_model_name
from closecall.models.store import store_folder
from closecall.there import is_dir

_APART = ":,"
"""What parts a metric's options, and one metric from the next."""


class Named(NamedTuple):
    """A model's folder, and what stands in the metric's id: a name, or an absolute path."""

    folder: Path
    name: str


def named_folder(metric: str, model: object) -> Named:
    """Return the folder a person means.

    A plain name is a folder among one's own models (``CLOSECALL_MODELS_DIR``), the same on every
    machine; anything with a separator is a path.

    Raises
    ------
    UsageError
        Nothing is named, or the path could not be read back from the metric's id.
    ModelError
        There is no folder of that name among the models.
    """
    if isinstance(model, os.PathLike):
        model = os.fspath(model)
    if not isinstance(model, str) or not model.strip():
        raise UsageError(
            f"{metric}: which model? Name its folder, as in {metric}:model=./my-model, or a "
            f"folder in {_store()} by its name alone; got {model!r}"
        )
    if is_model_name(model):
        return Named(_in_store(metric, model), model)
    path = os.path.abspath(os.path.expanduser(model))  # noqa: PTH100, PTH111 - keeps links
    if any(sign in path for sign in _APART) or not path.isprintable() or path != path.strip():
        raise UsageError(
            f"{metric}: the path {path!r} cannot stand in a metric's name, where ':' and ',' "
            f"part one thing from the next. Move or link the folder into {_store()} and give "
            f"its name: {metric}:model=NAME"
        )
    return Named(Path(path), path)


def _in_store(metric: str, name: str) -> Path:
    folder = store_folder() / name
    if not is_dir(folder):
        here = f". For the folder here write {metric}:model=./{name}" if is_dir(Path(name)) else ""
        raise ModelError(f"{metric}: no folder {name} in {_store()}{here}")
    return folder


def _store() -> str:
    try:
        return str(store_folder())
    except ModelError:
        return "the folder named in CLOSECALL_MODELS_DIR"

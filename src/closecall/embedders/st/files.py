"""JSON files of a model's folder, read as what they are: somebody else's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from closecall.errors import ModelError
from closecall.plain import read_plain
from closecall.there import is_file

MOST_BYTES = 8_000_000
"""Configurations are a few thousand bytes; a larger one is not read."""


def read_json(path: Path) -> Any:
    """Return what a JSON file holds.

    Raises
    ------
    ModelError
        If it is missing, too large or not JSON.
    """
    try:
        return json.loads(read_plain(path, MOST_BYTES).decode("utf-8-sig"))
    except FileNotFoundError:
        raise ModelError(f"{path}: no such file") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path}: cannot be read as JSON: {error}") from error


def read_object(path: Path, *, missing_ok: bool = False) -> dict[str, Any]:
    """Return the object a JSON file holds; an empty one if it may be missing and is.

    Raises
    ------
    ModelError
        If it is missing and must not be, cannot be read, or holds something else.
    """
    if missing_ok and not is_file(path):
        return {}
    value = read_json(path)
    if not isinstance(value, dict):
        raise ModelError(f"{path}: expected a JSON object")
    return value

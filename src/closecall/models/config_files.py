"""JSON files of a model's folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from closecall.errors import ModelError
from closecall.plain import read_plain
from closecall.there import is_file

MOST_BYTES = 8_000_000
"""Configurations are a few thousand bytes; a larger one is not read."""


def read_object(path: Path) -> dict[str, Any]:
    """Return the object in a file.

    Raises
    ------
    ModelError
        If it is missing, cannot be read, or holds something else.
    """
    value = read_json(path)
    if not isinstance(value, dict):
        raise ModelError(f"{path}: expected a JSON object")
    return value


def read_or_empty(path: Path) -> dict[str, Any]:
    """Return the object in a file, an empty one where there is no file.

    Raises
    ------
    ModelError
        If it cannot be read, or holds something else.
    """
    return read_object(path) if is_file(path) else {}


def read_json(path: Path) -> Any:
    """Return what a file holds.

    Raises
    ------
    ModelError
        If it is missing or cannot be read.
    """
    try:
        return json.loads(read_plain(path, MOST_BYTES).decode("utf-8-sig"))
    except FileNotFoundError:
        raise ModelError(f"{path}: no such file") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path}: cannot be read as JSON: {error}") from error

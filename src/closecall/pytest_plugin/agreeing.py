"""The cases of a file, the same in every worker of pytest-xdist.

Workers collect each for itself, and must come to the same tests. A file may change between their
looks at it; so the first to read it writes down what it read, for all others.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from closecall.datasets import open_dataset
from closecall.errors import DatasetError
from closecall.records import Case

_Found = tuple[Case, ...]


def agreed_cases(
    path: Path, mapping: Mapping[str, str], needed: frozenset[str], shared: Path | None
) -> _Found:
    """Return the cases of a file, as the first worker read them where they share a folder.

    Raises
    ------
    DatasetError
        The file cannot be read, with the place of each problem.
    """
    if shared is None:
        return _read(path, mapping, needed)
    facts = json.dumps([str(path), sorted(mapping.items()), sorted(needed)])
    place = shared / f"{hashlib.sha256(facts.encode()).hexdigest()}.json"
    written = _written(place)
    if written is None:
        written = _write(place, _attempt(path, mapping, needed))
    if "problem" in written:
        raise DatasetError(written["problem"])
    return tuple(msgspec.convert(written["cases"], list[Case]))


def _read(path: Path, mapping: Mapping[str, str], needed: frozenset[str]) -> _Found:
    dataset = open_dataset(path, mapping=mapping or None, needed=needed)
    dataset.scan()
    return tuple(dataset)


def _attempt(path: Path, mapping: Mapping[str, str], needed: frozenset[str]) -> dict[str, Any]:
    try:
        cases = _read(path, mapping, needed)
    except DatasetError as error:
        return {"problem": str(error)}
    return {"cases": msgspec.to_builtins(list(cases), enc_hook=str)}


def _written(place: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(place.read_text(encoding="ascii"))
    except FileNotFoundError:
        return None
    return found


def _write(place: Path, found: dict[str, Any]) -> dict[str, Any]:
    """Write it down whole, unless another worker was faster; return what is written."""
    handle, name = tempfile.mkstemp(dir=place.parent)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            json.dump(found, file)
        try:
            os.link(name, place)
        except FileExistsError:
            return _written(place) or found
        except OSError:  # a file system without links: the last one wins, before any is read
            Path(name).replace(place)
            return found
    finally:
        Path(name).unlink(missing_ok=True)
    return found

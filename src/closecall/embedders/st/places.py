"""Where a model lies: a folder, or the cache of the Hugging Face hub. Nothing is fetched."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from closecall.errors import MissingExtraError, ModelError, UsageError
from closecall.there import is_dir

# Where names without an organisation come from.
_ORGANISATION = "sentence-transformers"
_HUB_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)?")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_MARKERS = ("modules.json", "config.json")


class Place(NamedTuple):
    """A model's folder, what people call it, and the commit it is, empty where unknown."""

    folder: Path
    model: str
    revision: str


def find_place(name: str, revision: str = "") -> Place:
    """Return the folder of a model: the one named, or that of a cached model of the hub.

    The cache is the hub's own: ``HF_HUB_CACHE``, ``HF_HOME`` and, first of all,
    ``SENTENCE_TRANSFORMERS_HOME`` say where. It is only read.

    Parameters
    ----------
    name
        A folder, or a name like ``intfloat/e5-small-v2``; one without an organisation is taken
        for one of ``sentence-transformers``.
    revision
        Branch, tag or commit of a cached model; empty for ``main``.

    Raises
    ------
    UsageError
        If a revision is asked of a folder.
    ModelError
        If there is no such folder and no such model in the cache.
    MissingExtraError
        If the cache is needed and the library that knows it is not installed.
    """
    folder = Path(name).expanduser()
    try:
        there = is_dir(folder)
    except OSError as error:
        raise ModelError(f"{name}: cannot be read: {error.strerror or error}") from error
    if there:
        if revision:
            raise UsageError(f"{name} is a folder, which has no revisions; leave revision out")
        whole = folder.resolve()
        in_cache = whole.parent.name == "snapshots" and _COMMIT.fullmatch(whole.name)
        if not in_cache:
            return Place(folder, whole.name, "")
        return Place(folder, _cached_name(whole), whole.name)
    if not _HUB_NAME.fullmatch(name) or ".." in name:
        raise ModelError(f"{name}: no such folder")
    return _cached(name, revision)


def _cached(name: str, revision: str) -> Place:
    wanted = name if "/" in name else f"{_ORGANISATION}/{name}"
    try:
        from huggingface_hub import try_to_load_from_cache
    except ImportError as error:
        raise MissingExtraError(
            f"st:{name}", "torch", ["sentence-transformers", "torch"]
        ) from error

    cache = os.environ.get("SENTENCE_TRANSFORMERS_HOME") or None
    for marker in _MARKERS:
        try:
            found = try_to_load_from_cache(
                wanted, marker, cache_dir=cache, revision=revision or None
            )
        except (ValueError, OSError) as error:
            raise ModelError(f"{name}: cannot be looked up in the cache: {error}") from error
        if isinstance(found, str):
            folder = Path(found).parent
            return Place(folder, wanted, folder.name if _COMMIT.fullmatch(folder.name) else "")
    at = f" at revision {revision}" if revision else ""
    option = f" --revision {revision}" if revision else ""
    raise ModelError(
        f"{name}: no such folder, and no model {wanted}{at} in the hub's cache on this machine. "
        f"Nothing is downloaded here: fetch it with 'hf download {wanted}{option}' (in older "
        "versions huggingface-cli download), or copy its folder and name that after st:"
    )


def _cached_name(snapshot: Path) -> str:
    """Return a model's name from its folder in the cache: models--ORGANISATION--NAME."""
    parts = snapshot.parent.parent.name.split("--")
    return "/".join(parts[1:]) if parts[0] == "models" and len(parts) > 1 else parts[-1]

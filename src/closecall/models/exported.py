"""ONNX files that other tools wrote: which one of a folder, and everything it keeps elsewhere.

A graph and the files it names are read whole and hashed as read, so the identity says what made
a vector. Names that lead out of the folder are refused before anything is opened.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from closecall.errors import ModelError, ModelIntegrityError
from closecall.models.cards import CARD_FILE
from closecall.models.external import external_places
from closecall.models.graph_facts import GraphFacts, graph_facts
from closecall.models.hashing import MOST_GRAPH, read_file
from closecall.there import exists, is_file, resolved

DEFAULTS = ("onnx/model.onnx", "model.onnx")
"""Where exports keep the graph in float32; the first that is there is taken."""

_COMMIT = re.compile(r"[0-9a-f]{40}")


class Exported(NamedTuple):
    """A graph's bytes, those of the files it names by the name it calls them, and what it is.

    ``digest`` is the sha256 (hex) of the graph where it stands alone; otherwise that of the list
    of all files as ``sha256sum`` prints it, sorted by name.
    """

    path: Path
    data: bytes
    beside: Mapping[str, bytes]
    digest: str
    facts: GraphFacts


def graph_files(folder: Path) -> list[str]:
    """Return the ONNX files of a folder and of ``onnx`` within it, by their path in it.

    Raises
    ------
    ModelError
        If the folder cannot be listed.
    """
    try:
        found = [*folder.glob("*.onnx"), *folder.glob("onnx/*.onnx")]
        return sorted(path.relative_to(folder).as_posix() for path in found if is_file(path))
    except OSError as error:
        raise ModelError(f"{folder}: cannot be read: {error.strerror or error}") from error


def is_export(folder: Path, file: str | None = None) -> bool:
    """Return whether a folder is run as an export: it has a graph, or one is named, and no card.

    Raises
    ------
    ModelError
        If the folder cannot be read.
    """
    try:
        if exists(folder / CARD_FILE):
            return False
    except OSError as error:
        raise ModelError(f"{folder}: cannot be read: {error.strerror or error}") from error
    return file is not None or bool(graph_files(folder))


def find_graph(folder: Path, file: str | None = None) -> Path:
    """Return the path of a folder's graph: the one asked for, else the one in float32.

    Raises
    ------
    ModelError
        If it is not there, or its name leads out of the folder.
    """
    if file is not None:
        path = _inside(folder, folder, file, str(folder))
        if _is_file(path):
            return path
        raise ModelError(f"{path}: no such file; {_there(folder)}")
    for name in DEFAULTS:
        if _is_file(folder / name):
            return _inside(folder, folder, name, str(folder))
    raise ModelError(
        f"{folder}: holds neither {' nor '.join(DEFAULTS)}; {_there(folder)}. Choose one with "
        "file=, as in onnx:FOLDER?file=onnx/model_fp16.onnx"
    )


def read_exported(folder: Path, path: Path, expected: str | None = None) -> Exported:
    """Read a graph and the files it names; about 1 s a gigabyte.

    Parameters
    ----------
    folder
        The model's folder, out of which nothing is read.
    path
        The graph, from ``find_graph``.
    expected
        The digest it had before.

    Raises
    ------
    ModelIntegrityError
        If it has another digest than expected.
    ModelError
        If a file is missing or too short, a name leads out of the folder, or the graph is not an
        ONNX file.
    """
    data = read_file(path, MOST_GRAPH)
    beside: dict[str, bytes] = {}
    held_files: dict[Path, bytes] = {}
    try:
        for place in external_places(data):
            if place.location not in beside:
                file = _inside(folder, path.parent, place.location, str(path))
                whole = resolved(file)  # one file may be called by many names
                if whole not in held_files:
                    held_files[whole] = read_file(file)
                beside[place.location] = held_files[whole]
            held = len(beside[place.location])
            if place.offset + max(place.length, 0) > held:
                raise ModelError(
                    f"{path.parent / place.location}: cut short: a weight lies at byte "
                    f"{place.offset}, but there are {held}. Copy the file again"
                )
        facts = graph_facts(data)
    except ValueError as error:
        if expected is not None:
            raise _changed(path, expected, "that of no ONNX file") from error
        raise ModelError(f"{path}: not an ONNX file: {error}") from error
    digest = _digest(path.name, data, beside)
    if expected is not None and digest != expected:
        raise _changed(path, expected, digest)
    return Exported(path, data, beside, digest, facts)


def _changed(path: Path, expected: str, found: str) -> ModelIntegrityError:
    return ModelIntegrityError(
        f"{path}: it or a file it keeps weights in was changed while it was in use: sha256 was "
        f"{expected}, now {found}. Start again"
    )


def _digest(name: str, data: bytes, beside: Mapping[str, bytes]) -> str:
    own = hashlib.sha256(data).hexdigest()
    if not beside:
        return own
    # One file may stand there under many names; it is hashed once.
    digests = {id(held): "" for held in beside.values()}
    for held in beside.values():
        digests[id(held)] = digests[id(held)] or hashlib.sha256(held).hexdigest()
    lines = [(name, own)]
    lines += [(other, digests[id(held)]) for other, held in beside.items()]
    listed = "".join(f"{digest}  {name}\n" for name, digest in sorted(lines))
    return hashlib.sha256(listed.encode("utf-8")).hexdigest()


def _inside(root: Path, folder: Path, name: str, where: str) -> Path:
    """Return the file of a name, or refuse one that lies outside of the model's folder.

    The hub's cache keeps files as links to its own ``blobs``; those are as good as files.
    """
    parts = PurePosixPath(name)
    odd = not name or parts.is_absolute() or ".." in parts.parts
    # A star begins the runtime's name for an address in memory; the others are Windows' ways out.
    if odd or any(sign in name for sign in ("\\", ":", "*", "\0")):
        raise ModelError(f"{where}: {name!r} leads out of the model's folder")
    path = folder / parts
    try:
        whole, target = root.resolve(), resolved(path)
    except (OSError, RuntimeError, ValueError) as error:  # the last of half a letter
        raise ModelError(f"{folder}: {name!r:.80} cannot be read: {error!s:.80}") from error
    allowed = [whole]
    if whole.parent.name == "snapshots" and _COMMIT.fullmatch(whole.name):
        allowed.append(whole.parent.parent / "blobs")
    if not any(target.is_relative_to(place) for place in allowed):
        raise ModelError(f"{where}: {name!r} leads out of the model's folder")
    return path


def _is_file(path: Path) -> bool:
    try:
        return is_file(path)
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror or error}") from error


def _there(folder: Path) -> str:
    names = graph_files(folder)
    return f"there are {', '.join(names)}" if names else "there is no ONNX file"

"""What becomes of fetched files: a compiled model, or the folder as it was published."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NamedTuple

import msgspec

from closecall.errors import MissingExtraError, ModelError
from closecall.models import store
from closecall.models.choosing import GRAPHS, MOST_BYTES
from closecall.models.compiler import Naming, compile_folder
from closecall.models.fetching import is_whole
from closecall.models.hashing import hash_file
from closecall.models.hub import RemoteFile, Repository
from closecall.models.known import KnownModel
from closecall.models.layout import Layout, read_layout
from closecall.models.placing import placing
from closecall.models.published import (
    RECORD_FILE,
    PublishedFile,
    PublishedModel,
    find_published,
    format_published,
    read_published,
)
from closecall.models.verifying import verify_named
from closecall.there import exists, is_dir, is_file

COMPILED, PUBLISHED, HERE = "compiled", "published", "here"
"""What became of a pull: compiled into the store, kept as published, or nothing to do."""

_SPDX = {
    "apache-2.0": "Apache-2.0", "mit": "MIT", "bsd-3-clause": "BSD-3-Clause",
    "cc-by-4.0": "CC-BY-4.0", "cc-by-sa-4.0": "CC-BY-SA-4.0", "cc-by-nc-4.0": "CC-BY-NC-4.0",
    "gemma": "LicenseRef-Gemma",
}  # fmt: skip
"""What the hub calls licences, and the SPDX identifier of each."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What to pull and how.

    Parameters
    ----------
    name
        A known model's name or alias, or ``ORGANISATION/NAME``.
    revision
        Branch, tag or commit; empty: the card's commit, else the newest.
    save_as
        What to call it; empty: its own name.
    to
        A folder to put the published files in, in place of the store.
    onnx
        Whether to take the ONNX graph in place of the safetensors.
    raw
        Whether to keep the published files where they could be compiled.
    storage
        ``fp32`` or ``fp16``, see ``compile_folder``.
    force
        Whether to replace a model of that name.
    most_bytes
        Largest model that is fetched.
    """

    name: str
    revision: str = ""
    save_as: str = ""
    to: Path | None = None
    onnx: bool = False
    raw: bool = False
    storage: str = "fp32"
    force: bool = False
    most_bytes: int = MOST_BYTES


class Pulled(msgspec.Struct, frozen=True, kw_only=True):
    """What a pull did.

    ``outcome`` is ``compiled``, ``published`` or ``here``; ``reason`` says why files were kept as
    published; ``fetched`` counts the bytes that came over the network.
    """

    name: str
    repo: str
    revision: str
    folder: Path
    outcome: str
    reason: str = ""
    fetched: int = 0


class Fetched(NamedTuple):
    """A model's files in the folder of work, every hash right, and what is known of them."""

    name: str
    repository: Repository
    files: list[RemoteFile]
    known: KnownModel | None
    work: Path


class Kept(NamedTuple):
    """``compiled`` or ``published``, and why it was not compiled, empty where it was."""

    outcome: str
    reason: str


def already_here(name: str, repo: str, revision: str, wanted: Wanted) -> Pulled | None:
    """Return the model of the store that a pull would make, if its files are as recorded.

    ``revision`` is a commit, or empty where any will do.
    """
    if wanted.force or wanted.to is not None:
        return None
    models = store.list_models().models
    compiled = next((m for m in models if m.card.name.casefold() == name.casefold()), None)
    published = find_published(store.store_folder(), name)
    if compiled is not None and not (wanted.raw or wanted.onnx):
        source, commit, folder = compiled.card.source, compiled.card.revision, compiled.folder
    elif published is not None and _as_wanted(published.model, published.folder, wanted):
        source, commit = published.model.repo, published.model.revision
        folder = published.folder
    else:
        return None
    if source != repo or (revision and commit != revision):
        return None
    if not all(check.ok for check in verify_named(name)):
        return None
    return Pulled(name=name, repo=repo, revision=commit, folder=folder, outcome=HERE)


def may_give_way(place: Path, repository: Repository) -> bool:
    """Return whether published files stand at the place that are of the same commit."""
    try:
        found = read_published(place).model
    except ModelError:
        return False
    return (found.repo, found.revision) == (repository.repo, repository.commit)


def seed(work: Path, place: Path, repository: Repository, files: list[RemoteFile]) -> None:
    """Put files that stand at the place into the folder of work, so that none is fetched twice."""
    if not may_give_way(place, repository):
        return
    for file in files:
        source, target = place / file.path, work / file.path
        if not exists(target) and is_file(source) and is_whole(source, file):
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(source, target)
            except OSError:  # another disk, or one without links
                shutil.copyfile(source, target)


def keep(fetched: Fetched, place: Path, wanted: Wanted) -> Kept:
    """Compile the folder of work into ``place``, or move it there as it is.

    Raises
    ------
    ModelError
        If the place cannot be written.
    """
    work = fetched.work
    reason = _why_raw(wanted)
    if not reason:
        try:
            layout = read_layout(work)
            with placing(place) as new:
                _compile(layout, new, fetched, wanted)
        except (ModelError, MissingExtraError) as error:
            reason = str(error).replace(f"{work}{os.sep}", "")
        else:
            return Kept(COMPILED, "")
    record = _record(fetched)
    try:
        (work / RECORD_FILE).write_bytes(format_published(record).encode("utf-8"))
        if wanted.to is not None and is_dir(place):
            place.rmdir()  # an empty one
    except OSError as error:
        raise ModelError(f"{place}: cannot be written: {error.strerror or error}") from error
    with placing(place) as new:
        work.rename(new)
    return Kept(PUBLISHED, reason)


def _why_raw(wanted: Wanted) -> str:
    if wanted.onnx:
        return "it is a graph already"
    if wanted.raw or wanted.to is not None:
        return "asked for so"
    return ""


def _as_wanted(model: PublishedModel, folder: Path, wanted: Wanted) -> bool:
    """Return whether published files are what a pull would leave: no compiled model."""
    if any(file.path in GRAPHS for file in model.files) != wanted.onnx:
        return False
    if wanted.raw or wanted.onnx:
        return True
    try:
        read_layout(folder)
    except ModelError:
        return True
    return False


def _compile(layout: Layout, new: Path, fetched: Fetched, wanted: Wanted) -> None:
    known, repository = fetched.known, fetched.repository
    aliases = () if known is None or wanted.save_as else known.aliases
    naming = Naming(
        name=fetched.name,
        aliases=aliases,
        source=repository.repo,
        revision=repository.commit,
        licence=_licence(repository, known),
        languages=() if known is None else known.languages,
    )
    # What a folder says of its prefixes comes first, as everywhere.
    prefixes = {} if known is None else known.prefixes
    compile_folder(
        layout.folder,
        new,
        naming,
        storage=wanted.storage,
        prefixes={**prefixes, **layout.prefixes},
    )


def _record(fetched: Fetched) -> PublishedModel:
    known, repository = fetched.known, fetched.repository
    found = [(file, hash_file(fetched.work / file.path)) for file in fetched.files]
    return PublishedModel(
        name=fetched.name,
        repo=repository.repo,
        revision=repository.commit,
        licence=_licence(repository, known),
        languages=() if known is None else known.languages,
        files=tuple(
            PublishedFile(file.path, hashed.sha256, hashed.size)
            for file, hashed in sorted(found, key=lambda pair: pair[0].path)
        ),
    )


def _licence(repository: Repository, known: KnownModel | None) -> str:
    if known is not None and known.licence:
        return known.licence
    return _SPDX.get(repository.licence, "")

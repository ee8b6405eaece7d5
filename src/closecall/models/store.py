"""How a model on this machine is found and added; ``roots`` says where they are kept.

A model is a folder with a ``card.toml``; what was pulled and cannot be compiled is one with a
``pulled.toml``. Nothing is downloaded here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from closecall.errors import ModelError, UnknownNameError, UsageError
from closecall.models.cards import CARD_FILE, GRAPH_FILE, ModelCard, is_model_name, read_card
from closecall.models.compiler import Naming, compile_folder
from closecall.models.pair_card import PAIR_MODEL
from closecall.models.placing import placing
from closecall.models.published import find_published, list_published
from closecall.models.roots import (
    BUNDLED,
    CARDS,
    STORE,
    bundled_folder,
    model_folders,
    places,
    store_folder,
)
from closecall.there import is_dir, is_file

FOLDER = "folder"
"""The place of a model that is named by its folder; see ``roots`` for the others."""

DEFAULT_MODEL = "all-MiniLM-L6-v2"
"""The model used when none is named."""


class StoredModel(msgspec.Struct, frozen=True):
    """A model on this machine: its card, its folder, and ``bundled``, ``store`` or ``folder``."""

    card: ModelCard
    folder: Path
    place: str

    @property
    def graph(self) -> Path:
        """Path of the ONNX file."""
        return self.folder / GRAPH_FILE


class BrokenModel(msgspec.Struct, frozen=True):
    """A folder whose card cannot be used, or a place that cannot be listed, and why."""

    folder: Path
    place: str
    problem: str


class Listing(msgspec.Struct, frozen=True):
    """Every model found, the bundled ones first, and the folders that hold none that works."""

    models: tuple[StoredModel, ...]
    broken: tuple[BrokenModel, ...] = ()


def list_models() -> Listing:
    """Return every model on this machine, sorted by name within its place."""
    models: list[StoredModel] = []
    broken: list[BrokenModel] = []
    for place, root in places():
        try:
            folders = model_folders(root)
        except ModelError as error:  # the models of the other place are none the worse
            broken.append(BrokenModel(root, place, str(error)))
            continue
        for folder in folders:
            if place == BUNDLED and folder.name == PAIR_MODEL:
                continue  # it makes no vectors; see ``bundled_pair``
            try:
                models.append(StoredModel(read_card(folder / CARD_FILE), folder, place))
            except ModelError as error:
                broken.append(BrokenModel(folder, place, str(error)))
    return Listing(tuple(models), tuple(broken))


def find_model(name: str = DEFAULT_MODEL) -> StoredModel:
    """Return the model of that name or alias; case does not matter.

    A name comes before an alias, and a bundled model before one of the store.

    Raises
    ------
    UnknownNameError
        If there is none; the message lists those there are, and those that cannot be used.
    ModelError
        If it is there and its card cannot be used, or it makes no vectors.
    """
    listing = list_models()
    wanted = name.casefold()
    if wanted == PAIR_MODEL:
        raise ModelError(
            f"{PAIR_MODEL} reads two texts at once and makes no vector of one; the metrics "
            "answer_support and context_support use it"
        )
    for model in listing.models:
        if model.card.name.casefold() == wanted:
            return model
    for model in listing.models:
        if wanted in (alias.casefold() for alias in model.card.aliases):
            return model
    for folder in listing.broken:
        if folder.folder.name.casefold() == wanted:
            raise ModelError(folder.problem)
    for _, root in places():
        published = find_published(root, name)
        if published is not None:
            raise ModelError(
                f"{published.model.name} is here as it was published, which st: runs: "
                f"st:{published.folder}. To compile it, if its architecture is one that can be, "
                f"type 'closecall models pull {published.model.repo}'"
            )
    known = [_spelled(model.card) for model in listing.models]
    raise UnknownNameError(
        f"no model {name!r} on this machine; there are: {', '.join(known) or 'none'}. "
        f"{_how_to_get(name)}"
        + "".join(f"\nCannot be used: {unread.problem}" for unread in listing.broken)
    )


def load_model(folder: Path | str) -> StoredModel:
    """Return the model in a folder that need not be in the store.

    Raises
    ------
    ModelError
        If the folder is missing or holds no card.
    """
    path = Path(folder)
    try:
        there = is_dir(path)
        compiled = not there or is_file(path / CARD_FILE)
        raw = not compiled and is_file(path / "modules.json")
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror or error}") from error
    if not there:
        raise ModelError(f"{path}: no such folder")
    if raw:
        raise ModelError(
            f"{path}: a sentence-transformers model that is not compiled yet; "
            f"type 'closecall models add {path}' and use the name it prints"
        )
    return StoredModel(read_card(path / CARD_FILE), path, FOLDER)


def _how_to_get(name: str) -> str:
    from closecall.models.known import find_known

    known = find_known(name)
    add = "Add one with 'closecall models add FOLDER'"
    if known is None:
        return f"{add}, or fetch one with 'closecall models pull'"
    return f"{known.model.name} is known: 'closecall models pull {known.model.name}'. {add}"


def add_model(
    folder: Path | str,
    name: str | None = None,
    *,
    aliases: Sequence[str] = (),
    storage: str = "fp32",
    prefixes: Mapping[str, str] | None = None,
    source: str = "",
    revision: str = "",
    licence: str = "",
    languages: Sequence[str] = (),
    force: bool = False,
) -> StoredModel:
    """Compile a sentence-transformers folder of the BERT family into the store.

    The model appears whole or not at all: it is compiled beside its place and renamed into it.
    One that is replaced stays until then, and comes back if that fails.

    Parameters
    ----------
    folder
        The folder to compile; it is only read.
    name
        What to call the model; the folder's name when None.
    storage
        ``fp32`` or ``fp16``, see ``compile_folder``.
    prefixes
        Text before each role's texts, for models whose folder does not say.
    force
        Whether to replace a model of that name in the store.

    Raises
    ------
    UsageError
        If a name cannot be used or is taken.
    ModelError
        If the folder cannot be compiled, or the store cannot be written.
    """
    origin = Path(folder)
    naming = Naming(
        name=_name_for(origin) if name is None else name,
        aliases=tuple(aliases),
        source=source,
        revision=revision,
        licence=licence,
        languages=tuple(languages),
    )
    place = place_for(naming.name)
    require_free((naming.name, *naming.aliases), place, force=force)
    with placing(place) as new:
        card = compile_folder(origin, new, naming, storage=storage, prefixes=prefixes)
    return StoredModel(card, place, STORE)


def place_for(name: str) -> Path:
    """Return where the store keeps a model of that name.

    Raises
    ------
    UsageError
        If it cannot name a model.
    ModelError
        If there is no home folder.
    """
    if not is_model_name(name) or name.casefold() == CARDS:
        raise UsageError(
            f"{name!r} cannot name a model; give another name, of letters, digits, '.', "
            "'-' and '_'"
        )
    return store_folder() / name


def require_free(names: Sequence[str], place: Path, *, force: bool) -> None:
    """Refuse names that another model answers to.

    Raises
    ------
    UsageError
        If something stands at ``place`` and ``force`` is not given, or a name is taken.
    ModelError
        If it cannot be told which names are taken.
    """
    if os.path.lexists(place) and not force:
        raise UsageError(
            f"{place}: already there; give another name, or replace it with --force (force=True)"
        )
    wanted = {text.casefold(): text for text in names}
    _refuse_pair(wanted)
    listing = list_models()
    for broken in listing.broken:
        if broken.folder == place.parent:  # which names are taken is not known
            raise ModelError(broken.problem)
    for model in listing.models:
        if model.folder == place:
            continue
        for text in (model.card.name, *model.card.aliases):
            if text.casefold() in wanted:
                raise UsageError(
                    f"{wanted[text.casefold()]!r} already names {model.card.name} "
                    f"({model.folder}); give another name"
                )
    for one in list_published(place.parent)[0]:
        if one.folder != place and one.model.name.casefold() in wanted:
            raise UsageError(
                f"{one.model.name!r} already names the files in {one.folder}; give another name"
            )


def _refuse_pair(wanted: Mapping[str, str]) -> None:
    if PAIR_MODEL in wanted:
        raise UsageError(
            f"{wanted[PAIR_MODEL]!r} already names the bundled pair model; give another name"
        )


def _name_for(folder: Path) -> str:
    """Return a name made of the folder's own."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", folder.resolve().name).lstrip(".-_")


def _spelled(card: ModelCard) -> str:
    return f"{card.name} ({', '.join(card.aliases)})" if card.aliases else card.name


__all__ = [
    "BUNDLED", "CARDS", "DEFAULT_MODEL", "FOLDER", "STORE", "BrokenModel", "Listing",
    "StoredModel", "add_model", "bundled_folder", "find_model", "list_models", "load_model",
    "place_for", "places", "require_free", "store_folder",
]  # fmt: skip

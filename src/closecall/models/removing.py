"""Taking a model out of the store."""

from __future__ import annotations

import os
from pathlib import Path

from closecall.errors import ModelError, UnknownNameError, UsageError
from closecall.models import store
from closecall.models.placing import REMOVING, unwritable, working
from closecall.models.published import find_published


def find_removable(name: str) -> Path:
    """Return the folder in the store that holds the model of that name or alias.

    A folder whose card is broken is found by its own name.

    Raises
    ------
    UsageError
        If the model came with closecall.
    UnknownNameError
        If there is none.
    """
    root, wanted = store.store_folder(), name.casefold()
    listing = store.list_models()
    for by_alias in (False, True):
        for model in listing.models:
            names = model.card.aliases if by_alias else (model.card.name,)
            if wanted not in (text.casefold() for text in names):
                continue
            if model.place == store.BUNDLED:
                raise UsageError(f"{model.card.name} came with closecall and stays with it")
            return model.folder
    published = find_published(root, name)
    if published is not None:
        return published.folder
    for broken in listing.broken:
        if broken.folder.parent == root and broken.folder.name.casefold() == wanted:
            return broken.folder
    raise UnknownNameError(
        f"no model {name!r} in {root}; 'closecall models list' shows those there are"
    )


def remove(folder: Path) -> None:
    """Remove a folder of the store; a link is removed and what it points to left alone.

    Raises
    ------
    UsageError
        If it is not a folder of the store.
    ModelError
        If it cannot be removed.
    """
    root = store.store_folder()
    if folder.parent != root or folder.name in ("", ".", ".."):
        raise UsageError(f"{folder}: not a model of the store {root}")
    # Renamed first: what is half removed must not look like a model. No link is followed as it
    # goes, neither the model's own nor one within.
    with working(root, REMOVING) as work:
        try:
            folder.rename(work / "old")
        except OSError as error:
            raise unwritable(folder, error) from error
    if os.path.lexists(work):
        raise ModelError(f"{work}: cannot be removed in full; remove it by hand")

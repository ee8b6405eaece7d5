"""Where models are kept on this machine, and which folders there may hold one.

Two places: the models shipped with closecall, which are read only, and the store of the person
at this machine (``CLOSECALL_MODELS_DIR``, or the data folder of the platform).
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from closecall.errors import ModelError
from closecall.models.cards import CARD_FILE
from closecall.there import is_dir

BUNDLED = "bundled"
STORE = "store"

CARDS = "cards"
"""Within the store, the folder of the person's own cards of known models; no model's name."""

_PACKAGE = Path(__file__).resolve().parent.parent


def bundled_folder() -> Path:
    """Return the folder of the models shipped with closecall."""
    installed = _PACKAGE / "_bundled"
    return installed if is_dir(installed) else _PACKAGE.parent.parent / "models"


def store_folder() -> Path:
    """Return the folder of the person's own models; it need not exist.

    ``CLOSECALL_MODELS_DIR`` if that is set and not empty, else ``models`` in the data folder of
    the platform.

    Raises
    ------
    ModelError
        If there is no home folder to put it in.
    """
    given = os.environ.get("CLOSECALL_MODELS_DIR")
    if given:
        return Path(given)
    import platformdirs

    try:
        place = Path(platformdirs.user_data_dir("closecall", appauthor=False))
    except RuntimeError:
        place = Path("~")
    if not place.is_absolute():
        raise ModelError(
            "there is no home folder to keep models in; name a folder in CLOSECALL_MODELS_DIR"
        )
    return place / "models"


def places() -> list[tuple[str, Path]]:
    """Return the folders models are looked for in; without a home, the bundled ones only."""
    try:
        return [(BUNDLED, bundled_folder()), (STORE, store_folder())]
    except ModelError:
        return [(BUNDLED, bundled_folder())]


def model_folders(root: Path) -> list[Path]:
    """Return the folders in ``root`` that may hold a model; hidden ones are work in progress.

    Raises
    ------
    ModelError
        If ``root`` is there and cannot be listed.
    """
    try:
        found = [
            path
            for path in root.iterdir()
            if not path.name.startswith(".") and path.name.casefold() != CARDS
        ]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise ModelError(f"{root}: cannot be read: {error.strerror or error}") from error
    return sorted(path for path in found if _may_have_card(path))


def _may_have_card(folder: Path) -> bool:
    try:
        return stat.S_ISREG((folder / CARD_FILE).stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:  # reading the card will say what is wrong
        return True

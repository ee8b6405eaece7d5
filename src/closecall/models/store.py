"""Where models are kept on this machine, and how one is found, checked and added.

Two places: the models shipped with closecall, which are read only, and the store of the person
at this machine (``CLOSECALL_MODELS_DIR``, or the data folder of the platform). A model is a
folder with a ``card.toml``. Nothing is downloaded.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from closecall.errors import ModelError, UnknownNameError, UsageError
from closecall.models.cards import CARD_FILE, GRAPH_FILE, ModelCard, is_model_name, read_card
from closecall.models.compiler import Naming, compile_folder
from closecall.models.hashing import hash_file

BUNDLED = "bundled"
STORE = "store"
FOLDER = "folder"

DEFAULT_MODEL = "all-MiniLM-L6-v2"
"""The model used when none is named."""

_PACKAGE = Path(__file__).resolve().parent.parent


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


class FileCheck(msgspec.Struct, frozen=True):
    """What became of one file of a model: ``problem`` is empty when its bytes are as recorded."""

    model: str
    path: Path
    expected: str
    found: str
    problem: str

    @property
    def ok(self) -> bool:
        """Whether the file's bytes are the ones its card records."""
        return not self.problem


class Listing(msgspec.Struct, frozen=True):
    """Every model found, the bundled ones first, and the folders that hold none that works."""

    models: tuple[StoredModel, ...]
    broken: tuple[BrokenModel, ...] = ()


def bundled_folder() -> Path:
    """Return the folder of the models shipped with closecall."""
    installed = _PACKAGE / "_bundled"
    return installed if installed.is_dir() else _PACKAGE.parent.parent / "models"


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


def _places() -> list[tuple[str, Path]]:
    """Return the folders models are looked for in; without a home, the bundled ones only."""
    try:
        return [(BUNDLED, bundled_folder()), (STORE, store_folder())]
    except ModelError:
        return [(BUNDLED, bundled_folder())]


def list_models() -> Listing:
    """Return every model on this machine, sorted by name within its place."""
    models: list[StoredModel] = []
    broken: list[BrokenModel] = []
    for place, root in _places():
        try:
            folders = _model_folders(root)
        except ModelError as error:  # the models of the other place are none the worse
            broken.append(BrokenModel(root, place, str(error)))
            continue
        for folder in folders:
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
        If it is there and its card cannot be used.
    """
    listing = list_models()
    wanted = name.casefold()
    for model in listing.models:
        if model.card.name.casefold() == wanted:
            return model
    for model in listing.models:
        if wanted in (alias.casefold() for alias in model.card.aliases):
            return model
    for folder in listing.broken:
        if folder.folder.name.casefold() == wanted:
            raise ModelError(folder.problem)
    known = [_spelled(model.card) for model in listing.models]
    raise UnknownNameError(
        f"no model {name!r} on this machine; there are: {', '.join(known) or 'none'}. "
        "Add one with 'closecall models add FOLDER'"
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
        there = path.is_dir()
        compiled = not there or (path / CARD_FILE).is_file()
        raw = not compiled and (path / "modules.json").is_file()
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


def verify_model(model: StoredModel) -> tuple[FileCheck, ...]:
    """Hash every file of a model again and compare with its card, one result a file."""
    return tuple(_check(model, number) for number in range(len(model.card.files)))


def verify_all() -> tuple[FileCheck, ...]:
    """Verify every model on this machine; a folder whose card is broken is one failed check."""
    listing = list_models()
    checks = [check for model in listing.models for check in verify_model(model)]
    checks += [
        FileCheck(broken.folder.name, broken.folder / CARD_FILE, "", "", broken.problem)
        for broken in listing.broken
    ]
    return tuple(checks)


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
    root = store_folder()
    place = root / naming.name
    if not is_model_name(naming.name):
        raise UsageError(
            f"{naming.name!r} cannot name a model; give another name, of letters, digits, '.', "
            "'-' and '_'"
        )
    _require_free(naming, place, force=force)
    try:
        root.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=".adding-", dir=root))
    except OSError as error:
        raise _unwritable(root, error) from error
    try:
        card = compile_folder(origin, work / "new", naming, storage=storage, prefixes=prefixes)
        _put_in_place(work, place)
    finally:
        _clear(work, place)
    return StoredModel(card, place, STORE)


def _put_in_place(work: Path, place: Path) -> None:
    """Move ``work/new`` to ``place``, setting what was there aside first."""
    try:
        if os.path.lexists(place):
            place.rename(work / "old")
        (work / "new").rename(place)
    except OSError as error:
        raise _unwritable(place, error) from error


def _clear(work: Path, place: Path) -> None:
    """Remove the folder of work, once a model set aside whose place is empty is back there."""
    old = work / "old"
    if os.path.lexists(old) and not os.path.lexists(place):
        try:
            old.rename(place)
        except OSError as error:
            raise ModelError(
                f"{place}: cannot be written: {error.strerror or error}. "
                f"The model that was there is kept in {old}"
            ) from error
    shutil.rmtree(work, ignore_errors=True)


def _unwritable(path: Path, error: OSError) -> ModelError:
    return ModelError(
        f"{path}: cannot be written: {error.strerror or error}. "
        "Set CLOSECALL_MODELS_DIR to a folder you may write"
    )


def _require_free(naming: Naming, place: Path, *, force: bool) -> None:
    """Refuse names that another model answers to."""
    if os.path.lexists(place) and not force:
        raise UsageError(
            f"{place}: already there; give another name, or replace it with --force (force=True)"
        )
    wanted = {text.casefold(): text for text in (naming.name, *naming.aliases)}
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


def _name_for(folder: Path) -> str:
    """Return a name made of the folder's own."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", folder.resolve().name).lstrip(".-_")


def _model_folders(root: Path) -> list[Path]:
    """Return the folders in ``root`` that may hold a model; hidden ones are work in progress.

    Raises
    ------
    ModelError
        If ``root`` is there and cannot be listed.
    """
    try:
        found = [path for path in root.iterdir() if not path.name.startswith(".")]
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


def _check(model: StoredModel, number: int) -> FileCheck:
    entry = model.card.files[number]
    path = model.folder / entry.name
    try:
        found = hash_file(path)
    except ModelError as error:
        return FileCheck(model.card.name, path, entry.sha256, "", str(error))
    problem = ""
    if found.sha256 != entry.sha256:
        problem = (
            f"{path}: expected sha256 {entry.sha256} ({entry.size} bytes), "
            f"found {found.sha256} ({found.size} bytes)"
        )
    return FileCheck(model.card.name, path, entry.sha256, found.sha256, problem)


def _spelled(card: ModelCard) -> str:
    return f"{card.name} ({', '.join(card.aliases)})" if card.aliases else card.name

"""Models that people use and that need not be here: what their published cards say of them.

One TOML file a model. Those shipped with closecall were checked against the public cards; what
could not be checked is left out and read from the folder once the model is pulled. A person's own
cards stand in a folder of theirs, and one of theirs takes the place of a shipped one of its name.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

import msgspec

from closecall.errors import ModelError, UnknownNameError
from closecall.models.cards import is_model_name
from closecall.models.store import CARDS, bundled_folder, store_folder
from closecall.plain import read_plain
from closecall.records import Role
from closecall.toml import read_toml

SHIPPED, OWN = "shipped", "own"
CARDS_VARIABLE = "CLOSECALL_CARDS_DIR"

_FORMAT = 1
_MOST_BYTES = 100_000
_REPO = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


class KnownModel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is known of a published model; an empty field is not known.

    Parameters
    ----------
    name, aliases
        What people type.
    repo
        ``ORGANISATION/NAME`` on the hub.
    revision
        The commit that is pulled, 40 hexadecimal digits; empty: the newest, and what it was is
        written into the model's card.
    weights_sha256
        Of ``model.safetensors`` at that commit, so that a mirror is not taken at its word.
    licence
        SPDX expression of the weights.
    languages
        BCP 47 codes of the languages it was made for.
    architecture
        ``model_type`` of its configuration.
    dims, matryoshka
        Width of a vector; the shorter widths it was trained for, itself included.
    max_tokens
        Longest window, special tokens included.
    pooling, normalize
        How tokens become one vector; whether it leaves the model with length 1.
    prefixes
        Text put before the texts of a role (``query``, ``document``, ``text``).
    gated
        Whether its terms have to be accepted on the hub first.
    remote_code, pickled
        Whether that commit runs only with Python code of its own, or has its weights as pickles
        only: neither is ever used.
    remark
        Anything else, in a sentence or two.
    """

    name: str
    repo: str
    aliases: tuple[str, ...] = ()
    revision: str = ""
    weights_sha256: str = ""
    licence: str = ""
    languages: tuple[str, ...] = ()
    architecture: str = ""
    dims: int | None = None
    matryoshka: tuple[int, ...] = ()
    max_tokens: int | None = None
    pooling: str = ""
    normalize: bool | None = None
    prefixes: dict[str, str] = {}
    gated: bool = False
    remote_code: bool = False
    pickled: bool = False
    remark: str = ""

    def __post_init__(self) -> None:
        problems = _problems(self)
        if problems:
            raise ValueError("; ".join(problems))


class KnownCard(msgspec.Struct, frozen=True):
    """A known model, the file that says so, and whether it is ``shipped`` or the person's own.

    ``replaces``: whether a shipped card of that name gives way to it.
    """

    model: KnownModel
    path: Path
    origin: str
    replaces: bool = False


class KnownCards(msgspec.Struct, frozen=True):
    """Every known model by name, and what is wrong with files that cannot be used."""

    cards: tuple[KnownCard, ...]
    problems: tuple[str, ...] = ()


class _Document(KnownModel, frozen=True, kw_only=True):
    """A card as it stands in the file, with the format's version."""

    format: int


def known_folder() -> Path:
    """Return the folder of the cards shipped with closecall."""
    return bundled_folder() / "known"


def own_folder() -> Path | None:
    """Return the folder of the person's own cards; it need not exist; None without a home.

    ``CLOSECALL_CARDS_DIR`` if that is set and not empty, else ``cards`` in the model store.
    """
    given = os.environ.get(CARDS_VARIABLE)
    if given:
        return Path(given)
    try:
        return store_folder() / CARDS
    except ModelError:
        return None


def known_models() -> KnownCards:
    """Return every known model, sorted by name; a file that cannot be used hides no other."""
    problems: list[str] = []
    found: dict[str, KnownCard] = {}
    for origin, folder in ((SHIPPED, known_folder()), (OWN, own_folder())):
        here: dict[str, KnownCard] = {}
        for path in _files(folder, problems):
            try:
                model = read_known(path)
            except ModelError as error:
                problems.append(str(error))
                continue
            name = model.name.casefold()
            if name in here:
                problems.append(f"{path}: name: {model.name} is also in {here[name].path}")
                continue
            here[name] = KnownCard(model, path, origin, replaces=name in found)
        found |= here
    return KnownCards(tuple(found[name] for name in sorted(found)), tuple(problems))


def find_known(name: str) -> KnownCard | None:
    """Return the known model of that name, alias or repository; case does not matter."""
    wanted = name.casefold()
    cards = known_models().cards
    for card in cards:
        if wanted in (card.model.name.casefold(), card.model.repo.casefold()):
            return card
    for card in cards:
        if wanted in (alias.casefold() for alias in card.model.aliases):
            return card
    return None


def unknown_model(name: str) -> UnknownNameError:
    """Return the error for a name that is neither a known model's nor a repository's."""
    listing = known_models()
    names = [card.model.name for card in listing.cards]
    near = get_close_matches(name, names, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    return UnknownNameError(
        f"no known model {name!r}.{hint} Known are: {', '.join(names) or 'none'}. Any other is "
        "named as on the hub, ORGANISATION/NAME"
        + "".join(f"\nCannot be used: {problem}" for problem in listing.problems)
    )


def is_repo(text: str) -> bool:
    """Return whether ``text`` is an ``ORGANISATION/NAME`` of the hub."""
    return _REPO.fullmatch(text) is not None and ".." not in text


def read_known(path: Path) -> KnownModel:
    """Return the card in a TOML file.

    Raises
    ------
    ModelError
        If it cannot be read, is not TOML, or a field is missing, unknown or wrong; the message
        names the file and the field.
    """
    try:
        raw = read_toml(read_plain(path, _MOST_BYTES).decode("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"{path}: cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise ModelError(f"{path}: not TOML: {error}") from error
    if raw.get("format") != _FORMAT:
        raise ModelError(f"{path}: format: expected {_FORMAT}, got {raw.get('format')!r}")
    try:
        document = msgspec.convert(raw, _Document, strict=True)
    except msgspec.ValidationError as error:
        raise ModelError(f"{path}: {error}") from error
    fields = {name: getattr(document, name) for name in KnownModel.__struct_fields__}
    return KnownModel(**fields)


def _files(folder: Path | None, problems: list[str]) -> Iterable[Path]:
    if folder is None:
        return []
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".toml")
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        problems.append(f"{folder}: cannot be read: {error.strerror or error}")
        return []


def _problems(model: KnownModel) -> list[str]:
    """Say what is wrong with a card's values, each problem beginning with the field's name."""
    found = [
        f"{field}: {text!r} is not a name; use letters, digits, '.', '-' and '_'"
        for field, names in (("name", (model.name,)), ("aliases", model.aliases))
        for text in names
        if not is_model_name(text)
    ]
    if not is_repo(model.repo):
        found.append(f"repo: expected ORGANISATION/NAME, got {model.repo!r}")
    if model.revision and not _COMMIT.fullmatch(model.revision):
        found.append("revision: must be a whole commit, 40 hexadecimal digits, or left out")
    if model.weights_sha256 and not _SHA256.fullmatch(model.weights_sha256):
        found.append("weights_sha256: must be 64 hexadecimal digits, or left out")
    if model.weights_sha256 and not model.revision:
        found.append("weights_sha256: says nothing without the revision it belongs to")
    found += [
        f"{field}: must be at least 1, got {value}"
        for field, values in (
            ("dims", (model.dims,)),
            ("max_tokens", (model.max_tokens,)),
            ("matryoshka", model.matryoshka),
        )
        for value in values
        if value is not None and value < 1
    ]
    roles = [role.value for role in Role]
    found += [
        f"prefixes.{name}: no such role; there are {', '.join(roles)}"
        for name in model.prefixes
        if name not in roles
    ]
    return found

"""Folders that hold a model's published files as they were pulled, each with its hash.

A model the compiler does not know is kept so. A file ``pulled.toml`` beside the others says
where they come from, which commit they are, and what every one of them has to be.
"""

from __future__ import annotations

import re
import stat
import tomllib
from pathlib import Path

import msgspec

from closecall.errors import ModelError
from closecall.models.cards import is_model_name, toml_value
from closecall.models.hashing import hash_file
from closecall.plain import read_plain
from closecall.there import is_dir
from closecall.toml import read_toml

RECORD_FILE = "pulled.toml"

_FORMAT = 1
_MOST_BYTES = 2_000_000
_SHA256 = re.compile(r"[0-9a-f]{64}")
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_DEPTH = 4
# Names that stand for devices where Windows is in use, whatever follows a dot.
_DEVICES = {"con", "prn", "aux", "nul"} | {f"{d}{n}" for d in ("com", "lpt") for n in range(10)}


class PublishedFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file: its path within the folder, its sha256 (hex) and size in bytes."""

    path: str
    sha256: str
    size: int


class PublishedModel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model's published files: its name here, where they come from, and what they are."""

    name: str
    repo: str
    revision: str
    licence: str = ""
    languages: tuple[str, ...] = ()
    files: tuple[PublishedFile, ...]

    def __post_init__(self) -> None:
        problems = _problems(self)
        if problems:
            raise ValueError("; ".join(problems))


class PublishedFolder(msgspec.Struct, frozen=True):
    """The record and the folder it stands in."""

    model: PublishedModel
    folder: Path


class _Document(PublishedModel, frozen=True, kw_only=True):
    format: int


def is_inner_path(text: str) -> bool:
    """Return whether ``text`` is a plain path within a folder, the same on every system."""
    parts = text.split("/")
    return len(parts) <= _DEPTH and all(
        _PART.fullmatch(part) is not None
        and not part.endswith(".")
        and part.split(".")[0].casefold() not in _DEVICES
        for part in parts
    )


def format_published(model: PublishedModel) -> str:
    """Return the record as TOML: fixed order, one spelling, ending in a line break."""
    lines = [f"format = {_FORMAT}"]
    lines += [
        f"{name} = {toml_value(getattr(model, name))}"
        for name in ("name", "repo", "revision", "licence", "languages")
    ]
    for entry in model.files:
        lines += ["", "[[files]]", f"path = {toml_value(entry.path)}"]
        lines += [f"sha256 = {toml_value(entry.sha256)}", f"size = {entry.size}"]
    return "\n".join(lines) + "\n"


def read_published(folder: Path) -> PublishedFolder:
    """Return what a folder's record says.

    Raises
    ------
    ModelError
        If the record is missing, cannot be read, or a field is missing, unknown or wrong.
    """
    path = folder / RECORD_FILE
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
    fields = {name: getattr(document, name) for name in PublishedModel.__struct_fields__}
    return PublishedFolder(PublishedModel(**fields), folder)


def list_published(root: Path) -> tuple[list[PublishedFolder], list[tuple[Path, str]]]:
    """Return the folders in ``root`` with a record, sorted; and those whose record is broken."""
    found: list[PublishedFolder] = []
    broken: list[tuple[Path, str]] = []
    try:
        folders = sorted(path for path in root.iterdir() if not path.name.startswith("."))
    except OSError:  # the listing of compiled models says so
        return found, broken
    for folder in folders:
        if not _is_file(folder / RECORD_FILE):
            continue
        try:
            found.append(read_published(folder))
        except ModelError as error:
            broken.append((folder, str(error)))
    return found, broken


def find_published(root: Path, name: str) -> PublishedFolder | None:
    """Return the folder in ``root`` of that name, case aside, or None."""
    wanted = name.casefold()
    found, _ = list_published(root)
    return next((one for one in found if one.model.name.casefold() == wanted), None)


def published_problems(one: PublishedFolder) -> list[tuple[PublishedFile, str, str]]:
    """Hash every file again; return each with the hash found and what is wrong, empty if not."""
    checks = []
    for entry in one.model.files:
        path = one.folder / entry.path
        try:
            found = hash_file(path)
        except ModelError as error:
            checks.append((entry, "", str(error)))
            continue
        same = (found.sha256, found.size) == (entry.sha256, entry.size)
        problem = (
            f"{path}: expected sha256 {entry.sha256} ({entry.size} bytes), "
            f"found {found.sha256} ({found.size} bytes)"
        )
        checks.append((entry, found.sha256, "" if same else problem))
    return checks


def unrecorded(one: PublishedFolder) -> list[Path]:
    """Return files of the folder that its record does not list: they came from elsewhere."""
    listed = {one.folder / entry.path for entry in one.model.files} | {one.folder / RECORD_FILE}
    return sorted(
        path
        for path in one.folder.rglob("*")
        if (path.is_symlink() or not is_dir(path)) and path not in listed
    )


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False


def _problems(model: PublishedModel) -> list[str]:
    found = []
    if not is_model_name(model.name):
        found.append(f"name: {model.name!r} is not a name")
    for number, entry in enumerate(model.files):
        if not is_inner_path(entry.path) or entry.path == RECORD_FILE:
            found.append(f"files[{number}].path: {entry.path!r} is not a plain path")
        if not _SHA256.fullmatch(entry.sha256):
            found.append(f"files[{number}].sha256: must be 64 hexadecimal digits")
        if entry.size < 0:
            found.append(f"files[{number}].size: must not be negative, got {entry.size}")
    paths = [entry.path.casefold() for entry in model.files]
    if len(set(paths)) < len(paths):
        found.append("files: a path stands there twice")
    if not paths:
        found.append("files: none")
    return found

"""The card of a model: what is known about it, as a frozen record and as a TOML file."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import msgspec

from closecall.errors import ModelError
from closecall.plain import read_plain
from closecall.records import Role
from closecall.toml import read_toml

CARD_FILE = "card.toml"
GRAPH_FILE = "model.onnx"
TOKENIZER_FILE = "tokenizer.json"

MOST_CARD = 1_000_000
"""Bytes of the largest card that is read; they have some thousand."""

MOST_DIMS = 1_000_000
"""Numbers of the widest vector; published models have some thousand."""

POOLINGS = ("mean", "cls")
PRECISIONS = ("fp32", "fp16-weights")

_FORMAT = 1
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_FILE_NAME = _NAME
_SHA256 = re.compile(r"[0-9a-f]{64}")


class ModelFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file of a model: its name within the folder, its sha256 (hex) and size in bytes."""

    name: str
    sha256: str
    size: int


class Origin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The published file the weights were taken from, so that a build can be repeated."""

    file: str
    sha256: str


class ModelCard(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Facts of a model; no behaviour.

    Parameters
    ----------
    name, aliases
        What people type; letters, digits, dot, dash and underscore.
    architecture
        The family the graph was compiled from, ``bert``.
    source, revision
        Where the weights were published, and which state of them; empty when unknown.
    licence
        SPDX expression of the weights, empty when unknown.
    languages
        BCP 47 codes of the languages it was made for; empty when unknown.
    dims
        Width of a vector.
    max_tokens
        Longest window, special tokens included.
    pooling, normalize
        ``mean`` or ``cls``; whether vectors leave the graph with length 1.
    lowercase
        Whether texts are lower-cased before the tokenizer sees them.
    precision
        ``fp32``, or ``fp16-weights``: stored as float16, computed in float32.
    prefixes
        Text put before the texts of a role (``query``, ``document``, ``text``).
    weights
        The published file the graph was compiled from.
    files
        The files of the folder with their hashes; ``model.onnx`` and ``tokenizer.json`` at least.
    """

    name: str
    dims: int
    max_tokens: int
    pooling: str
    normalize: bool
    precision: str
    files: tuple[ModelFile, ...]
    weights: Origin
    aliases: tuple[str, ...] = ()
    architecture: str = "bert"
    source: str = ""
    revision: str = ""
    licence: str = ""
    languages: tuple[str, ...] = ()
    lowercase: bool = False
    prefixes: dict[str, str] = {}

    def __post_init__(self) -> None:
        problems = _problems(self)
        if problems:
            raise ValueError("; ".join(problems))

    def file(self, name: str) -> ModelFile:
        """Return the entry of one file of the model.

        Raises
        ------
        ModelError
            If the card lists no such file.
        """
        for entry in self.files:
            if entry.name == name:
                return entry
        raise ModelError(f"the card of {self.name} lists no file {name}")


class _Document(ModelCard, frozen=True, kw_only=True):
    """A card as it stands in the file, with the format's version."""

    format: int


def read_card(path: Path) -> ModelCard:
    """Return the card in a TOML file.

    Raises
    ------
    ModelError
        If the file is missing, is not TOML, or a field is missing, unknown or wrong; the
        message names the field.
    """
    try:
        text = read_plain(path, MOST_CARD).decode("utf-8")
    except FileNotFoundError:
        raise ModelError(f"{path}: no such file; a model folder holds a {CARD_FILE}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"{path}: cannot be read: {error}") from error
    return parse_card(text, str(path))


def parse_card(text: str, where: str = CARD_FILE) -> ModelCard:
    """Return the card written in ``text``; ``where`` stands at the front of every message.

    Raises
    ------
    ModelError
        If the text is not TOML, or a field is missing, unknown or wrong.
    """
    try:
        raw = read_toml(text)
    except tomllib.TOMLDecodeError as error:
        raise ModelError(f"{where}: not TOML: {error}") from error
    if "kind" in raw:
        raise ModelError(
            f"{where}: kind: the card of a {raw['kind']!r} model, which makes no vectors"
        )
    if raw.get("format") != _FORMAT:
        raise ModelError(
            f"{where}: format: expected {_FORMAT}, got {raw.get('format')!r}; "
            "this version of closecall cannot read that card"
        )
    try:
        document = msgspec.convert(raw, _Document, strict=True)
    except msgspec.ValidationError as error:
        raise ModelError(f"{where}: {error}") from error
    fields = {name: getattr(document, name) for name in ModelCard.__struct_fields__}
    return ModelCard(**fields)


def format_card(card: ModelCard) -> str:
    """Return the card as TOML: fixed order, one spelling, ending in a line break."""
    lines = [f"format = {_FORMAT}"]
    for name in _ORDER:
        value = getattr(card, name)
        lines.append(f"{name} = {toml_value(value)}")
    lines += ["", "[prefixes]"]
    lines += [f"{role} = {toml_value(card.prefixes[role])}" for role in sorted(card.prefixes)]
    lines += ["", "[weights]"]
    lines += [
        f"file = {toml_value(card.weights.file)}",
        f"sha256 = {toml_value(card.weights.sha256)}",
    ]
    for entry in card.files:
        lines += ["", "[[files]]", f"name = {toml_value(entry.name)}"]
        lines += [f"sha256 = {toml_value(entry.sha256)}", f"size = {entry.size}"]
    return "\n".join(lines) + "\n"


_ORDER = (
    "name",
    "aliases",
    "architecture",
    "source",
    "revision",
    "licence",
    "languages",
    "dims",
    "max_tokens",
    "pooling",
    "normalize",
    "lowercase",
    "precision",
)


def toml_value(value: object) -> str:
    """Spell a string, number, boolean or tuple of strings in TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, tuple):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    # A JSON string is a TOML basic string once DEL, which TOML wants escaped, is.
    return msgspec.json.encode(str(value)).decode("utf-8").replace("\x7f", "\\u007f")


def is_model_name(text: str) -> bool:
    """Return whether ``text`` may name a model: it becomes a folder's name."""
    return _NAME.fullmatch(text) is not None


def _problems(card: ModelCard) -> list[str]:
    """Say what is wrong with a card's values, each problem beginning with the field's name."""
    found = [
        f"{field}: {text!r} is not a name; use letters, digits, '.', '-' and '_'"
        for field, names in (("name", (card.name,)), ("aliases", card.aliases))
        for text in names
        if not is_model_name(text)
    ]
    if not 1 <= card.dims <= MOST_DIMS:
        found.append(f"dims: must be from 1 to {MOST_DIMS:,}, got {card.dims}")
    if card.max_tokens < 3:  # noqa: PLR2004 - two special tokens and one of text
        found.append(f"max_tokens: must be at least 3, got {card.max_tokens}")
    if card.pooling not in POOLINGS:
        found.append(f"pooling: must be one of {', '.join(POOLINGS)}, got {card.pooling!r}")
    if card.precision not in PRECISIONS:
        found.append(f"precision: must be one of {', '.join(PRECISIONS)}, got {card.precision!r}")
    roles = [role.value for role in Role]
    found += [
        f"prefixes.{name}: no such role; there are {', '.join(roles)}"
        for name in card.prefixes
        if name not in roles
    ]
    if not _SHA256.fullmatch(card.weights.sha256):
        found.append("weights.sha256: must be 64 hexadecimal digits")
    return found + _file_problems(card.files)


def _file_problems(files: tuple[ModelFile, ...]) -> list[str]:
    found = []
    for number, entry in enumerate(files):
        if not _FILE_NAME.fullmatch(entry.name):
            found.append(f"files[{number}].name: {entry.name!r} is not a plain file name")
        if not _SHA256.fullmatch(entry.sha256):
            found.append(f"files[{number}].sha256: must be 64 hexadecimal digits")
        if entry.size < 1:
            found.append(f"files[{number}].size: must be at least 1, got {entry.size}")
    names = [entry.name for entry in files]
    found += [
        f"files: {needed} is missing"
        for needed in (GRAPH_FILE, TOKENIZER_FILE)
        if needed not in names
    ]
    if len(set(names)) < len(names):
        found.append("files: a name stands there twice")
    return found

"""The card of the bundled pair model: what it reads, where its parts stand, how it was made.

A pair model reads two texts at once and makes no vector, so its card is not a model's. Its words
are those of another bundled model: the card says which table, by the hash of its numbers.
"""

from __future__ import annotations

import math
import re
import tomllib
from pathlib import Path

import msgspec

from closecall.errors import ModelError
from closecall.models.cards import (
    CARD_FILE,
    GRAPH_FILE,
    MOST_CARD,
    ModelFile,
    Origin,
    is_model_name,
    toml_value,
)
from closecall.plain import read_plain
from closecall.toml import read_toml

PAIR_MODEL = "pair-minilm"
"""The name of the bundled pair model, and of its folder."""

PAIR_KIND = "pair"
"""What a pair model's card says under ``kind``; those of other models have no such field."""

_FORMAT = 1
_LEAST_WINDOW = 8
_SHA256 = re.compile(r"[0-9a-f]{64}")


class WordTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a pair model's words are: a tensor in the graph of another bundled model.

    ``rows`` tokens of the card's ``dims`` numbers each, float16; ``sha256`` (hex) is of those
    numbers alone, row by row, little-endian.
    """

    model: str
    file: str
    tensor: str
    rows: int
    sha256: str


class Canary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Two texts and the P(acceptable) that the model gave them when it was made, 0 to 1."""

    first: str
    second: str
    value: float


class Learnt(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A set the model was trained on: name, SPDX licence, where it is from, pairs of it."""

    name: str
    licence: str
    source: str
    pairs: int


class PairFacts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What only those who trained a pair model know of it.

    Parameters
    ----------
    licence
        SPDX expression of the weights, empty when unknown.
    languages
        BCP 47 codes of the languages it learnt; empty when unknown.
    trained
        How: the command, its seeds and digests, in words.
    limits
        What it is known to get wrong, a sentence each.
    figures
        Numbers it was measured at, by what they are.
    data
        What it was trained on.
    """

    licence: str = ""
    languages: tuple[str, ...] = ()
    trained: str = ""
    limits: tuple[str, ...] = ()
    figures: dict[str, int | float] = {}
    data: tuple[Learnt, ...] = ()


class PairCard(PairFacts, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Facts of a pair model; no behaviour.

    Parameters
    ----------
    name
        What people type.
    architecture
        The family its encoder is of.
    dims
        Width of a word.
    window
        Most tokens of a pair, special ones included.
    precision
        ``int8-weights``: matrices stored as int8, computed in float32.
    tokenizer
        The tokenizer's file, which stands beside the words.
    words
        Where the words are.
    weights
        The trained file the graph was made of.
    files
        The files of the folder with their hashes; ``model.onnx`` at least.
    canaries
        Pairs that show whether it still computes what it did.
    """

    name: str
    dims: int
    window: int
    precision: str
    tokenizer: ModelFile
    words: WordTable
    weights: Origin
    files: tuple[ModelFile, ...]
    canaries: tuple[Canary, ...]
    architecture: str = "bert"

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


class _Document(PairCard, frozen=True, kw_only=True):
    """A card as it stands in the file, with what it is and the format's version."""

    format: int
    kind: str


def read_pair_card(path: Path) -> PairCard:
    """Return the card in a TOML file.

    Raises
    ------
    ModelError
        If the file is missing, is not a pair model's card, or a field is missing, unknown or
        wrong; the message names the field.
    """
    try:
        return _read(path)
    except FileNotFoundError:
        problem = "no such file"
    except (OSError, UnicodeDecodeError) as error:
        problem = f"cannot be read: {error}"
    except tomllib.TOMLDecodeError as error:
        problem = f"not TOML: {error}"
    except (ModelError, msgspec.ValidationError) as error:
        problem = str(error)
    raise ModelError(f"{path}: {problem}; the pair model comes with closecall: install it again")


def _read(path: Path) -> PairCard:
    raw = read_toml(read_plain(path, MOST_CARD).decode("utf-8"))
    wanted = (_FORMAT, PAIR_KIND)
    if (raw.get("format"), raw.get("kind")) != wanted:
        raise ModelError(
            f"format, kind: expected {_FORMAT} and {PAIR_KIND!r}, got "
            f"{raw.get('format')!r} and {raw.get('kind')!r}"
        )
    document = msgspec.convert(raw, _Document, strict=True)
    return PairCard(**{name: getattr(document, name) for name in PairCard.__struct_fields__})


def format_pair_card(card: PairCard) -> str:
    """Return the card as TOML: fixed order, one spelling, ending in a line break."""
    lines = [f"format = {_FORMAT}", f"kind = {toml_value(PAIR_KIND)}"]
    lines += [f"{name} = {_value(getattr(card, name))}" for name in _ORDER]
    for title in ("words", "tokenizer", "weights"):
        lines += ["", f"[{title}]", *_fields(getattr(card, title))]
    lines += ["", "[figures]"]
    lines += [f"{toml_value(name)} = {card.figures[name]!r}" for name in card.figures]
    for title, entries in (
        ("files", card.files),
        ("canaries", card.canaries),
        ("data", card.data),
    ):
        for entry in entries:
            lines += ["", f"[[{title}]]", *_fields(entry)]
    return "\n".join(lines) + "\n"


_ORDER = (
    "name",
    "architecture",
    "dims",
    "window",
    "precision",
    "licence",
    "languages",
    "trained",
    "limits",
)


def _fields(entry: msgspec.Struct) -> list[str]:
    return [f"{name} = {_value(getattr(entry, name))}" for name in entry.__struct_fields__]


def _value(value: object) -> str:
    return repr(value) if isinstance(value, float) else toml_value(value)


def _problems(card: PairCard) -> list[str]:
    """Say what is wrong with a card's values, each problem beginning with the field's name."""
    found = []
    if not is_model_name(card.name):
        found.append(f"name: {card.name!r} is not a name")
    if card.dims < 1 or card.words.rows < 1:
        found.append("dims, words.rows: must be at least 1")
    if card.window < _LEAST_WINDOW:
        found.append(f"window: must be at least {_LEAST_WINDOW}, got {card.window}")
    hashes = {
        "tokenizer.sha256": card.tokenizer.sha256,
        "words.sha256": card.words.sha256,
        "weights.sha256": card.weights.sha256,
        **{f"files[{number}].sha256": entry.sha256 for number, entry in enumerate(card.files)},
    }
    found += [
        f"{name}: must be 64 hexadecimal digits"
        for name, text in hashes.items()
        if not _SHA256.fullmatch(text)
    ]
    names = {
        "words.model": card.words.model,
        "words.file": card.words.file,
        "tokenizer.name": card.tokenizer.name,
    }
    found += [
        f"{field}: {text!r} is not a plain name"
        for field, text in names.items()
        if not is_model_name(text)
    ]
    if [entry.name for entry in card.files] != [GRAPH_FILE]:
        found.append(f"files: expected {GRAPH_FILE} alone, as {CARD_FILE} cannot hash itself")
    if not card.canaries:
        found.append("canaries: expected one at least")
    found += [
        f"canaries[{number}].value: must lie in 0 to 1, got {canary.value!r}"
        for number, canary in enumerate(card.canaries)
        if not 0 <= canary.value <= 1
    ]
    found += [
        f"figures.{name}: must be finite, got {value!r}"
        for name, value in card.figures.items()
        if not math.isfinite(value)
    ]
    return found

"""The pair model that comes with closecall: its card, and where its parts are.

Its words and its tokenizer are those of the bundled embedding model, whose folder stands beside.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from closecall.models.cards import CARD_FILE, GRAPH_FILE
from closecall.models.pair_card import PAIR_MODEL, PairCard, read_pair_card
from closecall.models.store import bundled_folder


class StoredPair(msgspec.Struct, frozen=True):
    """A pair model on this machine: its card, its folder, and the folder of its words."""

    card: PairCard
    folder: Path
    words_folder: Path

    @property
    def graph(self) -> Path:
        """Path of the ONNX file."""
        return self.folder / GRAPH_FILE

    @property
    def words(self) -> Path:
        """Path of the file that holds the word table."""
        return self.words_folder / self.card.words.file

    @property
    def tokenizer(self) -> Path:
        """Path of the tokenizer."""
        return self.words_folder / self.card.tokenizer.name


def load_pair(folder: Path, words_folder: Path | None = None) -> StoredPair:
    """Return the pair model in a folder; its words are looked for beside it if not told where.

    Raises
    ------
    ModelError
        If the folder holds no pair model's card.
    """
    card = read_pair_card(folder / CARD_FILE)
    beside = folder.parent / card.words.model if words_folder is None else words_folder
    return StoredPair(card, folder, beside)


def find_pair() -> StoredPair:
    """Return the bundled pair model.

    Raises
    ------
    ModelError
        If it is not there or its card cannot be used: closecall is not whole.
    """
    return load_pair(bundled_folder() / PAIR_MODEL)

"""Whether the files of models are the ones that were recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from closecall.errors import ModelError
from closecall.models.bundled_pair import StoredPair, find_pair
from closecall.models.cards import CARD_FILE, GRAPH_FILE
from closecall.models.hashing import hash_file, require_file
from closecall.models.pair_card import PAIR_MODEL
from closecall.models.published import (
    RECORD_FILE,
    PublishedFolder,
    find_published,
    list_published,
    published_problems,
    unrecorded,
)
from closecall.models.store import (
    StoredModel,
    bundled_folder,
    find_model,
    list_models,
    places,
)
from closecall.models.word_table import checked_words


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


def verify_model(model: StoredModel) -> tuple[FileCheck, ...]:
    """Hash every file of a model again and compare with its card, one result a file."""
    return tuple(_check(model, number) for number in range(len(model.card.files)))


def verify_pair(pair: StoredPair) -> tuple[FileCheck, ...]:
    """Hash all that a pair model is made of again: its graph, its words and its tokenizer."""
    card = pair.card
    graph = card.file(GRAPH_FILE)

    def checked(path: Path, expected: str, check: Callable[[], object]) -> FileCheck:
        try:
            check()
        except ModelError as error:
            return FileCheck(card.name, path, expected, "", str(error))
        return FileCheck(card.name, path, expected, expected, "")

    return (
        checked(pair.graph, graph.sha256, lambda: require_file(pair.graph, graph)),
        checked(
            pair.words,
            card.words.sha256,
            lambda: checked_words(pair.words, card.words, card.dims),
        ),
        checked(
            pair.tokenizer,
            card.tokenizer.sha256,
            lambda: require_file(pair.tokenizer, card.tokenizer),
        ),
    )


def verify_bundled_pair() -> tuple[FileCheck, ...]:
    """Verify the bundled pair model; a card that cannot be used is one failed check."""
    try:
        return verify_pair(find_pair())
    except ModelError as error:
        path = bundled_folder() / PAIR_MODEL / CARD_FILE
        return (FileCheck(PAIR_MODEL, path, "", "", str(error)),)


def verify_named(name: str) -> tuple[FileCheck, ...]:
    """Hash every file of one model again: the pair model, one compiled, or one as published.

    Raises
    ------
    UnknownNameError, ModelError
        As ``find_model``.
    """
    if name.casefold() == PAIR_MODEL:
        return verify_bundled_pair()
    for _, root in places():
        published = find_published(root, name)
        if published is not None:
            return tuple(_published_checks(published))
    return verify_model(find_model(name))


def verify_all() -> tuple[FileCheck, ...]:
    """Verify every model on this machine; a folder whose card is broken is one failed check."""
    listing = list_models()
    checks = [check for model in listing.models for check in verify_model(model)]
    checks += verify_bundled_pair()
    for _, root in places():
        found, unread = list_published(root)
        checks += [check for one in found for check in _published_checks(one)]
        checks += [
            FileCheck(folder.name, folder / RECORD_FILE, "", "", problem)
            for folder, problem in unread
        ]
    checks += [
        FileCheck(broken.folder.name, broken.folder / CARD_FILE, "", "", broken.problem)
        for broken in listing.broken
    ]
    return tuple(checks)


def _published_checks(one: PublishedFolder) -> Iterator[FileCheck]:
    name = one.model.name
    for entry, found, problem in published_problems(one):
        yield FileCheck(name, one.folder / entry.path, entry.sha256, found, problem)
    for path in unrecorded(one):
        yield FileCheck(name, path, "", "", f"{path}: not one of the files that were pulled")


def _check(model: StoredModel, number: int) -> FileCheck:
    entry = model.card.files[number]
    path = model.folder / entry.name
    try:
        found = hash_file(path)
    except ModelError as error:
        return FileCheck(model.card.name, path, entry.sha256, "", str(error))
    problem = ""
    if (found.sha256, found.size) != (entry.sha256, entry.size):
        problem = (
            f"{path}: expected sha256 {entry.sha256} ({entry.size} bytes), "
            f"found {found.sha256} ({found.size} bytes)"
        )
    return FileCheck(model.card.name, path, entry.sha256, found.sha256, problem)

"""A pair model for tests: it looks whether both texts tell the same numbers, and at nothing else."""

import re
from typing import NamedTuple

import numpy as np

NUMBER = re.compile(r"\d+")


class Identity(NamedTuple):
    digest: str


class NumberReader:
    """``asked`` holds the pairs of each call; a text with ``refuses`` in it is unreadable."""

    name = "number reader"
    window = 256

    def __init__(self, digest="abcdef123456", refuses=None):
        self.identity = Identity(digest)
        self.refuses = refuses
        self.asked = []

    def count(self, text):
        return len(text.split())

    def unreadable(self, text):
        return "is not for reading" if self.refuses and self.refuses in text else None

    def score(self, pairs):
        self.asked.append(list(pairs))
        return np.array([self._one(first, second) for first, second in pairs])

    def _one(self, first, second):
        # The question stands before the reference, and may have numbers of its own.
        told, said = NUMBER.findall(first), NUMBER.findall(second)
        return 0.98 if told[-1:] == said[-1:] else 0.03

    @property
    def pairs(self):
        return [pair for call in self.asked for pair in call]


class FinerReader(NumberReader):
    """The same, less sure the fewer of the first text's words the second one has."""

    def _one(self, first, second):
        told, said = first.split()[-8:], set(second.split())
        return round(super()._one(first, second) * sum(word in said for word in told) / 8, 6)


def put(monkeypatch, folder, reader=None):
    """Make ``reader`` the bundled pair model; None: there is none."""
    own = folder / "bundled" / "pair-minilm"
    own.mkdir(parents=True, exist_ok=True)
    card = own / "card.toml"
    if reader is None:
        card.unlink(missing_ok=True)
    else:
        card.touch()
    monkeypatch.setattr("closecall.metrics.fitted.support.bundled_folder", lambda: own.parent)
    monkeypatch.setattr("closecall.metrics.support.model.bundled_pair_model", lambda: reader)
    return reader

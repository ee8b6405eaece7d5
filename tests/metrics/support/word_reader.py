"""A pair model that can be reckoned by hand: words in common, and whether both negate."""

import re
from types import SimpleNamespace

import numpy as np

_TOKEN = re.compile(r"\w+|[^\w\s]")
_NEGATIONS = {"not", "never", "no"}


def tokens(text):
    return _TOKEN.findall(text.lower())


class WordReader:
    """The share of the second text's words that the first has; a tenth of it if one negates.

    Knows ASCII only. ``asked`` holds the pairs of every call.
    """

    name = "words"

    def __init__(self, window=40, digest="aa11"):
        self.window = window
        self.identity = SimpleNamespace(digest=digest)
        self.asked = []
        self.loads = 0

    def load(self):
        self.loads += 1

    def count(self, text):
        return len(tokens(text))

    def unreadable(self, text):
        known = [token for token in tokens(text) if token.isascii()]
        return None if known else "has no token that the model knows"

    def score(self, pairs):
        self.asked.append(list(pairs))
        for first, second in pairs:
            size = self.count(first) + self.count(second) + 3
            assert size <= self.window, f"{size} tokens of {self.window}"
            assert self.unreadable(second) is None, second
        return np.array([_value(*pair) for pair in pairs])


def _value(first, second):
    there = set(tokens(first))
    words = [one for one in tokens(second) if one.isalnum() and one not in _NEGATIONS]
    share = sum(word in there for word in words) / len(words) if words else 0.0
    negated = bool(there & _NEGATIONS) != bool(set(tokens(second)) & _NEGATIONS)
    return share / 10 if negated else share

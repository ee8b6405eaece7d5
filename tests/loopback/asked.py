"""What the tests of one folder ask, and what they script a provider to say."""

import numpy as np
from fake_provider import vector

from closecall.embedders.base import TextKey
from closecall.embedders.cached import CachedEmbedder

TEXTS = ["one", "two words", "three short words", "four", "five"]


def after_first(reply):
    """Script a reply for every request but the first, which finds out what the server is."""
    return lambda received: reply(received) if received.number > 1 else None


def once(reply):
    """Script a reply for the first request after the probe only."""
    return lambda received: reply(received) if received.number == 2 else None


def expected(texts=TEXTS, dims=8):
    return np.array([vector(text, dims) for text in texts])


def outcomes(embedder, texts=TEXTS):
    """What the wrapper in front of every embedder makes of it, by text."""
    found = CachedEmbedder(embedder).fetch([TextKey(text) for text in texts])
    return {key.text: outcome for key, outcome in found.items()}


def story(count):
    return " ".join(f"word{n}" for n in range(count))

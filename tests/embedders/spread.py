"""Texts and embedders whose vectors crowd together, for the tests of isotropy."""

import functools
import random

import msgspec
import numpy as np

from closecall.embedders.base import TextKey
from closecall.embedders.isotropy.embedder import IsotropicEmbedder
from closecall.embedders.isotropy.fit import fit
from closecall.embedders.isotropy.methods import parse_method
from closecall.records import Role
from closecall.testing import HashEmbedder

DIMS = 24
WORDS = (
    "ash", "birch", "cedar", "elm", "fir", "hazel", "larch", "maple", "oak", "pine", "rowan",
    "spruce", "willow", "yew",
)  # fmt: skip
METHODS = ("centre", "components:3", "whiten:10", f"whiten:{DIMS}")


def texts(count=1_200, seed=0):
    """Different texts that all share two words, so that their vectors have much in common."""
    draw = random.Random(seed)
    found = {}
    while len(found) < count:
        found[" ".join(["the", "tree", *draw.choices(WORDS, k=draw.randint(3, 6))])] = None
    return list(found)


TEXTS = texts()


@functools.cache
def _word(word, dims):
    return HashEmbedder(dims)._word(word)


class Crowded(HashEmbedder):
    """A ``HashEmbedder`` that remembers its words."""

    def __init__(self, dims=DIMS, **options):
        super().__init__(dims, **options)

    def _word(self, word):
        return _word(word, self.instrument.dims)


class Plain:
    """Gives vectors and nothing else, not of length 1."""

    def __init__(self, dims=DIMS, **changes):
        self._inner = Crowded(dims)
        self.instrument = msgspec.structs.replace(
            self._inner.instrument, normalize=False, **changes
        )

    def embed(self, texts, role=Role.TEXT):
        scale = np.array([1 + len(text) for text in texts], dtype=np.float32)
        return self._inner.embed(texts) * scale[:, None]


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def keys(found=None):
    return [TextKey(text) for text in (TEXTS if found is None else found)]


def fitted(method, embedder=None, found=None, **options):
    return fit(embedder or Crowded(), keys(found), parse_method(method), **options)


known = functools.cache(fitted)


def isotropic(method, embedder=None):
    return IsotropicEmbedder(embedder or Crowded(), known(method).transform, Crowded().instrument)

"""Small data for cache tests: every vector is a function of its text and instrument."""

import hashlib

import numpy as np

from closecall.cache import VectorCache
from closecall.embedders.base import Embedded, TextKey
from closecall.instrument import Instrument, cache_key
from closecall.records import Role, Tokens

DIMS = 24


def instrument(**changes):
    fields = {
        "kind": "onnx",
        "model": "tiny",
        "provider": "local",
        "dims": DIMS,
        "prefixes": {"query": "query: "},
        "options": {"extra": "1"},
    }
    return Instrument(**(fields | changes))


def vector(made_by: Instrument, text: str) -> np.ndarray:
    seed = hashlib.sha256((made_by.digest + text).encode()).digest()[:8]
    return np.random.default_rng(int.from_bytes(seed)).standard_normal(made_by.dims, np.float32)


def rows(made_by: Instrument, texts, role=Role.TEXT, tokens=True):
    return [
        (
            cache_key(made_by, role, text),
            TextKey(text, role),
            Embedded(vector(made_by, text), Tokens(len(text), len(text) + 1) if tokens else None),
        )
        for text in texts
    ]


def check(cache: VectorCache, made_by: Instrument, texts, role=Role.TEXT) -> int:
    """Ask for texts; every vector that comes back must be right. Return how many came."""
    keys = {cache_key(made_by, role, text): text for text in texts}
    found = cache.get_many(made_by, list(keys))
    assert found.keys() <= keys.keys()
    for key, value in found.items():
        assert np.array_equal(value.vector, vector(made_by, keys[key]))
        assert value.vector.dtype == np.float32
        assert value.tokens in (None, Tokens(len(keys[key]), len(keys[key]) + 1))
    return len(found)


TEXTS = [f"Order {n} left the warehouse." for n in range(60)]

# For every field of an instrument another value than ``instrument()`` has.
OTHER_VALUE = {
    "kind": "sentence-transformers",
    "model": "tiny-v2",
    "provider": "azure",
    "dims": DIMS + 1,
    "revision": "abc",
    "weights": "00" * 32,
    "tokenizer": "11" * 32,
    "pooling": "cls",
    "normalize": False,
    "prefixes": {"query": "Query: "},
    "max_tokens": 512,
    "precision": "int8",
    "window": "truncate",
    "overlap": 16,
    "options": {"extra": "2"},
}

"""The public fake: an embedder for tests that needs no model."""

import subprocess
import sys

import numpy as np
import pytest

from closecall import Embedder, Role, cosine_similarity
from closecall.embedders.base import CountingEmbedder
from closecall.records import Tokens
from closecall.testing import HashEmbedder


def test_it_is_an_embedder_that_counts_tokens():
    embedder = HashEmbedder()
    assert isinstance(embedder, Embedder)
    assert isinstance(embedder, CountingEmbedder)
    assert embedder.embed_counted(["two words", ""]).tokens == [
        Tokens(2, 2, own=2),
        Tokens(1, 1, own=1),
    ]


def test_unit_vectors_in_the_order_asked():
    vectors = HashEmbedder(dims=16).embed(["a", "b c", ""], Role.QUERY)
    assert (vectors.shape, vectors.dtype) == ((3, 16), np.float32)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1])
    assert HashEmbedder(dims=16).embed([]).shape == (0, 16)


def test_texts_that_share_words_are_closer():
    same, shared, other = HashEmbedder().embed(["red cat sat", "red cat ran", "blue bird flew"])
    assert cosine_similarity(same, shared) > 0.5 > cosine_similarity(same, other)


def test_equal_in_every_process():
    code = (
        "from closecall.testing import HashEmbedder;"
        "print(HashEmbedder().embed(['some words']).tobytes().hex())"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60
    )
    assert said.stdout.strip() == HashEmbedder().embed(["some words"]).tobytes().hex()


def test_it_remembers_its_texts_and_can_be_told_to_fail():
    embedder = HashEmbedder()
    embedder.embed(["a"])
    embedder.embed(["b", "a"])
    assert embedder.texts == ["a", "b", "a"]

    def fail(texts):
        raise RuntimeError(f"no {texts[0]}")

    with pytest.raises(RuntimeError, match="no a"):
        HashEmbedder(on_embed=fail).embed(["a"])


def test_its_name_and_width_are_its_identity():
    first, second = HashEmbedder(8, model="one"), HashEmbedder(9, model="one")
    assert first.instrument.digest != second.instrument.digest
    assert HashEmbedder(8, model="two").instrument.digest != first.instrument.digest

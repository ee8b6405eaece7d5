"""Where there is not the memory, runs are halved; a text that never fits is named."""

import numpy as np
import pytest
import tiny_bert

from closecall.embedders.base import Embedded, Failure, TextKey
from closecall.embedders.cached import CachedEmbedder
from closecall.embedders.onnx import OnnxEmbedder
from closecall.errors import EmbeddingError
from closecall.models.compiler import Naming, compile_folder

SAID = {
    "arena": "bfc_arena.cc:376 Failed to allocate memory for requested buffer of size 8388608",
    "cuda": "CUDA failure 2: out of memory ; GPU=0",
    "cpu": "std::bad_alloc",
}


class Small:
    """A session that runs so many tokens at once and no more."""

    def __init__(self, raw, tokens, error):
        self.raw, self.tokens, self.error, self.seen = raw, tokens, error, []

    def run(self, outputs, feed):
        size = feed["input_ids"].size
        self.seen.append(size)
        if size > self.tokens:
            raise self.error
        return self.raw.run(outputs, feed)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    tiny_bert.write_folder(folder / "source")
    return compile_folder(
        folder / "source", folder / "model", Naming(name="tiny")
    ), folder / "model"


def embedder_in(model, tokens, said="std::bad_alloc", **options):
    embedder = OnnxEmbedder(model[1], threads=1, **options)
    loaded = embedder._ready()
    small = Small(loaded.session.raw, tokens, RuntimeError(said))
    embedder._running = loaded._replace(session=loaded.session._replace(raw=small))
    return embedder, small


TEXTS = ["red cat", "green dog", "blue bird sat"] * 20 + ["red bird ran " * 4] * 9


@pytest.mark.parametrize("kind", SAID)
def test_runs_are_halved_until_they_fit_and_the_vectors_are_the_same(model, kind):
    wanted = OnnxEmbedder(model[1], threads=1).embed(TEXTS)
    embedder, small = embedder_in(model, 60, SAID[kind])
    assert np.array_equal(embedder.embed(TEXTS), wanted)
    assert any(size > 60 for size in small.seen)
    # What did not fit is not tried again with the next texts.
    small.seen.clear()
    assert np.array_equal(embedder.embed(TEXTS), wanted)
    assert max(small.seen) <= 60


def test_with_token_vectors_as_well(model):
    wanted = OnnxEmbedder(model[1], threads=1).embed_pieces(TEXTS)
    found = embedder_in(model, 40)[0].embed_pieces(TEXTS)
    for one, other in zip(found, wanted, strict=True):
        assert np.array_equal(one.pieces.vectors, other.pieces.vectors)


def test_a_text_that_never_fits_is_named_and_the_others_are_measured(model):
    texts = [f"cat {'dog ' * count}" for count in range(1, 60)]
    embedder, _ = embedder_in(model, 12)
    with pytest.raises(EmbeddingError, match="not the memory") as raised:
        embedder.embed(texts)
    assert raised.value.indices
    found = CachedEmbedder(embedder).fetch([TextKey(text) for text in texts])
    kinds = [type(found[TextKey(text)]) for text in texts]
    measured = kinds.count(Embedded)
    assert measured >= 5
    assert kinds == [Embedded] * measured + [Failure] * (len(texts) - measured)


def test_another_failure_of_the_runtime_is_told_at_once(model):
    embedder, small = embedder_in(model, 1, "the graph is broken")
    with pytest.raises(EmbeddingError, match="the graph is broken"):
        embedder.embed(TEXTS)
    assert len(small.seen) == 1

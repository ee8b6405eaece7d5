"""Where memory does not do, batches are halved; one text that never fits is named."""

import numpy as np
import pytest
import tiny_models
from hypothesis import given
from hypothesis import strategies as st

from closecall.embedders.st.batches import padded_batches, run_batches
from closecall.embedders.st.options import StOptions
from closecall.errors import EmbeddingError

LENGTHS = st.lists(st.integers(1, 60), max_size=40)


@given(LENGTHS, st.integers(1, 200))
def test_every_window_is_in_one_batch_within_the_budget(lengths, budget):
    batches = padded_batches(range(len(lengths)), lengths, budget)
    assert sorted(at for batch in batches for at in batch) == list(range(len(lengths)))
    for batch in batches:
        longest = max(lengths[at] for at in batch)
        assert len(batch) == 1 or len(batch) * longest <= budget
    firsts = [lengths[batch[0]] for batch in batches]
    assert firsts == sorted(firsts, reverse=True)


@given(LENGTHS, st.integers(1, 400), st.integers(1, 120))
def test_whatever_fits_is_run_once_and_the_rest_is_named(lengths, budget, room):
    ran = []

    def run(batch):
        if len(batch) * max(lengths[at] for at in batch) > room:
            return False
        ran.extend(batch)
        return True

    failed, left = run_batches(lengths, budget, run)
    assert sorted([*ran, *failed]) == list(range(len(lengths)))
    assert all(lengths[at] > room for at in failed)
    assert left <= budget
    if any(len(batch) > 1 for batch in padded_batches(range(len(lengths)), lengths, left)):
        assert run_batches(lengths, left, run).budget <= left


class Small:
    """A transformer on a device that holds so many tokens at once and no more."""

    def __init__(self, module, tokens, error):
        self.module, self.tokens, self.error, self.seen = module, tokens, error, []

    def __call__(self, features):
        size = features["input_ids"].numel()
        if size > self.tokens:
            raise self.error
        self.seen.append(size)
        return self.module(features)


def errors():
    import torch

    return {
        "cuda": torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
        "cpu": RuntimeError("[enforce fail] . DefaultCPUAllocator: can't allocate memory"),
        "windows": RuntimeError("not enough memory: you tried to allocate 9 bytes."),
        "mps": RuntimeError("MPS backend out of memory (MPS allocated: 1 GB)"),
    }


def on_a_small_device(folder, tokens, error, **options):
    from closecall.embedders.st.embedder import StEmbedder

    embedder = StEmbedder(folder, StOptions(device="cpu", **options))
    loaded = embedder._ready()
    small = Small(loaded.modules[0], tokens, error)
    embedder._loaded = loaded._replace(modules=(small, *loaded.modules[1:]))
    return embedder, small


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["cuda", "cpu", "windows", "mps"])
def test_a_batch_that_does_not_fit_is_halved_until_it_does(tiny, kind):
    from closecall.embedders.st.embedder import StEmbedder

    texts = tiny_models.texts(50, seed=9, most=40)
    wanted = StEmbedder(tiny, StOptions(device="cpu")).embed(texts)
    embedder, small = on_a_small_device(tiny, 70, errors()[kind])
    assert np.abs(embedder.embed(texts) - wanted).max() < 1e-6
    assert max(small.seen) <= 70
    # What did not fit is not tried again with the next texts.
    small.error = AssertionError("tried a batch that is known not to fit")
    assert np.abs(embedder.embed(texts) - wanted).max() < 1e-6
    pieces = embedder.embed_pieces(texts)
    assert np.abs(np.stack([one.vector for one in pieces]) - wanted).max() < 1e-6


@pytest.mark.torch
def test_a_text_that_does_not_fit_alone_is_named_and_the_others_can_be_had(tiny):
    embedder, _ = on_a_small_device(tiny, 12, errors()["cuda"])
    texts = ["red cat", "red cat dog bird sat ran blue green red cat dog", "dog"]
    with pytest.raises(EmbeddingError, match="memory for a window of it") as refused:
        embedder.embed(texts)
    assert refused.value.indices == (1,)
    assert embedder.embed([texts[0], texts[2]]).shape == (2, 24)


@pytest.mark.torch
def test_a_run_keeps_the_texts_that_fit(tiny):
    from closecall.embedders.base import TextKey
    from closecall.embedders.cached import CachedEmbedder

    embedder, _ = on_a_small_device(tiny, 12, errors()["cuda"])
    long = TextKey("red cat dog bird sat ran blue green red cat dog")
    found = CachedEmbedder(embedder).fetch([TextKey("red cat"), long])
    assert "memory" in found[long].reason
    assert found[TextKey("red cat")].vector.shape == (24,)


@pytest.mark.torch
def test_texts_of_many_lengths_that_do_not_fit_cost_no_other_text_its_vector(tiny):
    from closecall.embedders.base import TextKey
    from closecall.embedders.cached import CachedEmbedder

    embedder, _ = on_a_small_device(tiny, 12, errors()["cuda"])
    long = [TextKey("red cat " * count) for count in range(6, 24)]
    found = CachedEmbedder(embedder).fetch([*long, TextKey("red cat")])
    assert all("memory" in found[key].reason for key in long)
    assert found[TextKey("red cat")].vector.shape == (24,)


@pytest.mark.torch
def test_another_failure_of_torch_is_no_lack_of_memory(tiny):
    embedder, small = on_a_small_device(tiny, 0, RuntimeError("mat1 and mat2 differ\nmore"))
    with pytest.raises(EmbeddingError, match=r"torch failed: mat1 and mat2 differ$") as refused:
        embedder.embed(["red", "cat"])
    assert refused.value.indices == ()
    assert small.seen == []

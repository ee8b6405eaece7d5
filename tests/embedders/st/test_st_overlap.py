"""Fed ahead of time, as a card is, a model makes the same of every text; here on the CPU."""

import threading

import numpy as np
import pytest
import tiny_models

from closecall.embedders import onnx_reading
from closecall.embedders.st import parts
from closecall.embedders.st.embedder import StEmbedder
from closecall.embedders.st.flow import CARD, Flow
from closecall.embedders.st.loaded import OutOfMemory
from closecall.embedders.st.options import StOptions
from closecall.errors import EmbeddingError, TextTooLongError

pytestmark = pytest.mark.torch

CPU = StOptions(device="cpu", batch_tokens=64)


@pytest.fixture
def _small_parts(monkeypatch):
    """Read eight texts at a time, so that there are many parts."""
    monkeypatch.setattr(onnx_reading, "_CALL_TEXTS", 1)
    monkeypatch.setattr(parts, "AHEAD_TEXTS", 8)


class Late:
    """A card that is waited for: it counts what is on its way, and holds so many tokens."""

    def __init__(self, loaded, room=10_000):
        self.loaded, self.room = loaded, room
        self.on_their_way, self.most, self.sizes = [], 0, []
        self.begin_error = self.finish_error = None

    def __getattr__(self, name):
        return getattr(self.loaded, name)

    def begin(self, rows, *, hidden):
        size = len(rows) * self.loaded.width(max(map(len, rows)))
        self.sizes.append(size)
        if self.begin_error is not None and len(self.sizes) == 3:
            raise self.begin_error
        if sum(self.on_their_way) + size > self.room:
            raise OutOfMemory
        self.on_their_way.append(size)
        self.most = max(self.most, len(self.on_their_way))
        pending = self.loaded.begin(rows, hidden=hidden)
        finish = pending.finish

        def land():
            assert self.on_their_way.pop(0) == size  # in order
            if self.finish_error is not None:
                raise self.finish_error
            return finish()

        pending.finish = land
        return pending


def late(folder, flow=CARD, *, options=CPU, **changes):
    embedder = StEmbedder(folder, options, flow=flow)
    embedder._loaded = card = Late(embedder._ready(), **changes)
    return embedder, card


def threads():
    return [one for one in threading.enumerate() if one.name == "closecall-ahead"]


@pytest.mark.usefixtures("_small_parts")
@pytest.mark.parametrize(
    ("make", "flow"),
    [
        (tiny_models.bert, CARD),
        (tiny_models.mpnet, CARD),
        (tiny_models.xlm_roberta, CARD),
        (tiny_models.decoder, CARD),
        (tiny_models.bert, Flow(multiple=16, depth=3)),
        (tiny_models.bert, Flow(few=True, ahead=True)),
    ],
)
def test_every_text_has_the_vector_tokens_and_pieces_it_has_without(tmp_path, make, flow):
    folder = make(tmp_path / "m")
    texts = tiny_models.texts(60, seed=3, most=60)
    plain, fed = StEmbedder(folder, CPU), StEmbedder(folder, CPU, flow=flow)
    one, two = plain.embed_counted(texts), fed.embed_counted(texts)
    assert np.abs(one.vectors - two.vectors).max() < 2e-6
    assert one.tokens == two.tokens
    for mine, theirs in zip(plain.embed_pieces(texts), fed.embed_pieces(texts), strict=True):
        assert mine.pieces.spans == theirs.pieces.spans
        assert np.allclose(mine.pieces.vectors, theirs.pieces.vectors, rtol=0, atol=1e-5)
        assert np.abs(mine.vector - theirs.vector).max() < 2e-6
    assert plain.instrument == fed.instrument
    assert not threads()


@pytest.mark.usefixtures("_small_parts")
def test_batches_begin_before_the_last_is_there_and_no_more_than_asked(tiny):
    texts = tiny_models.texts(80, seed=5, most=30)
    wanted = StEmbedder(tiny, CPU).embed(texts)
    for depth, most in ((0, 1), (1, 2), (3, 4)):
        embedder, card = late(tiny, CARD._replace(depth=depth))
        assert np.abs(embedder.embed(texts) - wanted).max() < 1e-6
        assert card.most == most
        assert not card.on_their_way


@pytest.mark.usefixtures("_small_parts")
def test_memory_that_batches_on_their_way_hold_is_waited_for_first(tiny):
    texts = tiny_models.texts(80, seed=5, most=30)
    wanted = StEmbedder(tiny, CPU).embed(texts)
    embedder, card = late(tiny, room=64)  # one batch at a time fits
    assert np.abs(embedder.embed(texts) - wanted).max() < 1e-6
    assert embedder._budget == 64  # nothing was halved
    tried = len(card.sizes)
    assert np.abs(embedder.embed(texts) - wanted).max() < 1e-6
    assert len(card.sizes) < 2 * tried  # what did not fit was not tried again
    embedder, card = late(tiny, room=24)
    assert np.abs(embedder.embed(texts) - wanted).max() < 1e-6
    assert embedder._budget < 64


@pytest.mark.usefixtures("_small_parts")
def test_texts_at_fault_keep_their_places(tiny):
    texts = ["red cat"] * 40
    for at in (3, 21, 39):
        texts[at] = "red cat dog bird sat ran blue green red cat dog"
    embedder, _ = late(tiny, room=15)
    with pytest.raises(
        EmbeddingError, match="cpu has not the memory for a window of it"
    ) as refused:
        embedder.embed(texts)
    assert refused.value.indices == (3, 21, 39)
    embedder = StEmbedder(tiny, StOptions(device="cpu", max_tokens=12), window="error", flow=CARD)
    with pytest.raises(TextTooLongError) as refused:
        embedder.embed_pieces(texts)
    assert refused.value.indices == (3, 21, 39)
    assert not threads()


@pytest.mark.usefixtures("_small_parts")
@pytest.mark.parametrize("error", [KeyboardInterrupt(), EmbeddingError("torch failed: x")])
def test_what_ends_a_call_half_way_leaves_nothing_behind(tiny, error):
    texts = tiny_models.texts(80, seed=5, most=30)
    wanted = StEmbedder(tiny, CPU).embed(texts)
    for place in ("begin_error", "finish_error"):
        embedder, card = late(tiny)
        setattr(card, place, error)
        with pytest.raises(type(error)):
            embedder.embed(texts)
        assert not threads()
        assert not embedder._flight
        card.begin_error = card.finish_error = None
        card.on_their_way.clear()
        assert np.abs(embedder.embed(texts) - wanted).max() < 1e-6


def test_a_device_that_fails_while_it_is_waited_for_is_told_as_torch(tiny):
    class Event:
        def synchronize(self):
            raise RuntimeError("CUDA error: an illegal memory access\nmore")

    embedder, card = late(tiny)
    begin = card.loaded.begin

    def failing(rows, *, hidden):
        pending = begin(rows, hidden=hidden)
        pending._there = Event()
        return pending

    card.begin = failing
    with pytest.raises(
        EmbeddingError, match=r"torch failed: CUDA error: an illegal memory access$"
    ):
        embedder.embed(["red", "cat"])


@pytest.mark.usefixtures("_small_parts")
def test_an_error_of_the_tokenizer_is_raised_to_the_caller(tiny):
    embedder, _ = late(tiny)
    with pytest.raises(EmbeddingError) as refused:
        embedder.embed([*["red"] * 30, "\ud800"])
    assert refused.value.indices == (30,)
    broken = embedder._loaded.loaded

    class Tokenizer:
        calls = 0

        def encode_batch_fast(self, texts, *, add_special_tokens):
            Tokenizer.calls += 1
            if Tokenizer.calls > 4:
                raise ValueError("no more")
            return broken.tokenizer.encode_batch_fast(texts, add_special_tokens=add_special_tokens)

    embedder._loaded = broken._replace(tokenizer=Tokenizer())
    with pytest.raises(EmbeddingError, match="its tokenizer cannot read the texts: no more"):
        embedder.embed(["red"] * 80)
    assert not threads()


class Card:
    """The parts of torch that bring a tensor to the host while the card goes on."""

    def __init__(self, torch):
        self.torch, self.calls = torch, []
        card = self

        class Event:
            def __init__(self, *, blocking):
                assert blocking  # waiting takes no core

            def record(self, stream):
                card.calls.append(("recorded", stream))

            def synchronize(self):
                card.calls.append("waited")

        class Cuda:
            current_stream = staticmethod(lambda device: f"stream of {device}")

        self.cuda = Cuda
        self.cuda.Event = Event

    def empty(self, shape, *, dtype, pin_memory):
        assert pin_memory  # or the copy would be waited for
        self.calls.append("pinned")
        return self.torch.empty(shape, dtype=dtype)


@pytest.mark.parametrize("most", [10**9, 10])
def test_a_card_is_waited_for_once_and_after_all_copies(tiny, monkeypatch, most):
    import torch

    from closecall.embedders.st import loaded

    monkeypatch.setattr(loaded, "_MOST_PINNED", most)
    card = Card(torch)
    on_card = StEmbedder(tiny, CPU)._ready()._replace(device="cuda:1")
    vectors, hidden = torch.rand(3, 24), torch.rand(3, 5, 24)
    pending = on_card._brought(card, [vectors, hidden])
    begun = ["pinned", "pinned", ("recorded", "stream of cuda:1")] if most > 10 else []
    assert card.calls == begun
    found = pending.finish()
    assert card.calls == ([*begun, "waited"] if begun else [])
    assert np.array_equal(found[0], vectors.numpy())
    assert np.array_equal(found[1], hidden.numpy())

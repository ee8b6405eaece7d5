"""Token vectors: those of the transformer, each with its place in the text."""

import numpy as np
import pytest
import tiny_models

from closecall.embedders.base import NoPiecesError
from closecall.embedders.sound_pieces import sound_pieces
from closecall.embedders.st.embedder import StEmbedder
from closecall.embedders.st.options import StOptions
from closecall.instrument import canonical_text
from closecall.records import Role

pytestmark = pytest.mark.torch

CPU = StOptions(device="cpu")


def hidden(folder, text):
    """The last hidden states of a text and its tokens' places, from the libraries themselves."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
    model = AutoModel.from_pretrained(str(folder), local_files_only=True).eval()
    given = tokenizer(text, return_tensors="pt", return_offsets_mapping=True)
    places = given.pop("offset_mapping")[0].tolist()
    with torch.inference_mode():
        states = model(**given).last_hidden_state[0].float().numpy()
    return given["input_ids"][0].tolist(), places, states


@pytest.mark.parametrize(
    "make", [tiny_models.bert, tiny_models.mpnet, tiny_models.xlm_roberta, tiny_models.decoder]
)
def test_they_are_the_hidden_states_of_the_text_s_own_tokens(tmp_path, make):
    folder = make(tmp_path / "m")
    embedder = StEmbedder(folder, CPU)
    for text in ("red cat ran", "blue  bird, x7!", "好 § é cat"):
        (found,) = embedder.embed_pieces([text])
        assert sound_pieces(found.pieces, text, 24) is not None
        ids, places, states = hidden(folder, text)
        loaded = embedder._ready()
        special = {*loaded.before.tolist(), *loaded.after.tolist(), loaded.unknown}
        own = [at for at, number in enumerate(ids) if number not in special]
        own = [at for at in own if text[slice(*places[at])].strip()]
        wanted = states[own] / np.linalg.norm(states[own], axis=1, keepdims=True)
        assert found.pieces.vectors.shape == wanted.shape
        assert np.abs(found.pieces.vectors - wanted).max() < 2e-6
        for at, (start, end) in zip(own, found.pieces.spans, strict=True):
            assert text[start:end] == text[slice(*places[at])].strip()


def test_they_are_those_of_the_other_runtime(tmp_path):
    from closecall.embedders.onnx import OnnxEmbedder
    from closecall.models.compiler import Naming, compile_folder

    folder = tiny_models.bert(tmp_path / "m", prompts={"query": "query: "})
    compile_folder(folder, tmp_path / "compiled", Naming(name="m"))
    ours, theirs = StEmbedder(folder, CPU), OnnxEmbedder(tmp_path / "compiled")
    texts = [*tiny_models.texts(30, seed=4, most=60), "cat\r\ndog", "e\u0301 cat", ""]
    for role in (Role.TEXT, Role.QUERY):
        pairs = list(
            zip(ours.embed_pieces(texts, role), theirs.embed_pieces(texts, role), strict=True)
        )
        for text, (one, two) in zip(texts, pairs, strict=True):
            assert one.tokens == two.tokens
            assert one.pieces.spans == two.pieces.spans
            assert np.allclose(one.pieces.vectors, two.pieces.vectors, rtol=0, atol=1e-5)
            assert not isinstance(sound_pieces(one.pieces, text, 24), str)
            assert len(one.pieces.spans) <= one.tokens.own
    assert sum(len(one.pieces.spans) for one, _ in pairs) > 300
    assert canonical_text(texts[-2]) == "é cat"


def test_the_text_s_vector_is_the_same_with_and_without_them(tiny):
    embedder = StEmbedder(tiny, CPU)
    texts = tiny_models.texts(20, seed=6, most=40)
    vectors, tokens = embedder.embed_counted(texts)
    found = embedder.embed_pieces(texts)
    assert np.array_equal(np.stack([one.vector for one in found]), vectors)
    assert tuple(one.tokens for one in found) == tokens


def test_they_are_cut_to_the_same_dims(tiny):
    whole = StEmbedder(tiny, CPU).embed_pieces(["red cat ran"])[0].pieces.vectors
    (cut,) = StEmbedder(tiny, StOptions(device="cpu", dims=6)).embed_pieces(["red cat ran"])
    part = whole[:, :6] / np.linalg.norm(whole[:, :6], axis=1, keepdims=True)
    assert np.abs(cut.pieces.vectors - part).max() < 2e-6


def test_a_model_whose_texts_have_another_width_has_none(tmp_path):
    folder = tiny_models.modules(tiny_models.bert(tmp_path / "m"), "Dense")
    tiny_models.dense(folder, 24, 10)
    embedder = StEmbedder(folder, CPU)
    assert embedder.embed(["red"]).shape == (1, 10)
    with pytest.raises(NoPiecesError, match="24 numbers"):
        embedder.embed_pieces(["red"])


def test_a_tokenizer_that_does_not_know_places_has_none(tiny):
    from closecall.embedders.st.slow import SlowTokenizer

    class Slow:
        """As a tokenizer written in Python answers: tokens, no places."""

        def __init__(self, fast):
            self.fast = fast

        def __call__(self, texts, *, add_special_tokens, truncation, verbose):
            found = self.fast.encode_batch(texts, add_special_tokens=add_special_tokens)
            return {"input_ids": [one.ids for one in found]}

    texts = tiny_models.texts(12, seed=8)
    fast = StEmbedder(tiny, CPU)
    slow = StEmbedder(tiny, CPU)
    loaded = slow._ready()
    slow._loaded = loaded._replace(
        tokenizer=SlowTokenizer(Slow(loaded.tokenizer)), places=False, cuttable=False
    )
    assert np.array_equal(slow.embed(texts), fast.embed(texts))
    with pytest.raises(NoPiecesError, match="where in a text"):
        slow.embed_pieces(texts)

"""The published all-MiniLM-L6-v2: the library's vectors, and those of the bundled graph."""

import numpy as np
import pytest
from reference_texts import reference_texts

from closecall.embedders.onnx import OnnxEmbedder
from closecall.embedders.registry import load_embedder
from closecall.models.store import find_model

pytestmark = pytest.mark.torch


def test_it_gives_the_library_s_vectors(published):
    from sentence_transformers import SentenceTransformer

    texts = reference_texts()
    model = SentenceTransformer(str(published), device="cpu", local_files_only=True)
    wanted = model.encode(texts, show_progress_bar=False)
    found = load_embedder(f"st:{published}?device=cpu", window="truncate").embed(texts)
    assert np.abs(found - wanted).max() < 1e-6


def test_it_is_another_instrument_than_the_bundled_graph_and_near_it(published):
    texts = reference_texts()
    ours = load_embedder(f"st:{published}?device=cpu")
    theirs = OnnxEmbedder(find_model())
    assert ours.instrument.digest != theirs.instrument.digest
    assert ours.instrument.weights == find_model().card.weights.sha256
    assert ours.instrument.tokenizer == theirs.instrument.tokenizer
    one, two = ours.embed_pieces(texts), theirs.embed_pieces(texts)
    assert [a.tokens for a in one] == [b.tokens for b in two]
    assert [a.pieces.spans for a in one] == [b.pieces.spans for b in two]
    # The bundled graph keeps its weights as float16.
    assert max(np.abs(a.vector - b.vector).max() for a, b in zip(one, two, strict=True)) < 1e-3
    assert min(a.vector @ b.vector for a, b in zip(one, two, strict=True)) > 0.99999


def test_the_same_weights_in_float32_give_the_same_vectors(published, tmp_path):
    from closecall.models.compiler import Naming, compile_folder

    compile_folder(published, tmp_path / "compiled", Naming(name="m"))
    texts = reference_texts()[:60]
    ours = load_embedder(f"st:{published}?device=cpu")
    theirs = OnnxEmbedder(tmp_path / "compiled")
    for a, b in zip(ours.embed_pieces(texts), theirs.embed_pieces(texts), strict=True):
        assert np.abs(a.vector - b.vector).max() < 2e-6
        assert np.allclose(a.pieces.vectors, b.pieces.vectors, rtol=0, atol=1e-5)

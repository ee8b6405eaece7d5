"""The shipped pair model against the library it was trained with: one pair, one number."""

import numpy as np
import pytest
import tiny_pair

pytest.importorskip("torch", reason="the extra 'torch' is not installed")
pytest.importorskip("transformers", reason="the extra 'torch' is not installed")
pytest.importorskip("onnx", reason="the extra 'compile' is not installed")

import torch
from pair import graph, shipping
from transformers import BertForSequenceClassification

from closecall.metrics.support.model import PairModel
from closecall.models.bundled_pair import load_pair


@pytest.mark.parametrize(("bits", "most"), [(8, 0.02), (32, 1e-5)])
def test_it_gives_what_the_library_gives(tmp_path, monkeypatch, bits, most):
    tiny_pair.write(tmp_path)
    if bits == 32:
        monkeypatch.setattr(graph, "is_matrix", lambda values: False)
        monkeypatch.setattr(shipping, "restored", lambda matrix: matrix)
    shipping.ship(
        tmp_path / "trained", tmp_path / "pair", tmp_path / "words", samples=tiny_pair.SAMPLES
    )
    model = PairModel(load_pair(tmp_path / "pair", tmp_path / "words"))
    theirs = BertForSequenceClassification.from_pretrained(tmp_path / "trained").eval()
    pairs = [*tiny_pair.SAMPLES, ("red " * 20, "cat ran " * 9), ("好 é", "?")]
    wanted = []
    for pair in pairs:
        ids, types = (torch.from_numpy(part.astype(np.int64))[None] for part in model.row(*pair))
        with torch.inference_mode():
            logits = theirs(input_ids=ids, token_type_ids=types).logits
        wanted.append(float(torch.sigmoid(logits.double())[0, 0]))
    assert np.abs(model.score(pairs) - wanted).max() < most

"""Compiled and exported models against the library that published them: one text, one vector."""

import sys
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

pytest.importorskip("torch", reason="the extra 'torch' is not installed")
pytest.importorskip("sentence_transformers", reason="the extra 'torch' is not installed")
sys.path.insert(0, str(Path(__file__).parent / "st"))

import tiny_models

from closecall.embedders.onnx import OnnxEmbedder
from closecall.embedders.registry import load_embedder
from closecall.models.compiler import Naming, compile_folder
from closecall.records import Role

TEXTS = [*tiny_models.texts(40), "", "cat " * 70, "<pad> cat", "好é 42 x7"]


def mpnet(folder):
    """Its window as long as its positions: the library counts from 2, whatever pads."""
    made = tiny_models.mpnet(folder)
    tiny_models.edit_json(made / "sentence_bert_config.json", max_seq_length=32)
    return made


def xlm_roberta(folder):
    """Its special tokens known to the tokenizer's own file, as in published ones."""
    made = tiny_models.xlm_roberta(folder)
    tokenizer = Tokenizer.from_file(str(made / "tokenizer.json"))
    tokenizer.add_special_tokens(["<s>", "<pad>", "</s>", "<unk>"])
    tokenizer.save(str(made / "tokenizer.json"))
    return made


KINDS = {
    "bert": tiny_models.bert,
    "mpnet": mpnet,
    "xlm-roberta": xlm_roberta,
}


def agree(ours, theirs, tolerance=1e-5):
    for text, one, other in zip(TEXTS, ours, theirs, strict=True):
        assert one.tokens == other.tokens, text
        assert one.pieces.spans == other.pieces.spans, text
        np.testing.assert_allclose(one.vector, other.vector, atol=tolerance, err_msg=text)
        np.testing.assert_allclose(one.pieces.vectors, other.pieces.vectors, atol=tolerance)


@pytest.mark.parametrize("window", ["chunk", "truncate"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_compiled_model_is_the_published_one(tmp_path, kind, window):
    folder = KINDS[kind](tmp_path / "source")
    card = compile_folder(folder, tmp_path / "out", Naming(name="tiny"))
    assert card.architecture == kind
    ours = OnnxEmbedder(tmp_path / "out", threads=1, window=window)
    theirs = load_embedder(f"st:{folder}?device=cpu", window=window)
    assert ours.instrument.max_tokens == theirs.instrument.max_tokens
    for role in Role:
        agree(ours.embed_pieces(TEXTS, role), theirs.embed_pieces(TEXTS, role))


@pytest.mark.parametrize("kind", [*KINDS, "decoder"])
@pytest.mark.filterwarnings("ignore")  # the exporter's own
def test_an_export_is_the_published_one(tmp_path, kind):
    import torch
    from transformers import AutoModel

    folder = {**KINDS, "decoder": tiny_models.decoder}[kind](tmp_path / "source")
    bare = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    names = ["input_ids", "attention_mask"]
    if kind == "bert":
        names.append("token_type_ids")

    class Hidden(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bare = bare

        def forward(self, *given):
            options = {"use_cache": False} if kind == "decoder" else {}
            return self.bare(**dict(zip(names, given, strict=True)), **options).last_hidden_state

    ids = torch.full((2, 9), 5)
    mask = torch.ones_like(ids)
    mask[1, 6:] = 0
    (folder / "onnx").mkdir()
    given = (ids, mask, torch.zeros_like(ids))[: len(names)]
    axes = {name: {0: "n", 1: "s"} for name in [*names, "last_hidden_state"]}
    torch.onnx.export(
        Hidden(),
        given,
        str(folder / "onnx" / "model.onnx"),
        input_names=names,
        output_names=["last_hidden_state"],
        dynamic_axes=axes,
        opset_version=17,
        dynamo=False,
    )
    ours, theirs = load_embedder(f"onnx:{folder}", threads=1), load_embedder(f"st:{folder}")
    agree(ours.embed_pieces(TEXTS), theirs.embed_pieces(TEXTS))

"""The same weights as an ONNX file in the layout fastembed reads."""

from __future__ import annotations

import contextlib
import io
import logging
import shutil
import warnings
from pathlib import Path
from typing import Any

_BESIDE = ("config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")
_NAMES = ("input_ids", "attention_mask", "token_type_ids")


def export(weights: Path, folder: Path) -> Path:
    """Write ``model.onnx`` (last hidden states, as published exports give) into ``folder``.

    A plain trace of the eager model. It is the fastest graph found for fastembed: the newer
    exporter, the SDPA kernels and onnxruntime's offline BERT optimizer gave slower ones.
    """
    import torch
    from transformers import AutoModel

    class Hidden(torch.nn.Module):
        def __init__(self, bert):
            super().__init__()
            self.bert = bert

        def forward(self, input_ids, attention_mask, token_type_ids):
            return self.bert(
                input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
            ).last_hidden_state

    folder.mkdir(parents=True, exist_ok=True)
    ids = torch.ones(2, 16, dtype=torch.long)
    mask = ids.clone()
    mask[1, 9:] = 0  # a mask of ones only would be left out of the trace
    axes = {name: {0: "batch", 1: "sequence"} for name in (*_NAMES, "last_hidden_state")}
    options: dict[str, Any] = {"dynamo": False, "opset_version": 17}
    with _quiet():
        bert = AutoModel.from_pretrained(str(weights), attn_implementation="eager").eval()
        torch.onnx.export(
            Hidden(bert).eval(),
            (ids, mask, torch.zeros_like(ids)),
            str(folder / "model.onnx"),
            input_names=list(_NAMES),
            output_names=["last_hidden_state"],
            dynamic_axes=axes,
            **options,
        )
    for name in _BESIDE:
        if (weights / name).is_file():
            shutil.copyfile(weights / name, folder / name)
    return folder


@contextlib.contextmanager
def _quiet():
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        yield

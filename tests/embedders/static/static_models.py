"""Small static models in the published layouts, written by the definition of the format."""

import json

import numpy as np
import tiny_bert
from tokenizers import Tokenizer

WIDTH = 5
SIZE = len(tiny_bert.VOCABULARY)
TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I8": "i1"}


def rows(seed=0, count=SIZE):
    """Vectors of tokens; that of padding is zero, as in published models."""
    found = np.random.default_rng(seed).normal(0, 1, (count, WIDTH)).astype(np.float32)
    found[0] = 0
    return found


def tensor_bytes(values, dtype):
    if dtype == "BF16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype("<u2").tobytes()
    return values.astype(TYPES[dtype]).tobytes()


def tensor_file(tensors):
    """Return a file of (values, dtype) by name."""
    header, data = {}, b""
    for name, (values, dtype) in tensors.items():
        raw = tensor_bytes(values, dtype)
        place = [len(data), len(data) + len(raw)]
        header[name] = {"dtype": dtype, "shape": values.shape, "data_offsets": place}
        data += raw
    return framed(json.dumps(header).encode(), data)


def framed(header, data=b""):
    return len(header).to_bytes(8, "little") + header + data


def modules(*kinds):
    return [{"type": f"sentence_transformers.models.{kind}", "path": ""} for kind in kinds]


def write_static(
    folder,
    *,
    table=None,
    dtype="F32",
    weights=None,
    mapping=None,
    config=None,
    tokenizer=None,
):
    """Write a model in the layout of model2vec; return the folder."""
    tensors = {"embeddings": (rows() if table is None else table, dtype)}
    if weights is not None:
        tensors["weights"] = (np.asarray(weights), "F32")
    if mapping is not None:
        tensors["mapping"] = (np.asarray(mapping), "I64")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.safetensors").write_bytes(tensor_file(tensors))
    (tokenizer or tiny_bert.tokenizer()).save(str(folder / "tokenizer.json"))
    settings = {"model_type": "model2vec", "normalize": True, **(config or {})}
    tiny_bert.write_json(folder / "config.json", settings)
    return folder


def write_static_embedding(folder, *, nested, normalize, table=None):
    """Write a model in the layout of sentence-transformers; return the folder."""
    inner = folder / "0_StaticEmbedding" if nested else folder
    inner.mkdir(parents=True, exist_ok=True)
    table = rows() if table is None else table
    (inner / "model.safetensors").write_bytes(tensor_file({"embedding.weight": (table, "F32")}))
    tiny_bert.tokenizer().save(str(inner / "tokenizer.json"))
    kinds = ("StaticEmbedding", "Normalize") if normalize else ("StaticEmbedding",)
    tiny_bert.write_json(folder / "modules.json", modules(*kinds))
    return folder


def by_hand(folder, text, *, weights=None, mapping=None, normalize=True, table=None):
    """Return a text's vector by a plain loop over its tokens, in Python's own numbers."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    table = rows() if table is None else table
    unknown = tokenizer.token_to_id("[UNK]")
    total, count = [0.0] * table.shape[1], 0
    for token in tokenizer.encode(text, add_special_tokens=False).ids:
        if token == unknown:
            continue
        row = table[token if mapping is None else mapping[token]]
        share = 1.0 if weights is None else float(weights[token])
        total = [before + share * float(number) for before, number in zip(total, row, strict=True)]
        count += 1
    total = [number / count for number in total]
    length = sum(number * number for number in total) ** 0.5 if normalize else 1.0
    return np.array([number / length for number in total])

"""A static model made ready: its tokenizer, and its table of token vectors."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from closecall.embedders.base import Vectors
from closecall.embedders.onnx_runtime import Ids
from closecall.errors import ModelError
from closecall.models.safetensors_file import TensorFile
from closecall.models.static_files import TABLES, StaticFolder
from closecall.models.tokenizer_files import read_tokenizer

Floats = NDArray[np.float64]

WEIGHTS = "weights"
MAPPING = "mapping"

PRECISIONS = {
    "F64": "fp64-weights",
    "F32": "fp32",
    "F16": "fp16-weights",
    "BF16": "bf16-weights",
    "I8": "int8-weights",
}
"""The types a table may be stored in, and what they are called. It is held in float32."""

_BLOCK = 8192
"""Token vectors of one text that are held at once while they are added up."""

_NO_IDS: Ids = np.empty(0, dtype=np.int32)
_MATRIX = 2


class StaticTable(NamedTuple):
    """A tokenizer and a vector for each of its tokens.

    ``rows`` is float32, (r, d); ``mapping`` says which row is a token's, int64, (v,), and
    ``weights`` how much it counts, float64, (v,); None: the row of its own number; all alike.
    The other members are what ``Reader`` asks of a model: no special tokens stand around a text.
    """

    tokenizer: Any
    rows: Vectors
    mapping: NDArray[np.int64] | None
    weights: Floats | None
    unknown: int
    cuttable: bool
    before: Ids = _NO_IDS
    after: Ids = _NO_IDS

    def vectors(self, ids: Ids) -> Vectors:
        """Return the vectors of tokens, as they stand in the table: float32, (t, d)."""
        found: Vectors = self.rows[ids if self.mapping is None else self.mapping[ids]]
        return found

    def mean(self, ids: Ids) -> Floats:
        """Return the mean of the tokens' vectors, each times its weight: float64, (d,).

        The tokens are added one after the other in float64, so that the sum depends on nothing
        but them. The divisor is their number, as in model2vec, not the sum of their weights.

        Parameters
        ----------
        ids
            Tokens, one at least.
        """
        total = np.zeros(self.rows.shape[1], dtype=np.float64)
        for at in range(0, len(ids), _BLOCK):
            block = ids[at : at + _BLOCK]
            rows = self.vectors(block)
            if self.weights is None:
                total += np.add.reduce(rows, axis=0, dtype=np.float64)
            else:
                total += np.add.reduce(rows * self.weights[block][:, None], axis=0)
        return total / len(ids)

    def nothing(self) -> NDArray[np.bool_]:
        """Return which tokens have a vector of zeros: bool, (v,)."""
        empty = np.logical_not(np.asarray(self.rows.any(axis=1)))
        return empty if self.mapping is None else empty[self.mapping]


def find_table(tensors: TensorFile, folder: StaticFolder) -> tuple[str, int, str]:
    """Return the table's name, the width of its vectors, and what their type is called.

    Raises
    ------
    ModelError
        There is no table, there are two, or it is none.
    """
    names = [name for name in TABLES if name in tensors.tensors]
    if len(names) != 1:
        there = ", ".join(sorted(tensors.tensors)) or "none"
        raise ModelError(
            f"{folder.weights}: expected one tensor named {' or '.join(TABLES)}; there are: "
            f"{there}"
        )
    tensor = tensors.tensors[names[0]]
    where = f"{folder.weights}: tensor {names[0]!r}"
    if len(tensor.shape) != _MATRIX or not all(tensor.shape):
        raise ModelError(f"{where}: expected a row a token, got shape {tensor.shape}")
    if tensor.dtype not in PRECISIONS:
        raise ModelError(f"{where} is {tensor.dtype}; known are {', '.join(PRECISIONS)}")
    return names[0], tensor.shape[1], PRECISIONS[tensor.dtype]


def make_table(folder: StaticFolder, tensors: TensorFile, tokenizer: bytes) -> StaticTable:
    """Return a static model that can be used; some 0.1 s for 30,000 tokens.

    Raises
    ------
    ModelError
        The tokenizer is none, it does not fit the table, or a number is not finite.
    ConfigurationError
        The tokenizers library cannot be imported.
    """
    made = _tokenizer(folder, tokenizer)
    rows = _floats(folder, tensors, find_table(tensors, folder)[0])
    vocabulary = made.get_vocab(with_added_tokens=True)
    mapping = _mapping(folder, tensors, len(rows))
    count = len(rows) if mapping is None else len(mapping)
    highest = max(vocabulary.values(), default=-1)
    if len(vocabulary) != count or highest >= count:
        raise ModelError(
            f"{folder.tokenizer}: has {len(vocabulary):,} tokens, the highest is number "
            f"{highest:,}; {folder.weights} has vectors for {count:,}. One of the two files "
            "belongs to another model"
        )
    pre, normalizer = made.pre_tokenizer, made.normalizer
    name = getattr(made.model, "unk_token", None)
    return StaticTable(
        tokenizer=made,
        rows=rows,
        mapping=mapping,
        weights=_weights(folder, tensors, count),
        unknown=vocabulary.get(name, -1) if name else -1,
        # As for compiled models: where these two stand, a cut before a space changes no token.
        cuttable=type(pre).__name__ == "BertPreTokenizer"
        and type(normalizer).__name__ in ("BertNormalizer", "NoneType"),
    )


def _tokenizer(folder: StaticFolder, data: bytes) -> Any:
    # As for compiled models: texts are tokenised on the embedder's own threads.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    # Published files often cut and pad; a static model reads a text of any length.
    return read_tokenizer(folder.tokenizer, data)


def _floats(folder: StaticFolder, tensors: TensorFile, name: str) -> Vectors:
    """Return a tensor as float32, a view of the file where it is stored so."""
    raw = tensors.array(name)
    if tensors.tensors[name].dtype == "BF16":
        raw = (raw.astype(np.uint32) << 16).view(np.float32)
    with np.errstate(over="ignore"):
        found: Vectors = raw.astype(np.float32, copy=False)
    if not np.isfinite(found).all():
        raise ModelError(
            f"{folder.weights}: tensor {name!r} holds a number that is not finite in float32"
        )
    return found


def _mapping(folder: StaticFolder, tensors: TensorFile, rows: int) -> NDArray[np.int64] | None:
    tensor = tensors.tensors.get(MAPPING)
    if tensor is None:
        return None
    where = f"{folder.weights}: tensor {MAPPING!r}"
    if tensor.dtype not in {"I64", "I32"} or len(tensor.shape) != 1:
        raise ModelError(
            f"{where}: expected a whole number a token, got {tensor.dtype} of shape {tensor.shape}"
        )
    found = tensors.array(MAPPING).astype(np.int64, copy=False)
    if len(found) and (int(found.min()) < 0 or int(found.max()) >= rows):
        raise ModelError(f"{where}: a number is no row of the table, which has {rows:,}")
    return found


def _weights(folder: StaticFolder, tensors: TensorFile, count: int) -> Floats | None:
    tensor = tensors.tensors.get(WEIGHTS)
    if tensor is None:
        return None
    if tensor.dtype not in PRECISIONS or tensor.shape != (count,):
        raise ModelError(
            f"{folder.weights}: tensor {WEIGHTS!r}: expected a number for each of {count:,} "
            f"tokens, got {tensor.dtype} of shape {tensor.shape}"
        )
    return _floats(folder, tensors, WEIGHTS).astype(np.float64)

"""The pair model as an ONNX graph: the bundled encoder's layers and a head, in 8 bits.

Inputs are ``words``, float32 (n, s, d), the rows of the bundled model's word table, and
``token_type_ids`` and ``attention_mask``, int32 (n, s). The output is ``logit``, float32 (n,).
Matrices are stored as int8, one scale for each of their outputs, and multiplied out to float32
once, when a session loads; all arithmetic is float32. The same inputs give the same bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from closecall.models.bert_graph import Encoder
from closecall.models.encoder_config import BertConfig
from closecall.models.graph_builder import Builder, GraphOptions
from closecall.models.weights import Tensor, Weights

WINDOW = 256
"""Most tokens of a pair, special ones included: the rows of the position table that are kept."""

LOGIT = "logit"
WORDS = "words"
POSITIONS = "positions"

STEPS = 127
"""The largest number of int8 in use; with -128 the range would not be the same either way."""

FEW = 2
"""Tokens that the last layer is finished for. Only the first is read, but a runtime may multiply a
single row with another kernel, which adds in another order: one pair would not score as two do."""

_SMALLEST_MATRIX = 4096


def quantised(matrix: Tensor) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return a matrix in 8 bits and the scale of each output.

    Parameters
    ----------
    matrix
        float32, (in, out).

    Returns
    -------
    The steps, int8 (in, out) from -127 to 127, and what a step is worth, float32 (out,), above 0.
    An output of zeros only has scale 1.
    """
    largest = np.abs(matrix).max(axis=0)
    scale = np.where(largest > 0, largest / np.float32(STEPS), np.float32(1)).astype(np.float32)
    steps = np.clip(np.rint(matrix / scale), -STEPS, STEPS).astype(np.int8)
    return steps, scale


def restored(matrix: Tensor) -> Tensor:
    """Return what a session computes with in a matrix's place: float32, (in, out)."""
    steps, scale = quantised(matrix)
    return steps.astype(np.float32) * scale


def is_matrix(values: Tensor) -> bool:
    """Return whether a weight is stored in 8 bits, if it is a matrix and no table."""
    return values.ndim == 2 and values.size >= _SMALLEST_MATRIX


def pair_graph(config: BertConfig, weights: Weights) -> bytes:
    """Return the serialised ONNX model; needs onnx.

    Raises
    ------
    ModelError
        If a tensor is missing or has the wrong shape.
    """
    import onnx

    builder = _Builder(onnx, GraphOptions(pooling="cls", normalize=False, half=False))
    _Pair(builder, config, weights).build()
    kinds, width = onnx.TensorProto, config.hidden_size
    return builder.finished(
        "pair",
        [
            builder.declared(WORDS, kinds.FLOAT, "n", "s", width),
            builder.declared("token_type_ids", kinds.INT32, "n", "s"),
            builder.declared("attention_mask", kinds.INT32, "n", "s"),
        ],
        [builder.declared(LOGIT, kinds.FLOAT, "n")],
    )


class _Builder(Builder):
    """Stores matrices as int8 with scales, and the rest as it is."""

    def weight(self, name: str, values: Tensor) -> str:
        """Add a weight and return the name of its float32 form."""
        if name == POSITIONS or not is_matrix(values):
            return self.constant(name, values)
        steps, scale = quantised(values)
        whole = self.as_float(self.constant(f"{name}.steps", steps), f"{name}.whole")
        return self.node("Mul", [whole, self.constant(f"{name}.scale", scale)], name)


class _Pair:
    """Adds the nodes from the words of a pair to its logit."""

    def __init__(self, builder: Builder, config: BertConfig, weights: Weights) -> None:
        self._builder = builder
        self._config = config
        self._weights = weights
        self._encoder = Encoder(builder, config, weights)

    def build(self) -> None:
        """Add everything."""
        hidden = self._embeddings()
        last = self._config.num_hidden_layers - 1
        for number in range(last):
            attended = self._encoder.attended(number, hidden)
            hidden = self._encoder.layer(number, hidden, attended, f"hidden.{number + 1}")
        # The head reads the first token alone, so an eighth of the work can be left out.
        attended = self._first(self._encoder.attended(last, hidden), FEW, "attended.few")
        hidden = self._first(hidden, FEW, "hidden.few")
        self._head(self._encoder.layer(last, hidden, attended, f"hidden.{last + 1}"))

    def _embeddings(self) -> str:
        """Words, positions and types, summed and normalised: (n, s, d)."""
        node, names, width = (
            self._builder.node,
            self._config.family.names,
            self._config.hidden_size,
        )
        shape = (self._config.max_position_embeddings, width)
        positions = self._weights.tensor(f"{names.positions}.weight", shape)[:WINDOW]
        types = self._weights.tensor(
            f"{names.types}.weight", (self._config.type_vocab_size, width)
        )
        zero = self._builder.axis(0)
        length = node("Shape", [WORDS], "length", start=1, end=2)
        whole = self._builder.weight(POSITIONS, positions)
        rows = node("Slice", [whole, zero, length, zero], "position.rows")
        kinds = node(
            "Gather", [self._builder.weight("types", types), "token_type_ids"], "type.rows"
        )
        total = node("Add", [node("Add", [WORDS, rows], "placed"), kinds], "embeddings.sum")
        norm = self._encoder.norm(names.norm, "embeddings.norm")
        epsilon = self._config.layer_norm_eps
        return node("LayerNormalization", [total, *norm], "hidden.0", axis=-1, epsilon=epsilon)

    def _head(self, hidden: str) -> None:
        """From the first tokens, (n, 2, d), to the logit: (n,)."""
        node, weight, width = self._builder.node, self._builder.weight, self._config.hidden_size
        matrix, bias = self._encoder.linear("pooler.dense")
        product = node("MatMul", [hidden, weight("pooler", matrix)], "pooler.product")
        first = self._first(product, 1, "pooler.first")
        moved = node("Add", [first, weight("pooler.bias", bias)], "pooler.moved")
        pooled = node("Tanh", [moved], "pooled")
        row = self._weights.tensor("classifier.weight", (1, width), head=True)[0]
        offset = self._weights.tensor("classifier.bias", (1,), head=True)
        # Summed row by row: a product may take another kernel for one pair than for several.
        parts = node("Mul", [pooled, weight("classifier", row)], "logit.parts")
        axes = self._builder.constant("axes", np.array([1, 2], dtype=np.int64))
        total = node("ReduceSum", [parts, axes], "logit.sum", keepdims=0)
        node("Add", [total, weight("classifier.bias", offset)], LOGIT)

    def _first(self, value: str, count: int, output: str) -> str:
        """Return the first tokens only: (n, s, d) to (n, count, d)."""
        axis: Any = self._builder.axis
        return self._builder.node("Slice", [value, axis(0), axis(count), axis(1)], output)

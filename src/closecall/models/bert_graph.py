"""The BERT encoder as an ONNX graph, written with the runtime's fused operators.

Inputs are ``input_ids`` and ``attention_mask``, int32 (n, s), and on request
``token_type_ids``. Outputs are ``embedding`` (n, d), pooled and perhaps of length 1, and
``tokens`` (n, s, d), the last hidden states. Weights stored as float16 are cast to float32 once,
when a session loads; all arithmetic is float32. The same inputs give the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from closecall.errors import MissingExtraError, ModelError
from closecall.models.layout import ACTIVATIONS, BertConfig
from closecall.models.weights import Tensor, Weights

EMBEDDING = "embedding"
TOKENS = "tokens"

_OPSET = 17
_IR_VERSION = 8
_FUSED = "com.microsoft"
# Biases and norms stay float32: they are a thousandth of the file and shift whole layers.
_SMALLEST_HALF = 4096


class GraphOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a graph does beyond the encoder.

    ``pooling`` is ``mean`` or ``cls``; ``half`` stores weights as float16; ``token_types`` adds
    the third input, otherwise every token is of type 0.
    """

    pooling: str
    normalize: bool
    half: bool
    token_types: bool = False


def bert_graph(config: BertConfig, weights: Weights, options: GraphOptions) -> bytes:
    """Return the serialised ONNX model.

    Raises
    ------
    MissingExtraError
        If onnx is not installed.
    ModelError
        If a tensor is missing, has the wrong shape, or does not fit float16.
    """
    try:
        import onnx
    except ImportError as error:
        raise MissingExtraError("Compiling a model", "compile", ["onnx"]) from error
    builder = _Builder(onnx, options)
    _Encoder(builder, config, weights).build()
    _pool(builder, options)
    return builder.serialise(config.hidden_size)


class _Builder:
    """Collects nodes and initialisers; every value is named once, in order."""

    def __init__(self, onnx: Any, options: GraphOptions) -> None:
        self.options = options
        self._onnx = onnx
        self._nodes: list[Any] = []
        self._initialisers: list[Any] = []
        self._axes: set[int] = set()

    def node(
        self,
        kind: str,
        inputs: Sequence[str],
        output: str,
        *,
        fused: bool = False,
        **attributes: Any,
    ) -> str:
        """Add a node with one output and return the output's name."""
        self._nodes.append(
            self._onnx.helper.make_node(
                kind, list(inputs), [output], domain=_FUSED if fused else "", **attributes
            )
        )
        return output

    def stored(self, name: str, values: Tensor) -> str:
        """Add a weight as it is stored, half or full, and return its name."""
        if not self.halved(values):
            return self._constant(name, values)
        with np.errstate(over="ignore"):
            half = values.astype(np.float16)
        if not np.isfinite(half).all():
            raise ModelError(
                f"{name}: a weight of {np.abs(values).max():g} does not fit float16; "
                "compile with storage fp32"
            )
        return self._constant(name, half)

    def halved(self, values: Tensor) -> bool:
        """Return whether a weight is stored as float16."""
        return self.options.half and values.size >= _SMALLEST_HALF

    def weight(self, name: str, values: Tensor) -> str:
        """Add a weight and return the name of its float32 form."""
        if self.halved(values):
            return self.as_float(self.stored(f"{name}.half", values), name)
        return self.stored(name, values)

    def as_float(self, value: str, output: str) -> str:
        """Cast to float32."""
        return self.node("Cast", [value], output, to=self._onnx.TensorProto.FLOAT)

    def axis(self, number: int) -> str:
        """Return the name of a constant int64 vector holding one number."""
        name = f"axis.{number}"
        if number not in self._axes:
            self._axes.add(number)
            self._constant(name, np.array([number], dtype=np.int64))
        return name

    def serialise(self, width: int) -> bytes:
        """Return the model's bytes."""
        make, kinds = self._onnx.helper, self._onnx.TensorProto
        names = ["input_ids", "attention_mask"]
        if self.options.token_types:
            names.append("token_type_ids")
        graph = make.make_graph(
            self._nodes,
            "bert",
            [make.make_tensor_value_info(name, kinds.INT32, ["n", "s"]) for name in names],
            [
                make.make_tensor_value_info(EMBEDDING, kinds.FLOAT, ["n", width]),
                make.make_tensor_value_info(TOKENS, kinds.FLOAT, ["n", "s", width]),
            ],
            self._initialisers,
        )
        model = make.make_model(
            graph,
            ir_version=_IR_VERSION,
            opset_imports=[make.make_opsetid("", _OPSET), make.make_opsetid(_FUSED, 1)],
            producer_name="closecall",
        )
        return bytes(model.SerializeToString(deterministic=True))

    def _constant(self, name: str, values: NDArray[Any]) -> str:
        self._initialisers.append(
            self._onnx.numpy_helper.from_array(np.ascontiguousarray(values), name)
        )
        return name


class _Encoder:
    """Adds the encoder's nodes to a graph."""

    def __init__(self, builder: _Builder, config: BertConfig, weights: Weights) -> None:
        self._builder = builder
        self._config = config
        self._weights = weights

    def build(self) -> None:
        """Add everything from the inputs to ``tokens``."""
        hidden = self._embeddings()
        for number in range(self._config.num_hidden_layers):
            last = number == self._config.num_hidden_layers - 1
            hidden = self._layer(number, hidden, TOKENS if last else f"hidden.{number + 1}")

    def _embeddings(self) -> str:
        """Words, positions and token types, summed and normalised: (n, s, d).

        Rows of the word table are gathered before they are cast: casting the whole table costs
        tens of milliseconds, and its size again in memory, each time a session loads.
        """
        node, config = self._builder.node, self._config
        table = self._table("word_embeddings", config.vocab_size)
        words = node("Gather", [self._builder.stored("words", table), "input_ids"], "word.rows")
        if self._builder.halved(table):
            words = self._builder.as_float(words, "word.rows.float")
        positions = self._table("position_embeddings", config.max_position_embeddings)
        types = self._table("token_type_embeddings", config.type_vocab_size)
        if not self._builder.options.token_types:
            positions = positions + types[0]
        length = node("Shape", ["input_ids"], "length", start=1, end=2)
        zero = self._builder.axis(0)
        whole = self._builder.weight("positions", positions)
        rows = node("Slice", [whole, zero, length, zero], "position.rows")
        total = node("Add", [words, rows], "embeddings.sum")
        if self._builder.options.token_types:
            kinds = self._builder.weight("types", types)
            picked = node("Gather", [kinds, "token_type_ids"], "type.rows")
            total = node("Add", [total, picked], "embeddings.sum.typed")
        norm = self._norm("embeddings", "embeddings.norm")
        epsilon = config.layer_norm_eps
        return node("LayerNormalization", [total, *norm], "hidden.0", axis=-1, epsilon=epsilon)

    def _table(self, name: str, rows: int) -> Tensor:
        return self._weights.tensor(f"embeddings.{name}.weight", (rows, self._config.hidden_size))

    def _layer(self, number: int, hidden: str, output: str) -> str:
        """One encoder layer, post-norm: (n, s, d) to (n, s, d)."""
        node, weight, config = self._builder.node, self._builder.weight, self._config
        source, here = f"encoder.layer.{number}", f"layer.{number}"
        parts = [self._linear(f"{source}.attention.self.{p}") for p in ("query", "key", "value")]
        attended = node(
            "Attention",
            [
                hidden,
                weight(f"{here}.qkv", np.concatenate([matrix for matrix, _ in parts], axis=1)),
                weight(f"{here}.qkv.bias", np.concatenate([bias for _, bias in parts])),
                "attention_mask",
            ],
            f"{here}.attended",
            fused=True,
            num_heads=config.num_attention_heads,
        )
        hidden = self._joined(f"{source}.attention.output", f"{here}.mixed", attended, hidden)
        matrix, bias = self._linear(f"{source}.intermediate.dense", outer=config.intermediate_size)
        widened = node("MatMul", [hidden, weight(f"{here}.widen", matrix)], f"{here}.widened")
        curve = "BiasGelu" if ACTIVATIONS[config.hidden_act] == "erf" else "FastGelu"
        offset = weight(f"{here}.widen.bias", bias)
        active = node(curve, [widened, offset], f"{here}.active", fused=True)
        inner = config.intermediate_size
        return self._joined(f"{source}.output", output, active, hidden, inner=inner)

    def _joined(
        self, source: str, output: str, value: str, skipped: str, *, inner: int | None = None
    ) -> str:
        """Return norm(value @ matrix + bias + skipped).

        Three operators and not the fused SkipLayerNormalization, whose CPU kernel takes four
        times as long as they do together: 7 % of the whole model.
        """
        matrix, bias = self._linear(f"{source}.dense", inner=inner)
        name = source.removeprefix("encoder.")
        node, weight = self._builder.node, self._builder.weight
        product = node("MatMul", [value, weight(name, matrix)], f"{name}.product")
        moved = node("Add", [product, weight(f"{name}.bias", bias)], f"{name}.moved")
        total = node("Add", [moved, skipped], f"{name}.sum")
        norm = self._norm(source, f"{name}.norm")
        epsilon = self._config.layer_norm_eps
        return node("LayerNormalization", [total, *norm], output, axis=-1, epsilon=epsilon)

    def _linear(
        self, source: str, *, inner: int | None = None, outer: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return matrix (in, out) and bias (out,) of a linear layer; by default square."""
        rows, columns = inner or self._config.hidden_size, outer or self._config.hidden_size
        # Checkpoints keep linear layers as (out, in); MatMul wants (in, out).
        matrix = self._weights.tensor(f"{source}.weight", (columns, rows)).T
        return matrix, self._weights.tensor(f"{source}.bias", (columns,))

    def _norm(self, source: str, name: str) -> tuple[str, str]:
        """Return the names of a layer norm's scale and offset."""
        shape = (self._config.hidden_size,)
        scale = self._weights.tensor(f"{source}.LayerNorm.weight", shape)
        offset = self._weights.tensor(f"{source}.LayerNorm.bias", shape)
        weight = self._builder.weight
        return weight(f"{name}.scale", scale), weight(f"{name}.offset", offset)


def _pool(builder: _Builder, options: GraphOptions) -> None:
    """From (n, s, d) to (n, d): the first token, or the mean over the tokens not masked."""
    pooled = "pooled" if options.normalize else EMBEDDING
    if options.pooling == "cls":
        first = builder.node(
            "Slice",
            [TOKENS, builder.axis(0), builder.axis(1), builder.axis(1)],
            "first",
        )
        builder.node("Squeeze", [first, builder.axis(1)], pooled)
    else:
        mask = builder.as_float("attention_mask", "mask")
        row = builder.node("Unsqueeze", [mask, builder.axis(1)], "mask.row")
        product = builder.node("MatMul", [row, TOKENS], "sum.row")
        total = builder.node("Squeeze", [product, builder.axis(1)], "sum")
        count = builder.node("ReduceSum", [mask, builder.axis(1)], "count", keepdims=1)
        builder.node("Div", [total, count], pooled)
    if options.normalize:
        builder.node("LpNormalization", [pooled], EMBEDDING, axis=-1, p=2)

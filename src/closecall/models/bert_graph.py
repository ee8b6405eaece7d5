"""Encoders of BERT's kind as an ONNX graph, written with the runtime's fused operators.

Inputs are ``input_ids`` and ``attention_mask``, int32 (n, s), and on request
``token_type_ids``. Outputs are ``embedding`` (n, d), pooled and perhaps of length 1, and
``tokens`` (n, s, d), the last hidden states. Weights stored as float16 are cast to float32 once,
when a session loads; all arithmetic is float32. The same inputs give the same bytes.
"""

from __future__ import annotations

import msgspec
import numpy as np

from closecall.errors import MissingExtraError
from closecall.models.encoder_config import ACTIVATIONS, RELATIVE_BUCKETS, BertConfig
from closecall.models.graph_builder import EMBEDDING, TOKENS, Builder, GraphOptions
from closecall.models.weights import Tensor, Weights

_INT32 = 6
"""The format's number for 32-bit whole numbers."""

# Distances with a group of their own, and the square of the first that shares one.
_EXACT = 8
_FIRST_STEP = _EXACT * _EXACT


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
    if not config.family.typed:
        options = msgspec.structs.replace(options, token_types=False)
    builder = Builder(onnx, options)
    Encoder(builder, config, weights).build()
    _pool(builder, options)
    return builder.serialise(config.model_type, config.hidden_size)


class Encoder:
    """Adds an encoder's nodes to a graph, whole or stage by stage."""

    def __init__(self, builder: Builder, config: BertConfig, weights: Weights) -> None:
        self._builder = builder
        self._config = config
        self._weights = weights
        self._names = config.family.names
        self._distances: str | None = None

    def build(self) -> None:
        """Add everything from the inputs to ``tokens``."""
        hidden = self._embeddings()
        if self._config.family.relative is not None:
            self._distances = self._relative(self._config.family.relative)
        for number in range(self._config.num_hidden_layers):
            last = number == self._config.num_hidden_layers - 1
            attended = self.attended(number, hidden)
            output = TOKENS if last else f"hidden.{number + 1}"
            hidden = self.layer(number, hidden, attended, output)

    def _embeddings(self) -> str:
        """Words, positions and token types, summed and normalised: (n, s, d).

        Rows of the word table are gathered before they are cast: casting the whole table costs
        tens of milliseconds, and its size again in memory, each time a session loads.
        """
        node, config, names = self._builder.node, self._config, self._names
        table = self._table(names.words, config.vocab_size)
        words = node("Gather", [self._builder.stored("words", table), "input_ids"], "word.rows")
        if self._builder.halved(table):
            words = self._builder.as_float(words, "word.rows.float")
        positions = self._table(names.positions, config.max_position_embeddings)
        typed = self._builder.options.token_types
        types = self._table(names.types, config.type_vocab_size) if config.family.typed else None
        if types is not None and not typed:
            positions = positions + types[0]
        rows = self._counted(positions) if config.family.counted else self._numbered(positions)
        total = node("Add", [words, rows], "embeddings.sum")
        if types is not None and typed:
            kinds = self._builder.weight("types", types)
            picked = node("Gather", [kinds, "token_type_ids"], "type.rows")
            total = node("Add", [total, picked], "embeddings.sum.typed")
        norm = self.norm(names.norm, "embeddings.norm")
        epsilon = config.layer_norm_eps
        return node("LayerNormalization", [total, *norm], "hidden.0", axis=-1, epsilon=epsilon)

    def _numbered(self, positions: Tensor) -> str:
        """Positions 0, 1, 2, ... whatever the tokens are: (s, d)."""
        node = self._builder.node
        length = node("Shape", ["input_ids"], "length", start=1, end=2)
        zero = self._builder.axis(0)
        whole = self._builder.weight("positions", positions)
        return node("Slice", [whole, zero, length, zero], "position.rows")

    def _counted(self, positions: Tensor) -> str:
        """Positions of the tokens that are not padding, counted from after its id: (n, s, d).

        The token itself and not the mask says what is padding, so one written in a text has the
        padding's position, too; that is how the models are trained.
        """
        node, constant = self._builder.node, self._builder.constant
        pad = constant("pad", np.array(self._config.padding, dtype=np.int32))
        same = node("Equal", ["input_ids", pad], "is.pad")
        real = node("Cast", [node("Not", [same], "not.pad")], "real", to=_INT32)
        counts = node("CumSum", [real, constant("axis.count", np.array(1))], "counts")
        places = node("Add", [node("Mul", [counts, real], "counts.real"), pad], "places")
        whole = self._builder.weight("positions", positions)
        return node("Gather", [whole, places], "position.rows")

    def _relative(self, name: str) -> str:
        """Return what the distance of two tokens adds to their attention: (n, heads, s, s)."""
        node, constant = self._builder.node, self._builder.constant
        config = self._config
        table = self._weights.tensor(
            f"{name}.weight", (config.relative_attention_num_buckets, config.num_attention_heads)
        )
        most = config.positions - 1
        buckets = [distance_bucket(distance) for distance in range(-most, most + 1)]
        by_distance = constant("distances", table[buckets].T)
        shape = node("Shape", ["input_ids"], "shape")
        length = node("Gather", [shape, constant("second", np.array(1))], "length")
        ends = [constant("none", np.array(0)), length, constant("one", np.array(1))]
        there = node("Range", ends, "there")
        here = node("Unsqueeze", [there, self._builder.axis(1)], "here")
        apart = node("Sub", [there, here], "apart")
        index = node("Add", [apart, constant("most", np.array(most))], "apart.index")
        added = node("Gather", [by_distance, index], "apart.added", axis=1)
        zero, one = self._builder.axis(0), self._builder.axis(1)
        rows = node("Slice", [shape, zero, one, zero], "rows")
        ones = constant("ones", np.ones(3, dtype=np.int64))
        whole = node("Concat", [rows, ones], "rows.shape", axis=0)
        # Written out for every row: older versions of the operator want it so.
        return node("Expand", [added, whole], "apart.rows")

    def _table(self, name: str, rows: int) -> Tensor:
        return self._weights.tensor(f"{name}.weight", (rows, self._config.hidden_size))

    def attended(self, number: int, hidden: str) -> str:
        """Return what each token of a layer takes from all of them: (n, s, d), as ``hidden``."""
        node, weight, names = self._builder.node, self._builder.weight, self._names
        source, here = f"{names.layer}.{number}", f"layer.{number}"
        parts = [self.linear(f"{source}.{p}") for p in (names.query, names.key, names.value)]
        inputs = [
            hidden,
            weight(f"{here}.qkv", np.concatenate([matrix for matrix, _ in parts], axis=1)),
            weight(f"{here}.qkv.bias", np.concatenate([bias for _, bias in parts])),
            "attention_mask",
        ]
        if self._distances is not None:
            inputs += ["", self._distances]  # between them, what earlier tokens would leave
        heads = self._config.num_attention_heads
        return node("Attention", inputs, f"{here}.attended", fused=True, num_heads=heads)

    def layer(self, number: int, hidden: str, attended: str, output: str) -> str:
        """Return the rest of a layer, post-norm, token by token: (n, s, d) to (n, s, d)."""
        node, weight, config = self._builder.node, self._builder.weight, self._config
        names = self._names
        source, here = f"{names.layer}.{number}", f"layer.{number}"
        hidden = self._joined(
            (f"{source}.{names.mixed}", f"{source}.{names.mixed_norm}"),
            f"{here}.attention.output",
            f"{here}.mixed",
            attended,
            hidden,
        )
        matrix, bias = self.linear(f"{source}.{names.widened}", outer=config.intermediate_size)
        widened = node("MatMul", [hidden, weight(f"{here}.widen", matrix)], f"{here}.widened")
        curve = "BiasGelu" if ACTIVATIONS[config.hidden_act] == "erf" else "FastGelu"
        offset = weight(f"{here}.widen.bias", bias)
        active = node(curve, [widened, offset], f"{here}.active", fused=True)
        return self._joined(
            (f"{source}.{names.narrowed}", f"{source}.{names.norm_out}"),
            f"{here}.output",
            output,
            active,
            hidden,
            inner=config.intermediate_size,
        )

    def _joined(
        self,
        sources: tuple[str, str],
        name: str,
        output: str,
        value: str,
        skipped: str,
        *,
        inner: int | None = None,
    ) -> str:
        """Return norm(value @ matrix + bias + skipped); ``sources`` are the matrix and the norm.

        Three operators and not the fused SkipLayerNormalization, whose CPU kernel takes four
        times as long as they do together: 7 % of the whole model.
        """
        dense, normed = sources
        matrix, bias = self.linear(dense, inner=inner)
        node, weight = self._builder.node, self._builder.weight
        product = node("MatMul", [value, weight(name, matrix)], f"{name}.product")
        moved = node("Add", [product, weight(f"{name}.bias", bias)], f"{name}.moved")
        total = node("Add", [moved, skipped], f"{name}.sum")
        norm = self.norm(normed, f"{name}.norm")
        epsilon = self._config.layer_norm_eps
        return node("LayerNormalization", [total, *norm], output, axis=-1, epsilon=epsilon)

    def linear(
        self, source: str, *, inner: int | None = None, outer: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return matrix (in, out) and bias (out,) of a linear layer; by default square."""
        rows, columns = inner or self._config.hidden_size, outer or self._config.hidden_size
        # Checkpoints keep linear layers as (out, in); MatMul wants (in, out).
        matrix = self._weights.tensor(f"{source}.weight", (columns, rows)).T
        return matrix, self._weights.tensor(f"{source}.bias", (columns,))

    def norm(self, source: str, name: str) -> tuple[str, str]:
        """Return the names of a layer norm's scale and offset."""
        shape = (self._config.hidden_size,)
        scale = self._weights.tensor(f"{source}.weight", shape)
        offset = self._weights.tensor(f"{source}.bias", shape)
        weight = self._builder.weight
        return weight(f"{name}.scale", scale), weight(f"{name}.offset", offset)


def distance_bucket(distance: int) -> int:
    """Return the group of a distance, in tokens from one to another: 0 to 31.

    One for each distance below 8, then seven that widen by the root of two, and one for 91 and
    more; 16 to 31 are those after the token. The rule of T5 (Raffel et al. 2020, 2.1) with the
    numbers of MPNet, in whole numbers: 8 * 2**(k / 2) <= n is 64 * 2**k <= n * n.
    """
    size = abs(distance)
    half = RELATIVE_BUCKETS // 2
    steps = sum(size * size >= _FIRST_STEP << step for step in range(1, half - _EXACT))
    group = size if size < _EXACT else _EXACT + steps
    return group + half if distance > 0 else group


def _pool(builder: Builder, options: GraphOptions) -> None:
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

"""The integer twin of a compiled BERT graph: its linear layers in 8 bits, all else as it was.

Weights are signed and have one scale a column; activations are unsigned and have one scale a row,
which is a token, so that a text's numbers do not depend on what stands beside it in a batch. The
inputs of a layer are first divided, channel by channel, by fixed factors that its weights are
multiplied with: otherwise a few large channels take the others' digits (SmoothQuant, Xiao et al.
2023). What leaves a Gelu is never below -0.17, so it is moved up by that and has all 256 steps;
the layer's offset takes it back.

Products are summed as whole numbers, the same on every processor whose kernel does not saturate.
The same inputs give the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from closecall.errors import MissingExtraError, ModelError

Factors = Mapping[str, NDArray[np.float32]]
"""By what the inputs of a layer are divided: float32 (in,), by the name of its weights."""

LOWEST_GELU = 0.17
"""The least value of x * Phi(x) is -0.169971."""

_FUSED = "com.microsoft"
_WEIGHTS = 127
_SHAPED_INPUTS = 4


class _Grid(NamedTuple):
    """What activations are rounded to: steps up from the zero point, and how far down they go."""

    steps: int
    zero: int
    lowest: float


_SIGNED = _Grid(127, 128, 0.0)
_RAISED = _Grid(255, 0, LOWEST_GELU)


def int8_graph(data: bytes, factors: Factors) -> bytes:
    """Return the twin of a graph that ``bert_graph`` made; its inputs and outputs are the same.

    Every token of a batch must be real: the twin's attention reads no mask.

    Parameters
    ----------
    data
        The graph, its weights float16 or float32.
    factors
        By what inputs are divided; a layer that is not named has its inputs as they are.

    Raises
    ------
    MissingExtraError
        If onnx is not installed.
    ModelError
        If the graph is not closecall's own, or of a kind that has no twin.
    """
    try:
        import onnx
    except ImportError as error:
        raise MissingExtraError("Making the integer twin", "compile", ["onnx"]) from error
    model = onnx.load_model_from_string(data)
    twin = _Twin(onnx, model.graph, factors)
    twin.build()
    del model.graph.node[:], model.graph.initializer[:]
    model.graph.node.extend(twin.nodes)
    model.graph.initializer.extend(twin.stored.values())
    return bytes(model.SerializeToString(deterministic=True))


class _Twin:
    """Goes through a graph's nodes and puts integer layers in the place of the linear ones."""

    def __init__(self, onnx: Any, graph: Any, factors: Factors) -> None:
        self._onnx = onnx
        self._graph = graph
        self._factors = factors
        self.nodes: list[Any] = []
        self.stored = {one.name: one for one in graph.initializer}
        self._casts: dict[str, str] = {}

    def build(self) -> None:
        """Collect the twin's nodes and stored values."""
        old = list(self._graph.node)
        offsets = {node.input[0]: node.input[1] for node in old if node.op_type == "Add"}
        gelus = {node.output[0] for node in old if node.op_type in ("BiasGelu", "FastGelu")}
        layers = 0
        for node in old:
            source = node.input[0]
            if node.op_type == "Cast" and node.output[0].startswith("layer."):
                self._casts[node.output[0]] = source
            elif node.op_type == "Attention":
                self._attention(node)
                layers += 1
            elif node.op_type == "MatMul" and node.input[1].startswith("layer."):
                grid = _RAISED if source in gelus else _SIGNED
                raised = self._linear(source, node.input[1], node.output[0], grid)
                if grid.lowest:
                    self._take_back(offsets[node.output[0]], raised * grid.lowest)
            else:
                self.nodes.append(node)
        if not layers:
            raise ModelError("the graph is not one that closecall compiles, so it has no twin")

    def _attention(self, node: Any) -> None:
        """Query, key and value from one rounding of their input, then the attention proper."""
        if len(node.input) != _SHAPED_INPUTS:
            raise ModelError("attention that knows the distance of tokens has no integer twin")
        hidden, name, offset, _ = node.input
        matrix, biases = self._weights(name), self._array(self.stored.pop(offset))
        rounded = self._rounded(hidden, name, _SIGNED)
        parts = []
        for part, weights, bias in zip(
            ("query", "key", "value"),
            np.split(matrix, 3, axis=1),
            np.split(biases, 3),
            strict=True,
        ):
            label = f"{name}.{part}"
            self._product(rounded, weights, f"{label}.product", label)
            own = self._store(f"{label}.bias", bias)
            parts.append(self._node("Add", [f"{label}.product", own], f"{label}.moved"))
        heads = {one.name: self._onnx.helper.get_attribute_value(one) for one in node.attribute}
        self._node("MultiHeadAttention", parts, node.output[0], num_heads=heads["num_heads"])

    def _linear(self, value: str, name: str, output: str, grid: _Grid) -> NDArray[np.float64]:
        """Put in value @ weights; return the sum of each column of the weights, as rounded."""
        matrix = self._weights(name)
        return self._product(self._rounded(value, name, grid), matrix, output, name)

    def _rounded(self, value: str, name: str, grid: _Grid) -> tuple[str, str, _Grid, str]:
        """Return the names of the rounded rows and of their sizes, and how to read them."""
        if grid.lowest:
            lift = self._store(f"{name}.lift", np.float32(grid.lowest))
            value = self._node("Add", [value, lift], f"{name}.raised")
        if name in self._factors:
            divisor = self._store(f"{name}.even", np.float32(1) / self._factors[name])
            value = self._node("Mul", [value, divisor], f"{name}.evened")
        sizes = value if grid.lowest else self._node("Abs", [value], f"{name}.sizes")
        largest = self._node("ReduceMax", [sizes], f"{name}.largest", axes=[-1], keepdims=1)
        share = self._node("Div", [value, largest], f"{name}.share")
        step = self._store(f"{name}.step", np.float32(1 / grid.steps))
        zero = self._store(f"{name}.zero", np.uint8(grid.zero))
        rows = self._node("QuantizeLinear", [share, step, zero], f"{name}.rows")
        return rows, largest, grid, name

    def _product(
        self,
        rounded: tuple[str, str, _Grid, str],
        matrix: NDArray[np.float32],
        output: str,
        label: str,
    ) -> NDArray[np.float64]:
        """Put in rows @ matrix in whole numbers; return the sums of the columns, as rounded."""
        rows, largest, _, name = rounded
        factors = self._factors.get(name)
        even = matrix if factors is None else matrix * factors[:, None]
        scales = (np.maximum(np.abs(even).max(axis=0), 1e-12) / np.float32(_WEIGHTS)).astype(
            np.float32
        )
        whole = np.clip(np.rint(even / scales), -_WEIGHTS, _WEIGHTS).astype(np.int8)
        self._node(
            "MatMulIntegerToFloat",
            [
                rows,
                self._store(f"{label}.whole", whole),
                f"{name}.step",
                self._store(f"{label}.scales", scales),
                f"{name}.zero",
            ],
            f"{label}.shares",
        )
        self._node("Mul", [f"{label}.shares", largest], output)
        read = whole.astype(np.float64) * scales
        return np.asarray((read if factors is None else read / factors[:, None]).sum(axis=0))

    def _take_back(self, offset: str, moved: NDArray[np.float64]) -> None:
        bias = self._array(self.stored[offset]).astype(np.float64)
        self._store(offset, (bias - moved).astype(np.float32))

    def _weights(self, name: str) -> NDArray[np.float32]:
        """Take a layer's weights out of the graph: float32 (in, out)."""
        stored = self.stored.pop(self._casts.get(name, name))
        return self._array(stored).astype(np.float32)

    def _array(self, stored: Any) -> NDArray[Any]:
        found: NDArray[Any] = self._onnx.numpy_helper.to_array(stored)
        return found

    def _store(self, name: str, values: Any) -> str:
        array = np.asarray(values, order="C")
        self.stored[name] = self._onnx.numpy_helper.from_array(array, name)
        return name

    def _node(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        fused = kind in ("MultiHeadAttention", "MatMulIntegerToFloat")
        self.nodes.append(
            self._onnx.helper.make_node(
                kind, inputs, [output], domain=_FUSED if fused else "", **attributes
            )
        )
        return output

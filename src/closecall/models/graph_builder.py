"""What an ONNX graph is put together with: nodes and weights, each named once, in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from closecall.errors import ModelError
from closecall.models.hashing import MOST_GRAPH
from closecall.models.weights import Tensor

EMBEDDING = "embedding"
TOKENS = "tokens"

_OPSET = 17
_IR_VERSION = 8
_FUSED = "com.microsoft"
# Biases and norms stay float32: they are a thousandth of the file and shift whole layers.
_SMALLEST_HALF = 4096
# For what a graph holds beside its weights: names, nodes.
_SPARE = 16_000_000


class GraphOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a graph does beyond the encoder.

    ``pooling`` is ``mean`` or ``cls``; ``half`` stores weights as float16; ``token_types`` adds
    the third input, otherwise every token is of type 0.
    """

    pooling: str
    normalize: bool
    half: bool
    token_types: bool = False


class Builder:
    """Collects nodes and initialisers; every value is named once, in order."""

    def __init__(self, onnx: Any, options: GraphOptions) -> None:
        self.options = options
        self._onnx = onnx
        self._nodes: list[Any] = []
        self._initialisers: list[Any] = []
        self._axes: set[int] = set()
        self._bytes = 0

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
            return self.constant(name, values)
        with np.errstate(over="ignore"):
            half = values.astype(np.float16)
        if not np.isfinite(half).all():
            raise ModelError(
                f"{name}: a weight of {np.abs(values).max():g} does not fit float16; "
                "compile with storage fp32"
            )
        return self.constant(name, half)

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
            self.constant(name, np.array([number], dtype=np.int64))
        return name

    def serialise(self, name: str, width: int) -> bytes:
        """Return the model's bytes: tokens in, a text's vector and its tokens' out."""
        kinds = self._onnx.TensorProto
        inputs = ["input_ids", "attention_mask"]
        if self.options.token_types:
            inputs.append("token_type_ids")
        return self.finished(
            name,
            [self.declared(one, kinds.INT32, "n", "s") for one in inputs],
            [
                self.declared(EMBEDDING, kinds.FLOAT, "n", width),
                self.declared(TOKENS, kinds.FLOAT, "n", "s", width),
            ],
        )

    def declared(self, name: str, kind: int, *shape: str | int) -> Any:
        """Return what is said of an input or output: its type and its sizes, by name or number."""
        return self._onnx.helper.make_tensor_value_info(name, kind, list(shape))

    def finished(self, name: str, inputs: Sequence[Any], outputs: Sequence[Any]) -> bytes:
        """Return the bytes of a model with these inputs and outputs; see ``declared``."""
        make = self._onnx.helper
        graph = make.make_graph(self._nodes, name, list(inputs), list(outputs), self._initialisers)
        model = make.make_model(
            graph,
            ir_version=_IR_VERSION,
            opset_imports=[make.make_opsetid("", _OPSET), make.make_opsetid(_FUSED, 1)],
            producer_name="closecall",
        )
        return bytes(model.SerializeToString(deterministic=True))

    def constant(self, name: str, values: NDArray[Any]) -> str:
        """Add a value as it is and return its name.

        Raises
        ------
        ModelError
            If all of them are more than a graph can hold.
        """
        self._bytes += values.nbytes
        if self._bytes > MOST_GRAPH - _SPARE:
            how = "run the folder with st:" if self.options.half else "compile with storage fp16"
            raise ModelError(
                f"the graph would have more than {MOST_GRAPH:,} bytes, the most that its format "
                f"holds; {how}"
            )
        self._initialisers.append(
            self._onnx.numpy_helper.from_array(np.asarray(values, order="C"), name)
        )
        return name

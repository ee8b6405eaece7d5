"""The bundled model in fewer bits, in several ways: how fast each is, and how near its vectors."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import texts

TOKENS = 1024
LENGTHS = (16, 64, 200)
SAMPLES = 400

_MS = "com.microsoft"
_NAMES = {"qkv": "qkv", "out": "attention.output", "widen": "widen", "narrow": "output"}
_BLOCK = 128


def compared(rounds: int) -> dict[str, Any]:
    """Print and return the table: ratio to the float32 graph by length, and cosines."""
    from closecall.embedders.onnx_runtime import load
    from closecall.fast.factors import stored_factors
    from closecall.fast.graph import int8_graph
    from closecall.models.store import find_model

    model = find_model("minilm")
    data = model.graph.read_bytes()
    tokenizer = load(model).tokenizer
    ids = [np.array(one.ids, dtype=np.int32) for one in tokenizer.encode_batch(_samples())]
    factors = stored_factors()
    ranges = _ranges(data, ids[::4])
    ways: dict[str, Callable[[], bytes]] = {
        "float32": lambda: data,
        "8 bits, a scale a tensor (DynamicQuantizeLinear)": lambda: _rewritten(data, "tensor"),
        "8 bits, fixed scales (QuantizeLinear)": lambda: _rewritten(data, "fixed", ranges=ranges),
        "8 bits, a scale a token": lambda: int8_graph(data, {}),
        "the twin: that, with channels evened": lambda: int8_graph(data, factors),
        "the twin, weights of 7 bits": lambda: _seven_bits(data, factors),
        "8 bits in blocks of 128 (MatMulNBits, accuracy 4)": lambda: _rewritten(data, "blocks"),
        "8 bits, a scale a token, feed-forward only": lambda: _rewritten(
            data, "token", only=("widen", "narrow")
        ),
        "8 bits, a scale a token, attention only": lambda: _rewritten(
            data, "token", only=("qkv", "out")
        ),
    }
    sessions = {name: _session(make()) for name, make in ways.items()}
    exact = _vectors(sessions["float32"], ids)
    near = {name: _cosines(_vectors(session, ids), exact) for name, session in sessions.items()}
    speed = {length: _timed(sessions, length, rounds) for length in LENGTHS}
    print(f"\n{'':<52}" + "".join(f"{f'{length} tokens':>12}" for length in LENGTHS)
          + f"{'mean cos':>11}{'1st perc.':>11}{'least':>9}")  # fmt: skip
    rows = {}
    for name in ways:
        ratios = [min(speed[at]["float32"]) / min(speed[at][name]) for at in LENGTHS]
        mean, first, least = near[name]
        rows[name] = {"ratios": ratios, "mean": mean, "p1": first, "least": least}
        print(f"{name:<52}" + "".join(f"{ratio:>11.2f}x" for ratio in ratios)
              + f"{mean:>11.5f}{first:>11.5f}{least:>9.4f}", flush=True)  # fmt: skip
    twin = rows["the twin: that, with channels evened"]
    return {"lengths": LENGTHS, "rows": rows, "least_cosine": twin["least"]}


def _samples() -> list[str]:
    mixed = texts.mixed(SAMPLES // 2, seed=11)
    return sorted({*texts.short(SAMPLES // 2, seed=12), *mixed})


def _session(data: bytes) -> Any:
    from closecall.embedders.onnx_session import make_session

    return make_session(data, "a graph of this benchmark").raw


def _vectors(session: Any, ids: list[Any]) -> Any:
    """Return float64 (n, d); one text a run."""
    rows = [
        session.run(["embedding"], {"input_ids": one, "attention_mask": np.ones_like(one)})
        for one in (row[None] for row in ids)
    ]
    return np.concatenate([row for (row,) in rows]).astype(np.float64)


def _cosines(found: Any, exact: Any) -> tuple[float, float, float]:
    each = (found * exact).sum(axis=1)
    return float(each.mean()), float(np.percentile(each, 1)), float(each.min())


def _timed(sessions: dict[str, Any], length: int, rounds: int) -> dict[str, list[float]]:
    """Return the CPU seconds of each graph in each round, on one batch of ids drawn at random."""
    ids = np.random.default_rng(length).integers(1000, 20_000, (TOKENS // length, length))
    feed = {"input_ids": ids.astype(np.int32)}
    feed["attention_mask"] = np.ones_like(feed["input_ids"])
    taken: dict[str, list[float]] = {name: [] for name in sessions}
    for _ in range(rounds + 1):
        for name, session in sessions.items():
            began = time.process_time()
            session.run(["embedding"], feed)
            taken[name].append(time.process_time() - began)
    return {name: seconds[1:] for name, seconds in taken.items()}


def _seven_bits(data: bytes, factors: Any) -> bytes:
    """Return the twin with weights of 7 bits, whose pairs of products fit 16 bits."""
    from closecall.fast import graph

    kept = graph._WEIGHTS  # noqa: SLF001
    graph._WEIGHTS = 63  # noqa: SLF001
    try:
        return graph.int8_graph(data, factors)
    finally:
        graph._WEIGHTS = kept  # noqa: SLF001


def _ranges(data: bytes, ids: list[Any]) -> dict[str, tuple[float, float]]:
    """Return the lowest and highest input of each layer, by the name of its weights."""
    import onnx

    model = onnx.load_model_from_string(data)
    inputs = {
        node.input[1]: node.input[0]
        for node in model.graph.node
        if node.op_type in ("Attention", "MatMul") and node.input[1].startswith("layer.")
    }
    tapped = sorted(set(inputs.values()))
    there = {one.name for one in model.graph.output}
    model.graph.output.extend(
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None)
        for name in tapped
        if name not in there
    )
    session = _session(model.SerializeToString())
    low, high = dict.fromkeys(tapped, 0.0), dict.fromkeys(tapped, 0.0)
    for one in ids:
        feed = {"input_ids": one[None], "attention_mask": np.ones_like(one[None])}
        for name, value in zip(tapped, session.run(tapped, feed), strict=True):
            low[name] = min(low[name], float(value.min()))
            high[name] = max(high[name], float(value.max()))
    return {weights: (low[value], high[value]) for weights, value in inputs.items()}


def _rewritten(
    data: bytes,
    way: str,
    *,
    only: tuple[str, ...] = tuple(_NAMES),
    ranges: dict[str, tuple[float, float]] | None = None,
) -> bytes:
    """Return the graph with its linear layers, or only some kinds of them, in fewer bits."""
    import onnx

    model = onnx.load_model_from_string(data)
    layers = _Layers(onnx, model.graph, way, ranges or {})
    kinds = tuple(f".{_NAMES[name]}" for name in only)
    for node in list(model.graph.node):
        weights = node.input[1] if len(node.input) > 1 else ""
        own = weights.startswith("layer.") and _kind(weights) in kinds
        if node.op_type == "Attention" and own:
            layers.attention(node)
        elif node.op_type == "MatMul" and own:
            layers.product(node.input[0], weights, layers.matrix(weights), node.output[0])
        else:
            layers.nodes.append(node)
    del model.graph.node[:]
    model.graph.node.extend(layers.nodes)
    model.graph.initializer.extend(layers.new)
    return bytes(model.SerializeToString())


def _kind(weights: str) -> str:
    return "." + weights.split(".", 2)[2]


class _Layers:
    """Puts layers in fewer bits into a graph."""

    def __init__(self, onnx: Any, graph: Any, way: str, ranges: dict[str, Any]) -> None:
        self._make, self._numpy = onnx.helper.make_node, onnx.numpy_helper
        self._stored = {one.name: one for one in graph.initializer}
        self._way, self._ranges = way, ranges
        self.nodes: list[Any] = []
        self.new: list[Any] = []

    def matrix(self, name: str) -> Any:
        """Return weights as float32 (in, out)."""
        stored = self._stored.get(f"{name}.half") or self._stored[name]
        return self._numpy.to_array(stored).astype(np.float32)

    def attention(self, node: Any) -> None:
        """Query, key and value in one product, then the attention proper."""
        hidden, weights, offset, _ = node.input
        here = node.output[0]
        self.product(hidden, weights, self.matrix(weights), f"{here}.product")
        self._node("Add", [f"{here}.product", offset], [f"{here}.moved"])
        parts = [f"{here}.{part}" for part in ("query", "key", "value")]
        self._node("Split", [f"{here}.moved"], parts, axis=-1)
        self._node("MultiHeadAttention", parts, [here], domain=_MS, num_heads=12)

    def product(self, value: str, name: str, matrix: Any, output: str) -> None:
        """Put in value @ matrix."""
        if self._way == "blocks":
            return self._blocks(value, name, matrix, output)
        scales = (np.abs(matrix).max(axis=0) / 127).astype(np.float32)
        whole = np.clip(np.rint(matrix / scales), -127, 127).astype(np.int8)
        rows, step, zero = f"{name}.rows", f"{name}.step", f"{name}.zero"
        largest = None
        if self._way == "tensor":
            self._node("DynamicQuantizeLinear", [value], [rows, step, zero])
        elif self._way == "fixed":
            low, high = self._ranges[name]
            size = np.float32((high - low) / 255)
            self._store(step, size)
            self._store(zero, np.uint8(round(-low / size)))
            self._node("QuantizeLinear", [value, step, zero], [rows])
        else:
            largest = f"{name}.largest"
            self._node("Abs", [value], [f"{name}.sizes"])
            self._node("ReduceMax", [f"{name}.sizes"], [largest], axes=[-1], keepdims=1)
            self._node("Div", [value, largest], [f"{name}.share"])
            self._store(step, np.float32(1 / 127))
            self._store(zero, np.uint8(128))
            self._node("QuantizeLinear", [f"{name}.share", step, zero], [rows])
        self._store(f"{name}.whole", whole)
        self._store(f"{name}.scales", scales)
        inputs = [rows, f"{name}.whole", step, f"{name}.scales", zero]
        found = output if largest is None else f"{name}.shares"
        self._node("MatMulIntegerToFloat", inputs, [found], domain=_MS)
        if largest is not None:
            self._node("Mul", [found, largest], [output])
        return None

    def _blocks(self, value: str, name: str, matrix: Any, output: str) -> None:
        rows, columns = matrix.shape
        blocks = matrix.T.reshape(columns, rows // _BLOCK, _BLOCK)
        scales = np.abs(blocks).max(axis=-1) / 127
        whole = np.clip(np.rint(blocks / scales[..., None]), -127, 127) + 128
        self._store(f"{name}.whole", whole.astype(np.uint8))
        self._store(f"{name}.scales", scales.astype(np.float32))
        self._node(
            "MatMulNBits", [value, f"{name}.whole", f"{name}.scales"], [output], domain=_MS,
            K=rows, N=columns, bits=8, block_size=_BLOCK, accuracy_level=4,
        )  # fmt: skip

    def _store(self, name: str, values: Any) -> None:
        self.new.append(self._numpy.from_array(np.asarray(values, order="C"), name))

    def _node(self, kind: str, inputs: list[str], outputs: list[str], **attributes: Any) -> None:
        self.nodes.append(self._make(kind, inputs, outputs, **attributes))

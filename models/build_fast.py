"""Build the factors of the bundled model's integer twin from the demo's texts.

::

    python models/build_fast.py                  # writes src/closecall/fast/factors.bin
    python models/build_fast.py --check          # writes nothing, says what would change

Every question and answer of the packaged demo goes through the float32 model alone; of each input
of a linear layer, the largest size that each channel has is kept, and ``fast.factors`` makes the
factors of it. They are rounded to quarters of a power of two, so that the last digits of a
processor's sums, which differ, hardly ever show. Needs ``pip install 'closecall[compile]'``.

Other factors make another twin, whose noise is not known: measure it again then, with
``python benchmarks/fast.py FILE... --noise src/closecall/fast/noise.json``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray

from closecall.embedders.onnx_runtime import load
from closecall.embedders.onnx_session import make_session
from closecall.fast.factors import FILE, layers, quarters_of
from closecall.models.store import StoredModel, find_model

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "closecall"
DEMO = PACKAGE / "data" / "demo.jsonl"
TARGET = PACKAGE / "fast" / FILE

FIELDS = ("input", "response")

Sizes = dict[str, NDArray[np.float32]]
"""The largest size of each channel of a layer's input: float32 (in,), by its weights' name."""


def main(arguments: list[str] | None = None) -> int:
    """Build the factors and print the hash of what was made; 1 where --check finds others."""
    parser = argparse.ArgumentParser(description="Build the factors of the integer twin.")
    parser.add_argument("--output", type=Path, default=TARGET, help=f"default: {TARGET}")
    parser.add_argument("--check", action="store_true", help="compare with OUTPUT, write nothing")
    options = parser.parse_args(arguments)
    made = built(find_model("minilm"), demo_texts())
    print(f"{hashlib.sha256(made).hexdigest()}  {len(made):>10}  {options.output}")
    if options.check:
        return told(made, options.output.read_bytes())
    options.output.write_bytes(made)
    return 0


def demo_texts(path: Path = DEMO) -> list[str]:
    """Return the demo's questions and answers, each once, sorted."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return sorted({row[field] for row in rows for field in FIELDS if row.get(field)})


def built(model: StoredModel, texts: Sequence[str]) -> bytes:
    """Return the bytes of the factors' file."""
    graph = onnx.load_model_from_string(model.graph.read_bytes())
    sizes = largest_sizes(model, graph, texts)
    return b"".join(
        quarters_of(sizes[name], weights_of(graph, name)).tobytes() for name, _ in layers()
    )


def largest_sizes(model: StoredModel, graph: onnx.ModelProto, texts: Sequence[str]) -> Sizes:
    """Return what the inputs of the layers grow to, text by text, in float32."""
    inputs = inputs_of(graph)
    tapped = onnx.ModelProto()
    tapped.CopyFrom(graph)
    there = {one.name for one in graph.graph.output}
    tapped.graph.output.extend(
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None)
        for name in sorted(set(inputs.values()) - there)
    )
    session = make_session(tapped.SerializeToString(), "the model with its layers' inputs").raw
    tokenizer = load(model).tokenizer
    tokenizer.enable_truncation(model.card.max_tokens)
    values = list(inputs.values())
    found: Sizes = {}
    for encoded in tokenizer.encode_batch(list(texts)):
        ids = np.array([encoded.ids], dtype=np.int32)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        for name, value in zip(inputs, session.run(values, feed), strict=True):
            sizes = np.abs(value).reshape(-1, value.shape[-1]).max(axis=0)
            found[name] = np.maximum(sizes, found.get(name, sizes))
    return found


def inputs_of(graph: onnx.ModelProto) -> Mapping[str, str]:
    """Return the name of each layer's input by the name of its weights."""
    named = {name for name, _ in layers()}
    return {
        node.input[1]: node.input[0]
        for node in graph.graph.node
        if node.op_type in ("Attention", "MatMul") and node.input[1] in named
    }


def weights_of(graph: onnx.ModelProto, name: str) -> NDArray[np.float32]:
    """Return a layer's weights, kept as float16 or float32: float32 (in, out)."""
    stored = {one.name: one for one in graph.graph.initializer}
    kept = stored.get(f"{name}.half") or stored[name]
    return onnx.numpy_helper.to_array(kept).astype(np.float32)


def told(made: bytes, kept: bytes) -> int:
    """Print how the factors made differ from those kept; 0 where they do not."""
    if len(made) != len(kept):
        print(f"{len(made):,} factors made, {len(kept):,} kept")
        return 1
    steps = steps_between(made, kept)
    print(f"{np.count_nonzero(steps):,} of {len(steps):,} differ, by {steps.max()} steps at most")
    return int(steps.any())


def steps_between(made: bytes, kept: bytes) -> NDArray[np.int16]:
    """Return by how many quarters of a power of two each factor differs: int16, from 0."""
    mine, other = (np.frombuffer(data, dtype=np.int8).astype(np.int16) for data in (made, kept))
    return np.abs(mine - other)


if __name__ == "__main__":
    raise SystemExit(main())

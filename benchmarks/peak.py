"""What the machine's processor can do, and what a pass of the model needs: both in operations.

The peak is what single-precision products of large matrices reach here, by numpy's BLAS and by
onnxruntime, whichever is faster. It is measured and not read from a data sheet, so it holds what
clock, cooling and neighbours leave.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

SIZE = 2048
PRODUCTS = 6
OPERATIONS = PRODUCTS * 2 * SIZE**3
"""Of one call of what the functions here return: a multiplication and an addition each."""

LAYERS, WIDTH, WIDENED = 6, 384, 1536
FORMULA = "sum over texts of 6 * (2 * t * 384 * (4 * 384 + 2 * 1536) + 4 * t * t * 384)"
"""Of all-MiniLM-L6-v2, t the tokens of a text with the two special ones.

In each of 6 layers four square products (query, key, value, what joins the heads) and the two of
the feed-forward part, then each token's products with each other one, twice. Embeddings, norms,
softmax, GELU and pooling are left out, and so is whatever is computed for padding.
"""


def operations(tokens: Iterable[int]) -> int:
    """Return the operations of the model's products on texts of so many tokens; see FORMULA."""
    return sum(
        LAYERS * (2 * t * WIDTH * (4 * WIDTH + 2 * WIDENED) + 4 * t * t * WIDTH) for t in tokens
    )


def numpy_product(threads: int) -> Callable[[list[str]], Any]:
    """Return what multiplies by numpy's BLAS, whose threads the environment has set already."""
    import os

    if os.environ.get("OPENBLAS_NUM_THREADS") != str(threads):
        raise RuntimeError("OPENBLAS_NUM_THREADS must be set before numpy is imported")
    import numpy as np

    a, b = _factors()
    out = np.empty((SIZE, SIZE), dtype=np.float32)

    def run(_: list[str]) -> Any:
        for _ in range(PRODUCTS):
            np.matmul(a, b, out=out)
        return out[:1]

    return run


def onnxruntime_product(threads: int) -> Callable[[list[str]], Any]:
    """Return what multiplies by onnxruntime, one matrix a constant as weights are."""
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    a, b = _factors()
    kind, shape = TensorProto.FLOAT, [SIZE, SIZE]
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["a", "b"], ["c"])],
        "product",
        [helper.make_tensor_value_info("a", kind, shape)],
        [helper.make_tensor_value_info("c", kind, shape)],
        [numpy_helper.from_array(b, "b")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )

    def run(_: list[str]) -> Any:
        for _ in range(PRODUCTS):
            (out,) = session.run(None, {"a": a})
        return out[:1]

    return run


def _factors() -> tuple[Any, Any]:
    import numpy as np

    random = np.random.default_rng(1)
    a, b = (random.standard_normal((SIZE, SIZE), dtype=np.float32) for _ in range(2))
    return a, b

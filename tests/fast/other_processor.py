"""A processor without VNNI: the twin computed in Python, pairs of products kept to 16 bits.

AVX2 multiplies unsigned with signed bytes by VPMADDUBSW, which adds the products of two
neighbours to 16 bits and saturates (Intel, Software Developer's Manual, volume 2). The operators
of ONNX itself are onnx's own reference; those of com.microsoft are written here as documented.
"""

import math

import numpy as np
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

LEAST, MOST = -(2**15), 2**15 - 1
HEADS = 12


class MatMulIntegerToFloat(OpRun):
    op_domain = "com.microsoft"
    saturates = False

    def _run(self, rows, whole, step, scales, zero):
        a, b = rows.astype(np.int32), whole.astype(np.int32)
        if self.saturates:
            total = np.zeros((*a.shape[:-1], b.shape[1]), dtype=np.int64)
            for at in range(0, len(b), 2):
                pair = a[..., at, None] * b[at] + a[..., at + 1, None] * b[at + 1]
                total += np.clip(pair, LEAST, MOST)
        else:
            total = a @ b
        return ((total - int(zero) * b.sum(axis=0)).astype(np.float32) * (step * scales),)


class Saturating(MatMulIntegerToFloat):
    saturates = True


Saturating.__name__ = "MatMulIntegerToFloat"


class MultiHeadAttention(OpRun):
    op_domain = "com.microsoft"

    def _run(self, query, key, value, num_heads=HEADS):
        n, s, width = query.shape
        q, k, v = (
            one.reshape(n, s, num_heads, -1).transpose(0, 2, 1, 3) for one in (query, key, value)
        )
        weights = q @ k.transpose(0, 1, 3, 2) / np.float32(math.sqrt(width // num_heads))
        weights = np.exp(weights - weights.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        return ((weights @ v).transpose(0, 2, 1, 3).reshape(n, s, width),)


class BiasGelu(OpRun):
    op_domain = "com.microsoft"

    def _run(self, value, bias):
        moved = (value + bias).astype(np.float64)
        erf = np.vectorize(math.erf)
        return ((0.5 * moved * (1 + erf(moved / math.sqrt(2)))).astype(np.float32),)


def vectors(graph, rows, *, saturates):
    """Return the twin's vectors of rows of token ids, one text a run: float32, (n, 384)."""
    product = Saturating if saturates else MatMulIntegerToFloat
    run = ReferenceEvaluator(graph, new_ops=[product, MultiHeadAttention, BiasGelu]).run
    found = []
    for row in rows:
        ids = np.array([row], dtype=np.int32)
        found.append(
            run(["embedding"], {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0]
        )
    return np.concatenate(found)

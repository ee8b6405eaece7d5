"""BERT in plain numpy, float64, written from the paper's formulas: the second opinion."""

import math

import numpy as np

ERF = np.vectorize(math.erf, otypes=[np.float64])


def norm(x, scale, offset, epsilon):
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + epsilon) * scale + offset


def gelu(x, kind):
    if kind == "gelu":
        return 0.5 * x * (1 + ERF(x / math.sqrt(2)))
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def tokens(weights, config, ids, mask=None, *, types=None, places=None, added=None):
    """Last hidden states of one text: (s, d).

    ``places`` are its tokens' positions, 0, 1, 2, ... if not given; ``added`` is what is added to
    the scores of attention: (heads, s, s).
    """
    w = {name: values.astype(np.float64) for name, values in weights.items()}
    ids = np.asarray(ids)
    mask = np.ones(len(ids)) if mask is None else np.asarray(mask, dtype=np.float64)
    types = np.zeros(len(ids), dtype=int) if types is None else np.asarray(types)
    epsilon, heads = config["layer_norm_eps"], config["num_attention_heads"]

    def linear(x, name):
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def normed(x, name):
        return norm(x, w[f"{name}.weight"], w[f"{name}.bias"], epsilon)

    x = w["embeddings.word_embeddings.weight"][ids]
    places = np.arange(len(ids)) if places is None else places
    x = x + w["embeddings.position_embeddings.weight"][places]
    if "embeddings.token_type_embeddings.weight" in w:
        x = x + w["embeddings.token_type_embeddings.weight"][types]
    x = normed(x, "embeddings.LayerNorm")
    size = config["hidden_size"] // heads
    for layer in range(config["num_hidden_layers"]):
        here = f"encoder.layer.{layer}"
        q, k, v = (linear(x, f"{here}.attention.self.{p}") for p in ("query", "key", "value"))
        mixed = np.zeros_like(x)
        for head in range(heads):
            part = slice(head * size, (head + 1) * size)
            scores = q[:, part] @ k[:, part].T / math.sqrt(size)
            scores = scores if added is None else scores + added[head]
            scores = np.where(mask[None, :] > 0, scores, -np.inf)
            shares = np.exp(scores - scores.max(axis=1, keepdims=True))
            mixed[:, part] = shares / shares.sum(axis=1, keepdims=True) @ v[:, part]
        x = normed(
            linear(mixed, f"{here}.attention.output.dense") + x,
            f"{here}.attention.output.LayerNorm",
        )
        middle = gelu(linear(x, f"{here}.intermediate.dense"), config["hidden_act"])
        x = normed(linear(middle, f"{here}.output.dense") + x, f"{here}.output.LayerNorm")
    return x


def embedding(hidden, mask, *, pooling="mean", normalize=True):
    mask = np.asarray(mask, dtype=np.float64)
    if pooling in ("cls", "lasttoken"):
        pooled = hidden[0 if pooling == "cls" else -1]
    else:
        pooled = (hidden * mask[:, None]).sum(0) / mask.sum()
    return pooled / np.linalg.norm(pooled) if normalize else pooled


def cosine(a, b):
    a, b = a.astype(np.float64), b.astype(np.float64)
    return (a * b).sum(-1) / np.linalg.norm(a, axis=-1) / np.linalg.norm(b, axis=-1)

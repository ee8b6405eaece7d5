"""The pair model in plain numpy, float64: what its graph is held against when it is made.

Written from the formulas and not from the graph, with the weights as they were trained or as they
are stored. Slow, and the same on every machine but for the last digits of a float64.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf, expit

from closecall.models.encoder_config import BertConfig
from closecall.models.weights import Tensor, Weights

Floats = NDArray[np.float64]
Stored = Callable[[Tensor], Tensor]
"""What becomes of a matrix (in, out) when it is stored."""


def as_trained(matrix: Tensor) -> Tensor:
    """Return a matrix as it is."""
    return matrix


class Forward:
    """P(acceptable) of rows of tokens.

    Parameters
    ----------
    config, weights
        Of the trained model.
    words
        The word table, (vocabulary, d).
    stored
        What becomes of a matrix; ``as_trained``, or ``graph.restored`` for 8 bits.
    """

    def __init__(
        self, config: BertConfig, weights: Weights, words: NDArray[np.float16], stored: Stored
    ) -> None:
        self._config = config
        self._weights = weights
        self._words = words
        self._stored = stored
        self._kept: dict[str, Floats] = {}

    def probability(self, ids: NDArray[np.int32], types: NDArray[np.int32]) -> float:
        """Return P(acceptable) of one row: int32 (s,) twice to 0..1."""
        config, width = self._config, self._config.hidden_size
        names = config.family.names
        places = self._tensor(f"{names.positions}.weight", (config.max_position_embeddings, width))
        kinds = self._tensor(f"{names.types}.weight", (config.type_vocab_size, width))
        x = self._words[ids].astype(np.float64) + places[: len(ids)] + kinds[types]
        x = self._normed(x, names.norm)
        for number in range(config.num_hidden_layers):
            x = self._layer(x, f"{names.layer}.{number}")
        pooled = np.tanh(self._linear(x[0], "pooler.dense", width, width))
        row = self._tensor("classifier.weight", (1, width), head=True)
        return float(expit(pooled @ row[0] + self._tensor("classifier.bias", (1,), head=True)[0]))

    def _layer(self, x: Floats, here: str) -> Floats:
        config, width, inner = (
            self._config,
            self._config.hidden_size,
            self._config.intermediate_size,
        )
        names, size = config.family.names, width // config.num_attention_heads
        query, key, value = (
            self._linear(x, f"{here}.{part}", width, width)
            for part in (names.query, names.key, names.value)
        )
        mixed = np.empty_like(x)
        for start in range(0, width, size):
            part = slice(start, start + size)
            scores = query[:, part] @ key[:, part].T / np.sqrt(size)
            shares = np.exp(scores - scores.max(axis=1, keepdims=True))
            mixed[:, part] = shares / shares.sum(axis=1, keepdims=True) @ value[:, part]
        mixed = self._linear(mixed, f"{here}.{names.mixed}", width, width)
        x = self._normed(mixed + x, f"{here}.{names.mixed_norm}")
        wide = self._linear(x, f"{here}.{names.widened}", width, inner)
        wide = wide * 0.5 * (1 + erf(wide / np.sqrt(2)))
        narrow = self._linear(wide, f"{here}.{names.narrowed}", inner, width)
        return self._normed(narrow + x, f"{here}.{names.norm_out}")

    def _linear(self, x: Floats, name: str, inner: int, outer: int) -> Floats:
        matrix = self._tensor(f"{name}.weight", (outer, inner), matrix=True)
        return x @ matrix + self._tensor(f"{name}.bias", (outer,))

    def _normed(self, x: Floats, name: str) -> Floats:
        shape = (self._config.hidden_size,)
        scale, offset = (self._tensor(f"{name}.{part}", shape) for part in ("weight", "bias"))
        centred = x - x.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + self._config.layer_norm_eps)
        found: Floats = centred / spread * scale + offset
        return found

    def _tensor(
        self, name: str, shape: tuple[int, ...], *, head: bool = False, matrix: bool = False
    ) -> Floats:
        """Return a tensor as float64, read once; a matrix as it is stored, (in, out)."""
        if name not in self._kept:
            found = self._weights.tensor(name, shape, head=head)
            self._kept[name] = (self._stored(found.T) if matrix else found).astype(np.float64)
        return self._kept[name]

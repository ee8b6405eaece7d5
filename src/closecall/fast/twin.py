"""The bundled model in 8 bits: made of the float32 one, kept here, and held against it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean

import msgspec
import numpy as np

from closecall.atomic import whole_bytes
from closecall.cache.location import cache_path
from closecall.embedders.onnx import OnnxEmbedder
from closecall.embedders.onnx_runtime import Loaded, load
from closecall.embedders.onnx_session import CPU, make_session
from closecall.embedders.onnx_texts import CPU_TOKENS, OnnxTexts
from closecall.errors import ConfigurationError, ModelError, UsageError
from closecall.fast.factors import stored_factors
from closecall.fast.graph import int8_graph
from closecall.fast.meaning import graph_digest
from closecall.fast.noise import Noise
from closecall.instrument import Instrument
from closecall.models.cards import GRAPH_FILE
from closecall.models.hashing import MOST_GRAPH, read_file, require
from closecall.models.store import StoredModel

SAMPLES = (
    "Yes.",
    "The refund takes five working days.",
    "Das Paket kam am 14. März an, zwei Tage zu spät.",
    "print([n * n for n in range(10) if n % 2])",
    "Order 58213: 3 x USB-C cable, 12.40 EUR each, shipped to Lyon on 2026-02-11.",
    "The museum is closed on Mondays, unless one is a holiday; then it is closed on Tuesday.",
)
"""Texts that show whether this processor's kernels round as those the noise was measured on."""


class IntegerTwin(OnnxTexts):
    """Embeds with the integer twin of a model, for scores that are not near a cutoff.

    Loading makes the twin (a second, once on a machine), checks that it is the one whose noise is
    known, and that it stands no further from the model than it may on this processor.

    Parameters
    ----------
    exact
        The model, on the CPU.
    noise
        What is known of the twin.
    environ
        Where the folder for caches is looked up.
    """

    def __init__(
        self, exact: OnnxEmbedder, noise: Noise, environ: Mapping[str, str] = os.environ
    ) -> None:
        super().__init__(exact.threads, CPU_TOKENS)
        self._exact = exact
        self._noise = noise
        self._environ = environ
        self._instrument = msgspec.structs.replace(
            exact.instrument, weights=noise.twin, precision="int8"
        )

    @property
    def instrument(self) -> Instrument:
        """The model's identity with the twin's weights and precision."""
        return self._instrument

    def load(self) -> None:
        """Make the twin ready and hold it against the model.

        Raises
        ------
        ConfigurationError
            If this machine makes another twin, or its processor rounds otherwise.
        MissingExtraError
            If the twin is not made yet and onnx is not installed.
        """
        self._ready()
        self._require_near()

    def _load(self) -> Loaded:
        model = self._exact.model
        data = twin_graph(model, self._noise, cache_path(None, self._environ).parent)
        whole = load(model, CPU)
        return whole._replace(session=make_session(data, f"the integer twin of {model.graph}"))

    def _require_near(self) -> None:
        """Refuse a processor whose kernels lose more than those the noise was measured on."""
        pairs = zip(self.embed(SAMPLES), self._exact.embed(SAMPLES), strict=True)
        mean = fmean(float(np.dot(mine, own)) for mine, own in pairs)
        if not mean >= self._noise.mean_cosine:
            raise ConfigurationError(
                f"fast: on this processor integers lose more than where their noise was measured "
                f"(vectors of sample texts at a mean cosine of {mean:.4f} from the float32 ones, "
                f"wanted {self._noise.mean_cosine:.4f}), as those without VNNI do. Run it without "
                "fast (leave --fast out), or on a processor with VNNI: Intel since Ice Lake, AMD "
                "since Zen 4"
            )


def twin_graph(model: StoredModel, noise: Noise, folder: Path) -> bytes:
    """Return the twin of a model: the one kept in ``folder``, or made now and kept there.

    Raises
    ------
    ConfigurationError
        If the noise was measured on another model, or on another twin than is made here.
    MissingExtraError
        If the twin has to be made and onnx is not installed.
    ModelIntegrityError
        If the model's graph is damaged.
    """
    if model.card.file(GRAPH_FILE).sha256 != noise.graph:
        raise ConfigurationError(
            f"fast: the noise of integers was measured for the bundled model, not for "
            f"{model.card.name}. Leave fast out"
        )
    kept = folder / f"int8-{noise.twin[:16]}.onnx"
    try:
        data = read_file(kept, MOST_GRAPH)
    except ModelError:
        data = b""
    if _digest(data) == noise.twin:
        return data
    source = read_file(model.graph, MOST_GRAPH)
    require(model.graph, source, model.card.file(GRAPH_FILE))
    data = int8_graph(source, stored_factors())
    found = _digest(data)
    if found != noise.twin:
        raise ConfigurationError(
            f"fast: the integer twin made here ({found[:12]}) computes otherwise than the one "
            f"whose noise was measured ({noise.twin[:12]}): this version of onnx or numpy makes "
            "other numbers. Leave fast out, or use another version"
        )
    keep(kept, data)
    return data


def _digest(data: bytes) -> str:
    """Return what the bytes compute, as a digest; empty where they are no graph to be read."""
    try:
        return graph_digest(data)
    except ValueError:
        return ""


def keep(path: Path, data: bytes) -> None:
    """Write the twin where the next process finds it; one that cannot be kept is made again."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_bytes(path) as stream:
            stream.write(data)
    except (OSError, UsageError):
        return

"""Embedders by name, as ``--embedder`` and ``load_embedder`` take them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from closecall.errors import ConfigurationError, UsageError
from closecall.instrument import CHUNK, WINDOW_POLICIES

if TYPE_CHECKING:
    from closecall.embedders.base import Embedder

DEFAULT = "minilm"
SELECTOR = "AI_INFERENCE_PROVIDER"
LOCAL = "local"
"""What the selector says to stay on this machine."""


def load_embedder(
    spec: str | None = None, *, window: str = CHUNK, threads: int | None = None
) -> Embedder:
    """Return the embedder a name stands for. Nothing is downloaded.

    Parameters
    ----------
    spec
        ``minilm`` (the bundled model), the name of a model added with ``closecall models add``,
        or ``onnx:FOLDER``. None: the bundled model.
    window
        What happens to a text longer than the model's window: ``chunk``, ``truncate``,
        ``error``.
    threads
        Runs side by side; None: every core this process may use.

    Raises
    ------
    UnknownNameError
        No model of that name; lists those there are.
    ConfigurationError
        ``AI_INFERENCE_PROVIDER`` asks for a provider this installation cannot reach.
    """
    if window not in WINDOW_POLICIES:
        raise UsageError(f"window must be one of {', '.join(WINDOW_POLICIES)}; got {window!r}")
    if threads is not None and threads < 1:
        raise UsageError(f"threads must be at least 1, got {threads}")
    chosen = _spec(spec)
    from closecall.embedders.onnx import OnnxEmbedder
    from closecall.models import store

    kind, sep, rest = chosen.partition(":")
    if sep and kind == "onnx":
        if not rest:
            raise UsageError("onnx: needs a folder, for example onnx:models/my-model")
        return OnnxEmbedder(store.load_model(rest), window=window, threads=threads)
    return OnnxEmbedder(store.find_model(chosen), window=window, threads=threads)


def _spec(spec: str | None) -> str:
    if spec is not None:
        if not spec.strip():
            raise UsageError("the embedder's name is empty; try minilm")
        return spec.strip()
    selected = os.environ.get(SELECTOR, "").strip()
    if selected and selected.lower() != LOCAL:
        # An explicit choice of provider never turns into another one by itself.
        raise ConfigurationError(
            f"{SELECTOR} asks for a remote provider, and this version of closecall embeds on "
            f"this machine only. Unset {SELECTOR}, or choose the local model with "
            f"--embedder {DEFAULT}."
        )
    return DEFAULT

"""Embeddings from a compiled model, on the CPU or on CUDA."""

from __future__ import annotations

import os
from pathlib import Path

from closecall.embedders.onnx_runtime import Loaded, load
from closecall.embedders.onnx_session import CPU, checked_device
from closecall.embedders.onnx_texts import CPU_TOKENS, CUDA_TOKENS, OnnxTexts
from closecall.embedders.windows import checked_policy
from closecall.errors import ConfigurationError, UsageError
from closecall.instrument import CHUNK, Instrument
from closecall.models.cards import GRAPH_FILE, TOKENIZER_FILE
from closecall.models.hashing import require_file
from closecall.models.store import StoredModel, load_model

BATCH_TOKENS = CPU_TOKENS
"""Most tokens in one run of the session on the CPU."""

# What a tokenizer puts around a text.
_SPECIALS = 2
_DIGITS = 9


class OnnxEmbedder(OnnxTexts):
    """Turns texts into vectors with a compiled model, on the CPU or on CUDA.

    On the CPU the same text gives the same bytes whatever stands beside it in a call: windows of
    one length share a batch, so nothing is padded. On CUDA the last bits may differ.

    Making an embedder reads the card only; the model is checked and loaded when the first text
    comes. Calls from several threads are safe. No thread outlives a call, so a process that
    embedded on the CPU may fork.

    Long texts: the window policy ``chunk`` reads a text in windows that share ``overlap`` tokens
    and averages their vectors, each weighted by its tokens of the text; ``truncate`` reads the
    first window; ``error`` refuses. A prefix stands in every window.

    Parameters
    ----------
    model
        A model of the store, or the folder of one.
    window
        ``chunk``, ``truncate`` or ``error``.
    overlap
        Tokens neighbouring windows share; None for 32, or a quarter of a smaller window.
    threads
        Runs side by side; None for ``CLOSECALL_THREADS``, else one for each core there is, and
        one on CUDA.
    batch_tokens
        Most tokens in one run, None for what suits the device; changes speed and memory only.
    device
        ``cpu``, ``cuda`` or ``cuda:N``. It is no part of the identity: both compute in float32
        and agree to rounding, so vectors of one may be kept and compared with the other's. One
        that is asked for and is not there is refused; nothing falls back.

    Raises
    ------
    UsageError
        If an argument is wrong.
    ModelError
        If the folder holds no model or its card is wrong.
    """

    def __init__(
        self,
        model: StoredModel | Path | str,
        *,
        window: str = CHUNK,
        overlap: int | None = None,
        threads: int | None = None,
        batch_tokens: int | None = None,
        device: str = CPU,
    ) -> None:
        self._model = model if isinstance(model, StoredModel) else load_model(model)
        card = self._model.card
        window, overlap = checked_policy(window, overlap, card.max_tokens - _SPECIALS)
        self._device = checked_device(device)
        super().__init__(*checked_work(threads, batch_tokens, device))
        self._instrument = Instrument(
            kind="onnx",
            model=card.name,
            provider="local",
            revision=card.revision,
            dims=card.dims,
            weights=card.file(GRAPH_FILE).sha256,
            tokenizer=card.file(TOKENIZER_FILE).sha256,
            pooling=card.pooling,
            normalize=card.normalize,
            prefixes=dict(card.prefixes),
            max_tokens=card.max_tokens,
            precision=card.precision,
            window=window,
            overlap=overlap,
            options={"lowercase": "true"} if card.lowercase else {},
        )

    @property
    def instrument(self) -> Instrument:
        """The identity of this embedder, taken from the model's card."""
        return self._instrument

    @property
    def model(self) -> StoredModel:
        """The model it runs."""
        return self._model

    @property
    def device(self) -> str:
        """Where the model runs, as it was asked for."""
        return self._device

    def load(self) -> None:
        """Check and load the model now instead of with the first text.

        Raises
        ------
        ModelIntegrityError
            If a file is not the one its card records.
        ModelError
            If a file is missing, or keeps weights in other files, or the runtime cannot use it.
        ConfigurationError
            If the runtime cannot be imported or would not run on the device.
        """
        self._ready()

    def check_files(self) -> None:
        """Check the model's files without loading them, in the time it takes to read them.

        A device that may not be there is found out only by loading, so on another than the CPU
        that is what this does.

        Raises
        ------
        ModelIntegrityError
            If a file is not the one its card records.
        ModelError
            If a file is missing or cannot be read.
        ConfigurationError
            As ``load``, on another device than the CPU.
        """
        if self._device == CPU:
            for name in (GRAPH_FILE, TOKENIZER_FILE):
                require_file(self._model.folder / name, self._model.card.file(name))
        else:
            self.load()

    def _load(self) -> Loaded:
        return load(self._model, self._device)


def worker_threads() -> int:
    """Return how many runs to put side by side: ``CLOSECALL_THREADS``, else the cores there are.

    Raises
    ------
    ConfigurationError
        If the variable is set to anything but a number from 1.
    """
    given = os.environ.get("CLOSECALL_THREADS", "")
    if given:
        number = given.isascii() and given.isdigit() and len(given) <= _DIGITS
        if not number or int(given) < 1:
            raise ConfigurationError(
                f"CLOSECALL_THREADS must be a whole number from 1, got {given!r:.40}"
            )
        return int(given)
    if hasattr(os, "sched_getaffinity"):  # the cores this process may use, where the OS says
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def checked_work(threads: int | None, batch_tokens: int | None, device: str) -> tuple[int, int]:
    """Return how many runs stand side by side, and the most tokens in each.

    Raises
    ------
    UsageError
        If a number is not a whole one from 1.
    ConfigurationError
        See ``worker_threads``.
    """
    on_cpu = device == CPU
    if threads is None:
        # Runs on one card wait for each other.
        threads = worker_threads() if on_cpu else 1
    if batch_tokens is None:
        batch_tokens = CPU_TOKENS if on_cpu else CUDA_TOKENS
    return _positive("threads", threads), _positive("batch_tokens", batch_tokens)


def _positive(name: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(f"{name} must be a whole number from 1, got {value!r}")
    return value

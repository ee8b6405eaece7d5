"""Rows of tokens through a loaded model, begun one after another and waited for later."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from closecall.embedders.base import Vectors
from closecall.embedders.onnx_runtime import Ids
from closecall.embedders.st.flow import Flow
from closecall.embedders.st.layout import StLayout
from closecall.errors import EmbeddingError

_NO_MEMORY = (
    "out of memory", "not enough memory", "can't allocate memory", "invalid buffer size",
)  # fmt: skip
_MOST_PINNED = 256 * 1024 * 1024
"""Bytes of memory that the device writes into by itself, for one batch; it cannot be swapped."""


class OutOfMemory(Exception):  # noqa: N818 - told to nobody but the batches
    """The device had not the memory for a batch."""


class Loaded(NamedTuple):
    """A model and its tokenizer; see ``onnx_reading.Tokenizing`` for what reading needs.

    ``modules`` are called one after the other, the transformer first. ``pad`` fills rows up;
    ``types``: whether the model is told of token types, which are all 0; ``places``: whether
    the tokenizer says where in the text each token stands; ``tokens``: most in one pass, to
    begin with; ``compiled``: whether the transformer is.
    """

    modules: tuple[Any, ...]
    tokenizer: Any
    before: Ids
    after: Ids
    unknown: int
    cuttable: bool
    pad: int
    types: bool
    places: bool
    device: str
    layout: StLayout
    flow: Flow
    tokens: int
    compiled: bool = False

    def width(self, length: int) -> int:
        """Return how many tokens a window of ``length`` takes in a batch, padding included."""
        return self.flow.width(length, self.layout.max_tokens)

    def run(self, rows: Sequence[Ids], *, hidden: bool) -> tuple[Vectors, Vectors | None]:
        """Return the vectors of windows, and their token vectors where they are wanted.

        Parameters
        ----------
        rows
            int32, (s,) each, special tokens included, none empty.
        hidden
            Whether the last hidden states are wanted: float32, (n, w, d), d as ``dims``, w at
            least s.

        Raises
        ------
        OutOfMemory
            If the device has not the memory for them.
        EmbeddingError
            If torch fails in another way.
        """
        return self.begin(rows, hidden=hidden).finish()

    def begin(self, rows: Sequence[Ids], *, hidden: bool) -> Pending:
        """Like ``run``, but CUDA is only told what to do; ``finish`` waits for what it makes.

        Lack of memory is found out here, other failures here or when waiting.
        """
        import torch

        try:
            return self._begun(torch, rows, hidden=hidden)
        except (RuntimeError, MemoryError) as error:
            problem = error
        # Outside of the handler, whose traceback would keep what was computed alive.
        if not is_out_of_memory(problem):
            raise EmbeddingError(f"torch failed: {first_line(problem)}") from problem
        problem.__traceback__ = None
        if self.device.startswith("cuda"):
            torch.cuda.empty_cache()
        raise OutOfMemory(first_line(problem))

    def _begun(self, torch: Any, rows: Sequence[Ids], *, hidden: bool) -> Pending:
        with torch.inference_mode():
            if self.compiled:  # what the last graph made may be overwritten now
                torch.compiler.cudagraph_mark_step_begin()
            features = self.modules[0](self._features(torch, rows))
            # Pooling and what follows it are computed in float32, whatever the precision.
            states = features["token_embeddings"] = features["token_embeddings"].float()
            for module in self.modules[1:]:
                features = module(features)
            found = [features["sentence_embedding"].float()[: len(rows)]]
            if hidden:
                found.append(states[: len(rows), :, : self.layout.dims])
            return self._brought(torch, found)

    def _features(self, torch: Any, rows: Sequence[Ids]) -> dict[str, Any]:
        width = self.width(max(len(row) for row in rows))
        height = self.flow.height(len(rows), width, self.tokens)
        ids = np.full((height, width), self.pad, dtype=np.int64)
        mask = np.zeros_like(ids)
        for at, row in enumerate(rows):
            ids[at, : len(row)] = row
            mask[at, : len(row)] = 1
        # What fills a batch up is a row like any other: one of nothing but padding has no mean.
        ids[len(rows) :], mask[len(rows) :] = ids[0], mask[0]
        features = {"input_ids": self._sent(torch, ids), "attention_mask": self._sent(torch, mask)}
        if self.types:
            features["token_type_ids"] = torch.zeros_like(features["input_ids"])
        return features

    def _sent(self, torch: Any, array: NDArray[np.int64]) -> Any:
        tensor = torch.from_numpy(array)
        if self.device.startswith("cuda"):
            return tensor.pin_memory().to(self.device, non_blocking=True)
        return tensor.to(self.device)

    def _brought(self, torch: Any, found: Sequence[Any]) -> Pending:
        """Have tensors brought to the host. Only CUDA says when what it brings is there."""
        size = sum(tensor.numel() * tensor.element_size() for tensor in found)
        if not self.device.startswith("cuda") or size > _MOST_PINNED:
            return Pending(self, [tensor.cpu() for tensor in found], None)
        held = [torch.empty(one.shape, dtype=one.dtype, pin_memory=True) for one in found]
        for place, tensor in zip(held, found, strict=True):
            place.copy_(tensor, non_blocking=True)
        there = torch.cuda.Event(blocking=True)
        there.record(torch.cuda.current_stream(self.device))
        return Pending(self, held, there)

    def cut(self, vectors: Vectors) -> Vectors:
        """Return the first ``dims`` numbers, of length 1 again if the whole vectors had it."""
        if vectors.shape[1] == self.layout.dims:
            return vectors
        cut = vectors[:, : self.layout.dims]
        if not self.layout.normalize:
            return cut
        lengths = np.sqrt(np.square(cut, dtype=np.float64).sum(axis=1, keepdims=True))
        scaled: NDArray[Any] = cut / np.where(lengths > 0, lengths, 1.0)
        return scaled.astype(np.float32)


class Pending:
    """A batch that was begun. Its arrays are in the host's memory once ``there`` has come."""

    def __init__(self, loaded: Loaded, held: Sequence[Any], there: Any) -> None:
        self._loaded, self._held, self._there = loaded, held, there

    def finish(self) -> tuple[Vectors, Vectors | None]:
        """Wait for it; see ``Loaded.run``.

        Raises
        ------
        EmbeddingError
            If the device failed meanwhile.
        """
        try:
            if self._there is not None:
                self._there.synchronize()
            vectors, *hidden = (tensor.numpy() for tensor in self._held)
        except RuntimeError as error:
            raise EmbeddingError(f"torch failed: {first_line(error)}") from error
        return self._loaded.cut(vectors), hidden[0] if hidden else None


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error of torch says that there was not the memory."""
    text = str(error).lower()
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ == "OutOfMemoryError"
        or any(words in text for words in _NO_MEMORY)
    )


def first_line(error: BaseException) -> str:
    """Return the first line of what an error says, or its name."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__

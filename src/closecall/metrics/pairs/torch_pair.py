"""A pair model as weights, run by sentence-transformers' CrossEncoder on the CPU.

The library loads the model; the rows of tokens are made here, as for an ONNX graph, so that no
text is cut in silence and both ways give the same numbers.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from closecall.errors import EmbeddingError, MissingExtraError, ModelError
from closecall.metrics.pairs.runtime import Outputs, checked_outputs
from closecall.metrics.pairs.tokenising import Ids
from closecall.models.hashing import hash_file, require
from closecall.models.pair_folder import PairFolder

_TYPES = "token_type_ids"
_HEADER_MOST = 100_000_000


class TorchPair:
    """A model in float32; torch's own threads are left as they are, calls run one by one.

    Parameters
    ----------
    folder
        Read; its weights are ``model.safetensors``.

    Raises
    ------
    MissingExtraError
        torch or sentence-transformers is not installed.
    ModelIntegrityError
        A file is not the one that was hashed.
    ModelError
        The library cannot load the model, or the file lacks weights that make the score.
    """

    threads = 1
    alone = False

    def __init__(self, folder: PairFolder) -> None:
        try:
            torch = import_module("torch")
            CrossEncoder = import_module("sentence_transformers").CrossEncoder  # noqa: N806
        except ImportError as error:
            raise MissingExtraError(
                f"{folder.folder}: a model without an ONNX graph",
                "torch",
                ["torch", "sentence-transformers"],
            ) from error
        self._torch = torch
        self._labels = folder.labels
        self._where = str(folder.weights)
        with _quiet():
            try:
                encoder = CrossEncoder(
                    str(folder.folder.resolve()),
                    device="cpu",
                    local_files_only=True,
                    trust_remote_code=False,
                    model_kwargs={"use_safetensors": True},
                )
            except Exception as error:  # the library passes on whatever its parts raise
                raise ModelError(
                    f"{folder.folder}: sentence-transformers cannot load it: {error}"
                ) from error
        # Looked at after loading: the library opens the files by itself.
        for path in (folder.weights, folder.config):
            found = hash_file(path)
            if found != folder.file(path):
                require(path, path.read_bytes(), folder.file(path))
        model: Any = encoder.model
        self._require_head(model, folder.weights)
        # Half precision rounds differently from one processor to the next.
        self._model = model.float().eval()
        named = getattr(encoder.tokenizer, "model_input_names", [_TYPES])
        accepted = inspect.signature(self._model.forward).parameters
        self._takes_types = _TYPES in named and _TYPES in accepted

    @property
    def typed(self) -> bool:
        """Whether the model takes token types and its tokenizer gives them."""
        return self._takes_types

    def run(self, ids: Ids, types: Ids) -> Outputs:
        """Return the outputs of rows of one length: int32 (n, s) twice to float64 (n, k).

        Raises
        ------
        EmbeddingError
            The model fails.
        ModelError
            The outputs are not as many as the labels.
        """
        torch = self._torch
        wide = torch.from_numpy(ids.astype(np.int64))
        feed = {"input_ids": wide, "attention_mask": torch.ones_like(wide)}
        if self._takes_types:
            feed[_TYPES] = torch.from_numpy(types.astype(np.int64))
        try:
            with torch.inference_mode():
                found = self._model(**feed).logits.numpy()
        except Exception as error:  # torch's exceptions share no base but this
            raise EmbeddingError(f"torch failed: {error}") from error
        return checked_outputs(found, len(ids), self._labels, self._where)

    def _require_head(self, model: Any, weights: Path) -> None:
        """Refuse weights without the layers that make the score: they were filled at random."""
        stored = _tensor_names(weights)
        prefix = f"{getattr(model, 'base_model_prefix', '')}."
        wanted = [
            name
            for name, _ in model.named_parameters()
            if not name.startswith(prefix) or "pooler" in name
        ]
        # Some files name the inner layers without the prefix.
        absent = [name for name in wanted if not stored & {name, name.removeprefix(prefix)}]
        if absent:
            raise ModelError(
                f"{weights}: lacks {', '.join(absent[:3])}, without which the model scores at "
                "random; it was not saved as a classifier"
            )


def _tensor_names(path: Path) -> frozenset[str]:
    """Return the names in a safetensors file: a length, then a JSON header of that length."""
    try:
        with path.open("rb") as stream:
            size = int.from_bytes(stream.read(8), "little")
            if size > _HEADER_MOST:
                raise ModelError(f"{path}: not a safetensors file: a header of {size:,} bytes")
            header = json.loads(stream.read(size))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path}: not a safetensors file: {error}") from error
    return frozenset(header) if isinstance(header, dict) else frozenset()


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the library's progress bars off the screen while a model loads."""
    logging = import_module("transformers.utils.logging")
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()

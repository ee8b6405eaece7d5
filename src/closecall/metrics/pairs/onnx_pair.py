"""A pair model as an ONNX graph, on the CPU."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from closecall.embedders.onnx import worker_threads
from closecall.errors import ConfigurationError, EmbeddingError, ModelError
from closecall.metrics.pairs.runtime import Outputs, checked_outputs, not_importable
from closecall.metrics.pairs.tokenising import Ids
from closecall.models.external import has_external_data
from closecall.models.hashing import read_file, require
from closecall.models.onnx_functions import require_bounded
from closecall.models.pair_folder import PairFolder

_PROVIDER = "CPUExecutionProvider"
_ERRORS_ONLY = 3
_IDS, _MASK, _TYPES = "input_ids", "attention_mask", "token_type_ids"
_LOGITS = "logits"
_NUMBERS = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}

_BATCH_WIDE = b"DynamicQuantize"
"""Operators that measure the range of a whole batch and round every row by it."""


class OnnxPair:
    """A session on one thread; several calls may run side by side.

    Parameters
    ----------
    folder
        Read; its graph is ``folder.weights``.

    Raises
    ------
    ModelIntegrityError
        The graph is not the one that was hashed.
    ModelError
        The graph keeps weights in other files, cannot be loaded, or has inputs or outputs of
        another kind than a pair model.
    ConfigurationError
        onnxruntime cannot be imported.
    """

    def __init__(self, folder: PairFolder) -> None:
        self._where = str(folder.weights)
        self._labels = folder.labels
        data = read_file(folder.weights)
        require(folder.weights, data, folder.file(folder.weights))
        self._require_self_contained(data)
        self.alone = _BATCH_WIDE in data
        self._session = self._made(data)
        self._types = self._inputs()
        self._output = self._chosen_output()

    @property
    def typed(self) -> bool:
        """Whether the graph takes token types."""
        return _TYPES in self._types

    @property
    def threads(self) -> int:
        """``CLOSECALL_THREADS``, else the cores there are."""
        return worker_threads()

    def run(self, ids: Ids, types: Ids) -> Outputs:
        """Return the outputs of rows of one length: int32 (n, s) twice to float64 (n, k).

        Raises
        ------
        EmbeddingError
            The runtime fails.
        ModelError
            The outputs are not as many as the labels.
        """
        given = {_IDS: ids, _MASK: np.ones_like(ids), _TYPES: types}
        feed = {name: given[name].astype(kind) for name, kind in self._types.items()}
        try:
            (found,) = self._session.run([self._output], feed)
        except Exception as error:  # the runtime's exceptions share no base but this
            raise EmbeddingError(f"onnxruntime failed: {error}") from error
        return checked_outputs(found, len(ids), self._labels, self._where)

    def _made(self, data: bytes) -> Any:
        # Read when the module loads: without it some builds write ids to the home folder and,
        # later, look up a host.
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        try:
            import onnxruntime
        except ImportError as error:
            raise not_importable("onnxruntime", error) from error

        onnxruntime.disable_telemetry_events()
        options = onnxruntime.SessionOptions()
        # One thread, none of its own: it survives a fork, and pairs are run side by side.
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = _ERRORS_ONLY
        try:
            session = onnxruntime.InferenceSession(data, options, providers=[_PROVIDER])
        except Exception as error:  # the runtime's exceptions share no base but this
            raise ModelError(f"{self._where}: the runtime cannot load it: {error}") from error
        # It keeps the bytes for a change of providers, which never comes.
        session._model_bytes = b""  # noqa: SLF001
        active = session.get_providers()
        if active[:1] != [_PROVIDER]:
            raise ConfigurationError(f"asked onnxruntime for {_PROVIDER}, got {', '.join(active)}")
        return session

    def _require_self_contained(self, data: bytes) -> None:
        try:
            require_bounded(data)
            external = has_external_data(data)
        except ValueError as error:
            raise ModelError(f"{self._where}: not an ONNX file: {error}") from error
        if external:
            raise ModelError(
                f"{self._where}: keeps weights in other files (external data), which its hash "
                "does not cover. Write it as one file, with onnx.save(onnx.load(OLD), NEW)"
            )

    def _inputs(self) -> dict[str, Any]:
        """Return the number type of each input, or refuse a graph that wants something else."""
        found = {}
        for entry in self._session.get_inputs():
            if entry.name not in (_IDS, _MASK, _TYPES) or entry.type not in _NUMBERS:
                raise ModelError(
                    f"{self._where}: input '{entry.name}' of {entry.type}: a pair model takes "
                    f"{_IDS}, {_MASK} and perhaps {_TYPES}, whole numbers"
                )
            fixed = [size for size in entry.shape if isinstance(size, int)]
            if fixed or len(entry.shape) != 2:  # noqa: PLR2004 - pairs and tokens
                raise ModelError(
                    f"{self._where}: input '{entry.name}' has the shape {entry.shape}: expected "
                    "any number of pairs by any number of tokens. Export it with dynamic axes"
                )
            found[entry.name] = _NUMBERS[entry.type]
        if _IDS not in found:
            raise ModelError(f"{self._where}: has no input '{_IDS}'")
        return found

    def _chosen_output(self) -> str:
        entries = {entry.name: entry.shape for entry in self._session.get_outputs()}
        name = _LOGITS if _LOGITS in entries else next(iter(entries))
        if name != _LOGITS and len(entries) > 1:
            raise ModelError(
                f"{self._where}: has the outputs {', '.join(entries)}; expected '{_LOGITS}', or "
                "one output only"
            )
        width = entries[name][-1] if entries[name] else None
        one = len(self._labels) == 1 and len(entries[name]) == 1
        fits = not isinstance(width, int) or width == len(self._labels)
        if not one and (len(entries[name]) != 2 or not fits):  # noqa: PLR2004 - pairs and labels
            raise ModelError(
                f"{self._where}: its output '{name}' has the shape {entries[name]}; the "
                f"configuration names {len(self._labels)} outputs for each pair"
            )
        return str(name)

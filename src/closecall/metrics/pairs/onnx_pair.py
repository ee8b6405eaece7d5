"""A pair model as an ONNX graph, on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from closecall.embedders.onnx import worker_threads
from closecall.embedders.onnx_session import make_session
from closecall.errors import ModelError
from closecall.metrics.pairs.runtime import Outputs, checked_outputs
from closecall.metrics.pairs.tokenising import Ids
from closecall.models.external import has_external_data
from closecall.models.hashing import MOST_GRAPH, read_file, require
from closecall.models.pair_folder import PairFolder

_IDS, _MASK, _TYPES = "input_ids", "attention_mask", "token_type_ids"
_LOGITS = "logits"
_NUMBERS = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
_FLOATS = ("tensor(float)", "tensor(float16)", "tensor(double)")

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
        data = read_file(folder.weights, MOST_GRAPH)
        require(folder.weights, data, folder.file(folder.weights))
        self._require_self_contained(data)
        self.alone = _BATCH_WIDE in data
        self._session = make_session(data, self._where, fuse=True)
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
        (found,) = self._session.run([self._output], feed)
        return checked_outputs(found, len(ids), self._labels, self._where)

    def _require_self_contained(self, data: bytes) -> None:
        try:
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
        for entry in self._session.raw.get_inputs():
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
        entries = {entry.name: entry.shape for entry in self._session.raw.get_outputs()}
        if not entries:
            raise ModelError(f"{self._where}: has no output")
        name = _LOGITS if _LOGITS in entries else next(iter(entries))
        if name != _LOGITS and len(entries) > 1:
            raise ModelError(
                f"{self._where}: has the outputs {', '.join(entries)}; expected '{_LOGITS}', or "
                "one output only"
            )
        kind = next(entry.type for entry in self._session.raw.get_outputs() if entry.name == name)
        if kind not in _FLOATS:
            raise ModelError(
                f"{self._where}: its output '{name}' is of {kind}; expected floating-point numbers"
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

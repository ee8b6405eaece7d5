"""What runs a pair model, and how it is loaded: the contract of both ways to do it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from closecall.errors import ConfigurationError, MissingExtraError, ModelError
from closecall.metrics.pairs.tokenising import Ids, PairTokenizer
from closecall.models.hashing import read_file, require
from closecall.models.pair_folder import ONNX, TORCH, PairFolder
from closecall.models.tokenizer_files import read_tokenizer, unknown_token

Outputs = NDArray[np.float64]


class Runner(Protocol):
    """Turns rows of one length into the model's raw outputs."""

    @property
    def typed(self) -> bool:
        """Whether the model is told which text a token is of."""
        ...

    @property
    def threads(self) -> int:
        """How many calls may run side by side."""
        ...

    @property
    def alone(self) -> bool:
        """Whether a row has to be run by itself, because rows of a batch change each other."""
        ...

    def run(self, ids: Ids, types: Ids) -> Outputs:
        """Return the outputs of rows: int32 (n, s) twice to float64 (n, k), not all finite."""
        ...


class Loaded(NamedTuple):
    """A model and its tokenizer, ready."""

    runner: Runner
    tokenizer: PairTokenizer


def require_installed(folder: PairFolder) -> None:
    """Refuse a folder of weights where the libraries that run them are not installed.

    Raises
    ------
    MissingExtraError
        They are not; the message says what to install.
    """
    if folder.kind == TORCH:
        absent = [name for name in ("torch", "sentence_transformers") if find_spec(name) is None]
        if absent:
            raise MissingExtraError(
                f"{folder.folder}: a model without an ONNX graph", "torch", absent
            )


def load(folder: PairFolder) -> Loaded:
    """Check a model's bytes and make it ready.

    Raises
    ------
    ModelIntegrityError
        A file is not the one that was hashed when the metric was made.
    ModelError
        The runtime or the tokenizer cannot use a file.
    ConfigurationError
        The runtime cannot be imported.
    """
    # Rows are tokenised one text at a time; threads of the library's own would not survive a fork.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    tokenizer, unknown = _tokenizer(folder)
    if folder.kind == ONNX:
        from closecall.metrics.pairs.onnx_pair import OnnxPair

        runner: Runner = OnnxPair(folder)
    else:
        from closecall.metrics.pairs.torch_pair import TorchPair

        runner = TorchPair(folder)
    where = str(folder.tokenizer)
    framed = PairTokenizer(tokenizer, folder.window, where, typed=runner.typed, unknown=unknown)
    return Loaded(runner, framed)


def checked_outputs(outputs: Any, rows: int, labels: Sequence[str], where: str) -> Outputs:
    """Return a runtime's outputs as float64 (n, k), or refuse another shape.

    Raises
    ------
    ModelError
        There is not one row of one number for each label.
    """
    found = np.asarray(outputs, dtype=np.float64)
    if found.shape == (rows,) and len(labels) == 1:
        found = found[:, None]
    if found.shape != (rows, len(labels)):
        raise ModelError(
            f"{where}: gives outputs of shape {found.shape} for {rows} pairs; the configuration "
            f"names {len(labels)} of them"
        )
    return found


def _tokenizer(folder: PairFolder) -> tuple[Any, int]:
    """Return it with the number of its token for what it does not know."""
    path = folder.tokenizer
    data = read_file(path)
    require(path, data, folder.file(path))
    # Published files often cut and pad; a text that is cut would be scored in silence.
    tokenizer = read_tokenizer(path, data)
    # An answer that spells out "[SEP]" would otherwise end where it says it does.
    tokenizer.encode_special_tokens = True
    return tokenizer, unknown_token(path, tokenizer, data)


def not_importable(package: str, error: ImportError) -> ConfigurationError:
    """Return the error for a package that is needed always and does not load."""
    return ConfigurationError(
        f"{package} cannot be imported: {error}. "
        f"Install it again: pip install --force-reinstall {package}"
    )

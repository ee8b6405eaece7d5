"""A compiled model made ready to run: its bytes checked, its session and tokenizer loaded."""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from closecall.errors import ConfigurationError, EmbeddingError, ModelError
from closecall.models.cards import GRAPH_FILE, TOKENIZER_FILE
from closecall.models.external import has_external_data
from closecall.models.hashing import read_file, require
from closecall.models.store import StoredModel

Ids = NDArray[np.int32]

_PROVIDER = "CPUExecutionProvider"
_OUTPUT = "embedding"
_TOKENS = "tokens"
_TOKENS_RANK = 3
_ERRORS_ONLY = 3


class Loaded(NamedTuple):
    """A session and a tokenizer.

    ``before`` and ``after`` are the special tokens around every window. ``unknown`` is the token
    that stands for whatever is not in the vocabulary, -1 where there is none. ``cuttable``:
    whether a text may be tokenised in pieces cut before a space. ``tokens``: whether the graph
    gives a vector of the card's width for each token.
    """

    session: Any
    tokenizer: Any
    before: Ids
    after: Ids
    inputs: tuple[str, ...]
    unknown: int
    cuttable: bool
    tokens: bool

    def run(self, ids: Ids) -> NDArray[np.float32]:
        """Return the vectors of windows of one length: int32 (n, s) to float32 (n, d).

        Raises
        ------
        EmbeddingError
            If the runtime fails.
        """
        (vectors,) = self._run([_OUTPUT], ids)
        return vectors

    def run_tokens(self, ids: Ids) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Like ``run``, with the last hidden states from the same pass: float32 (n, s, d).

        Raises
        ------
        EmbeddingError
            If the runtime fails.
        """
        vectors, hidden = self._run([_OUTPUT, _TOKENS], ids)
        return vectors, hidden

    def _run(self, outputs: list[str], ids: Ids) -> list[NDArray[np.float32]]:
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        if "token_type_ids" in self.inputs:
            feed["token_type_ids"] = np.zeros_like(ids)
        try:
            found: list[NDArray[np.float32]] = self.session.run(outputs, feed)
        except Exception as error:  # the runtime's exceptions share no base but this
            raise EmbeddingError(f"onnxruntime failed: {error}") from error
        return found


def load(model: StoredModel) -> Loaded:
    """Check a model's bytes and make it ready; about 0.1 s for the bundled one.

    ``model.onnx`` and ``tokenizer.json`` are read once each; what is hashed are the very bytes
    the session and the tokenizer are made of, so the card's hashes say what made a vector. The
    hashing is done on a second thread while the session loads; nothing is computed before both
    hashes are known to be right.

    Raises
    ------
    ModelIntegrityError
        If a file is not the one its card records.
    ModelError
        If a file is missing, or keeps weights in other files, or the runtime cannot use it.
    ConfigurationError
        If the runtime cannot be imported or would not run on the CPU.
    """
    # Slices are tokenised on the embedder's own threads, whose number people choose; threads of
    # the tokenizer's own would ignore that, and would not survive a fork.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    with ThreadPoolExecutor(1) as pool:
        graph = pool.submit(read_file, model.graph)
        tokenizer = pool.submit(_checked_tokenizer, model)
        graph_checked = pool.submit(_check_graph, model, graph)
        try:
            session = _session(model, graph)
        except Exception:
            graph_checked.result()  # damage explains it better than the runtime does
            raise
        graph_checked.result()
        return _joined(model, session, tokenizer.result())


def _check_graph(model: StoredModel, graph: Future[bytes]) -> None:
    require(model.graph, graph.result(), model.card.file(GRAPH_FILE))


def _session(model: StoredModel, graph: Future[bytes]) -> Any:
    """Return a session on one thread: it owns no threads, so it survives a fork."""
    # Read when the module loads: without it some builds (1.32 on Linux) write ids to the home
    # folder and, ten seconds later, look up a host; the call below comes too late for that.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    try:
        import onnxruntime
    except ImportError as error:
        raise _not_importable("onnxruntime", error) from error

    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = _ERRORS_ONLY
    # The graph is fused where that pays; higher levels would fuse what is slower fused.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    data = graph.result()
    _require_self_contained(model, data)
    try:
        session = onnxruntime.InferenceSession(data, options, providers=[_PROVIDER])
    except Exception as error:  # the runtime's exceptions share no base but this
        raise ModelError(f"{model.graph}: the runtime cannot load it: {error}") from error
    # It keeps the bytes for a change of providers, which never comes: the file's size in memory.
    session._model_bytes = b""  # noqa: SLF001
    active = session.get_providers()
    if active[:1] != [_PROVIDER]:
        raise ConfigurationError(f"asked onnxruntime for {_PROVIDER}, got {', '.join(active)}")
    shapes = [entry.shape for entry in session.get_outputs() if entry.name == _OUTPUT]
    if [shape[-1:] for shape in shapes] != [[model.card.dims]]:
        found = f"of width {(shapes[0] or [1])[-1]}" if shapes else "missing"
        raise ModelError(
            f"{model.graph}: its output '{_OUTPUT}' is {found}, the card says {model.card.dims}"
        )
    return session


def _require_self_contained(model: StoredModel, data: bytes) -> None:
    """Refuse a graph with weights in other files, before the runtime opens any of them."""
    try:
        external = has_external_data(data)
    except ValueError as error:
        raise ModelError(f"{model.graph}: not an ONNX file: {error}") from error
    if external:
        raise ModelError(
            f"{model.graph}: keeps weights in other files (external data), which the card's hash "
            "does not cover. Write it as one file, with onnx.save(onnx.load(OLD), NEW), and "
            "record that file's sha256 and size in card.toml"
        )


def _checked_tokenizer(model: StoredModel) -> Any:
    try:
        import tokenizers
    except ImportError as error:
        raise _not_importable("tokenizers", error) from error

    path = model.folder / TOKENIZER_FILE
    data = read_file(path)
    require(path, data, model.card.file(TOKENIZER_FILE))
    try:
        tokenizer = tokenizers.Tokenizer.from_buffer(data)
    except Exception as error:  # the library raises bare Exception
        raise ModelError(f"{path}: not a tokenizer: {error}") from error
    # Published files often cut and pad; lengths are the embedder's to decide.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _joined(model: StoredModel, session: Any, tokenizer: Any) -> Loaded:
    """Put session and tokenizer together and find the special tokens."""
    path = model.folder / TOKENIZER_FILE
    try:
        sample = tokenizer.encode("a")
    except Exception as error:  # the library raises bare Exception
        raise ModelError(f"{path}: cannot read the letter a: {error}") from error
    mask = sample.special_tokens_mask
    ids = np.array(sample.ids, dtype=np.int32)
    content = [at for at, special in enumerate(mask) if not special]
    if not content:
        raise ModelError(f"{path}: makes no token of the letter a")
    pre, normalizer = tokenizer.pre_tokenizer, tokenizer.normalizer
    return Loaded(
        session=session,
        tokenizer=tokenizer,
        before=ids[: content[0]],
        after=ids[content[-1] + 1 :],
        inputs=tuple(entry.name for entry in session.get_inputs()),
        unknown=_unknown(tokenizer),
        cuttable=type(pre).__name__ == "BertPreTokenizer"
        and type(normalizer).__name__ in ("BertNormalizer", "NoneType"),
        tokens=any(
            len(entry.shape) == _TOKENS_RANK and entry.shape[-1] == model.card.dims
            for entry in session.get_outputs()
            if entry.name == _TOKENS
        ),
    )


def _not_importable(package: str, error: ImportError) -> ConfigurationError:
    return ConfigurationError(
        f"{package} cannot be imported: {error}. "
        f"Install it again: pip install --force-reinstall {package}"
    )


def _unknown(tokenizer: Any) -> int:
    name = getattr(tokenizer.model, "unk_token", None)
    found = tokenizer.token_to_id(name) if name else None
    return -1 if found is None else int(found)

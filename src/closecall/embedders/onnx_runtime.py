"""A compiled model made ready to run: its bytes checked, its session and tokenizer loaded."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from closecall.embedders.onnx_session import CPU, Session, make_session
from closecall.errors import ModelError
from closecall.models.cards import GRAPH_FILE, TOKENIZER_FILE
from closecall.models.external import has_external_data
from closecall.models.hashing import MOST_GRAPH, read_file, require
from closecall.models.store import StoredModel
from closecall.models.tokenizer_files import read_tokenizer, tokenizing, unknown_token

if TYPE_CHECKING:
    from concurrent.futures import Future

Ids = NDArray[np.int32]

_OUTPUT = "embedding"
_TOKENS = "tokens"
_TOKENS_RANK = 3

MOST_TOKENS = 1 << 26
"""Highest number of a token: a table of what is special has an entry for each."""


class Loaded(NamedTuple):
    """A session and a tokenizer.

    ``before`` and ``after`` are the special tokens around every window. ``unknown`` is the token
    that stands for whatever is not in the vocabulary, -1 where there is none. ``cuttable``:
    whether a text may be tokenised in pieces cut before a space. ``tokens``: whether the graph
    gives a vector of the card's width for each token.
    """

    session: Session
    tokenizer: Any
    before: Ids
    after: Ids
    unknown: int
    cuttable: bool
    inputs: tuple[str, ...]
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
        return self.session.run(outputs, feed)


def load(model: StoredModel, device: str = CPU) -> Loaded:
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
        If the runtime cannot be imported or would not run on the device.
    """
    from concurrent.futures import ThreadPoolExecutor

    # Slices are tokenised on the embedder's own threads, whose number people choose; threads of
    # the tokenizer's own would ignore that, and would not survive a fork.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    with ThreadPoolExecutor(1) as pool:
        graph = pool.submit(read_file, model.graph, MOST_GRAPH)
        tokenizer = pool.submit(_checked_tokenizer, model)
        graph_checked = pool.submit(_check_graph, model, graph)
        try:
            session = _session(model, graph, device)
        except Exception:
            graph_checked.result()  # damage explains it better than the runtime does
            raise
        graph_checked.result()
        return _joined(model, session, *tokenizer.result())


def _check_graph(model: StoredModel, graph: Future[bytes]) -> None:
    require(model.graph, graph.result(), model.card.file(GRAPH_FILE))


def _session(model: StoredModel, graph: Future[bytes], device: str) -> Session:
    data = graph.result()
    _require_self_contained(model, data)
    # The graph is fused where that pays; more would fuse what is slower fused.
    session = make_session(data, str(model.graph), device=device)
    shapes = [entry.shape for entry in session.raw.get_outputs() if entry.name == _OUTPUT]
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


def _checked_tokenizer(model: StoredModel) -> tuple[Any, bytes]:
    path = model.folder / TOKENIZER_FILE
    data = read_file(path)
    require(path, data, model.card.file(TOKENIZER_FILE))
    return read_tokenizer(path, data), data


class Sampled(NamedTuple):
    """What a tokenizer shows of itself; see ``Loaded``."""

    before: Ids
    after: Ids
    unknown: int
    cuttable: bool


def sampled(path: Path, tokenizer: Any, data: bytes) -> Sampled:
    """Return what a tokenizer puts around a text, found with the letter a.

    ``data`` are the bytes it was made of, read from ``path``.

    Raises
    ------
    ModelError
        If it cannot read that, or makes no token of it.
    """
    with tokenizing(f"{path}: cannot read the letter a", ModelError):
        sample = tokenizer.encode("a")
        mask = sample.special_tokens_mask
        ids = np.array(sample.ids, dtype=np.int32)
        added = tokenizer.get_added_tokens_decoder()
    content = [at for at, special in enumerate(mask) if not special]
    if not content:
        raise ModelError(f"{path}: makes no token of the letter a")
    unknown = unknown_token(path, tokenizer, data)
    highest = max(*ids.tolist(), *added, unknown)
    if highest > MOST_TOKENS:
        raise ModelError(f"{path}: numbers a token {highest:,}; no model has so many")
    pre, normalizer = tokenizer.pre_tokenizer, tokenizer.normalizer
    return Sampled(
        before=ids[: content[0]],
        after=ids[content[-1] + 1 :],
        unknown=unknown,
        cuttable=type(pre).__name__ == "BertPreTokenizer"
        and type(normalizer).__name__ in ("BertNormalizer", "NoneType"),
    )


def _joined(model: StoredModel, session: Session, tokenizer: Any, data: bytes) -> Loaded:
    """Put session and tokenizer together and find the special tokens."""
    return Loaded(
        session,
        tokenizer,
        *sampled(model.folder / TOKENIZER_FILE, tokenizer, data),
        inputs=tuple(entry.name for entry in session.raw.get_inputs()),
        tokens=any(
            len(entry.shape) == _TOKENS_RANK and entry.shape[-1] == model.card.dims
            for entry in session.raw.get_outputs()
            if entry.name == _TOKENS
        ),
    )

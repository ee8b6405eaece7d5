"""The bundled pair model's graph on the CPU, fed with rows of the bundled embedding model's words.

A graph without its word table is a quarter of the size, and the table is in the package already.
It is kept as float16; the rows of a batch are made float32 when they are read.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from closecall.embedders.onnx import worker_threads
from closecall.embedders.onnx_session import Session, make_session
from closecall.errors import ModelError, ModelIntegrityError
from closecall.metrics.pairs.runtime import Loaded, Outputs, checked_outputs
from closecall.metrics.pairs.tokenising import Ids, PairTokenizer
from closecall.models.bundled_pair import StoredPair
from closecall.models.cards import GRAPH_FILE
from closecall.models.hashing import MOST_GRAPH, read_file, require
from closecall.models.tokenizer_files import read_tokenizer, unknown_token
from closecall.models.word_table import Words, checked_words

_LOGIT = "logit"
_LABELS = ("",)

_REPAIR = (
    "Run 'closecall models verify' to check every file of the pair model; install closecall again "
    "if one is missing or damaged"
)


class PairRunner:
    """A session on one thread; several calls may run side by side.

    Parameters
    ----------
    session
        Of a graph with the inputs ``words``, ``token_type_ids`` and ``attention_mask``.
    words
        float16, (vocabulary, d).
    where
        The graph's path, for messages.
    """

    typed = True
    alone = False

    def __init__(self, session: Session, words: Words, where: str) -> None:
        self._session = session
        self._words = words
        self._where = where

    @property
    def threads(self) -> int:
        """``CLOSECALL_THREADS``, else the cores there are."""
        return worker_threads()

    def run(self, ids: Ids, types: Ids) -> Outputs:
        """Return the logits of rows of one length: int32 (n, s) twice to float64 (n, 1).

        Raises
        ------
        EmbeddingError
            The runtime fails.
        """
        feed = {
            "words": self._words[ids].astype(np.float32),
            "token_type_ids": types,
            "attention_mask": np.ones_like(ids),
        }
        (logits,) = self._session.run([_LOGIT], feed)
        return checked_outputs(logits, len(ids), _LABELS, self._where)


class Ready(NamedTuple):
    """A pair model made ready: what runs it and makes rows of texts, and the bare tokenizer."""

    loaded: Loaded
    bare: Any


def load_runner(pair: StoredPair) -> Ready:
    """Check the bytes of a pair model and make it ready; about 0.2 s.

    Graph, words and tokenizer are read once each, and what is hashed are the very bytes that are
    used.

    Raises
    ------
    ModelIntegrityError
        A file, or the word table in it, is not the one the card records.
    ModelError
        A file is missing, or the runtime cannot use it.
    ConfigurationError
        The runtime cannot be imported.
    """
    # Texts are tokenised one at a time; threads of the library's own would not survive a fork.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        with ThreadPoolExecutor(1) as pool:
            read = pool.submit(_words_and_tokenizer, pair)
            session = _session(pair)
            words, bare, unknown = read.result()
    except ModelIntegrityError:  # it says what to do
        raise
    except ModelError as error:
        raise ModelError(f"{error}. {_REPAIR}") from error
    framed = PairTokenizer(
        bare, pair.card.window, str(pair.tokenizer), typed=True, unknown=unknown
    )
    return Ready(Loaded(PairRunner(session, words, str(pair.graph)), framed), bare)


def _session(pair: StoredPair) -> Session:
    data = read_file(pair.graph, MOST_GRAPH)
    require(pair.graph, data, pair.card.file(GRAPH_FILE))
    # Matrices become float32 here, once; the operators are fused already where that pays.
    session = make_session(data, str(pair.graph))
    shapes = {entry.name: entry.shape for entry in session.raw.get_inputs()}
    width = shapes.get("words", [None])[-1]
    if width != pair.card.dims:
        raise ModelError(
            f"{pair.graph}: reads words of width {width}, the card says {pair.card.dims}"
        )
    return session


def _words_and_tokenizer(pair: StoredPair) -> tuple[Words, Any, int]:
    """Return both, and the number of the tokenizer's token for what it does not know."""
    words = checked_words(pair.words, pair.card.words, pair.card.dims)
    data = read_file(pair.tokenizer)
    require(pair.tokenizer, data, pair.card.tokenizer)
    bare = read_tokenizer(pair.tokenizer, data)
    # An answer that spells out "[SEP]" would otherwise end where it says it does.
    bare.encode_special_tokens = True
    return words, bare, unknown_token(pair.tokenizer, bare, data)

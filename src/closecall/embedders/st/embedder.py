"""Embeddings from any model of sentence-transformers, on the CPU, CUDA or MPS."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np

from closecall.embedders.awaitable import Awaitable
from closecall.embedders.base import Counted, NoPiecesError, Pieced, Pieces, Vectors
from closecall.embedders.faults import (
    check_finite,
    check_texts,
    refuse_broken,
    refuse_too_long,
)
from closecall.embedders.onnx_pieces import LeftOut
from closecall.embedders.onnx_reading import Reader
from closecall.embedders.onnx_runtime import Ids
from closecall.embedders.st.ahead import ahead
from closecall.embedders.st.batches import run_batches
from closecall.embedders.st.flow import Flight, Flow
from closecall.embedders.st.layout import StLayout, read_st_layout
from closecall.embedders.st.loaded import Loaded, OutOfMemory, Pending
from closecall.embedders.st.options import StOptions
from closecall.embedders.st.parts import Part, parts
from closecall.embedders.st.places import Place, find_place
from closecall.embedders.st.runtime import load
from closecall.embedders.st.weights import Identity, read_identity
from closecall.embedders.windows import averaged, checked_policy
from closecall.errors import MissingExtraError, ModelError, UsageError
from closecall.instrument import CHUNK, Instrument
from closecall.records import Role, Tokens

KIND = "sentence-transformers"

# Special tokens a model puts around a text, at most; what it really does is known once loaded.
_SPECIALS = 2

_NO_TOKENS = "the tokenizer makes no token of it, and the model has none of its own to put around"
_NO_PLACES = (
    "its tokenizer does not say where in a text each token stands, so there is one vector a text "
    "and none for its tokens"
)


class _Begun(NamedTuple):
    """Texts whose batches have begun; ``vectors`` is whole once ``ticket`` batches have landed."""

    part: Part
    vectors: Vectors
    faults: dict[int, str]
    ticket: int


class StEmbedder(Awaitable):
    """Turns texts into vectors with a model of sentence-transformers.

    The folder is only read, nothing is downloaded, and no code or pickle of a model is opened.
    Making an embedder reads the folder's JSON; ``instrument`` hashes its weights; torch is
    imported and the model loaded when the first text comes. Calls from several threads are
    safe and wait for each other.

    Long texts, prefixes, tokens seen and token vectors are treated as ``OnnxEmbedder`` treats
    them. Batches are padded, so a vector may depend on its neighbours in the last bits: by some
    1e-7 on a CPU in fp32, by some 1e-3 in fp16 and bf16.

    The vectors of a text are those of ``SentenceTransformer.encode`` with the same prompt. When
    fewer ``dims`` are kept of a model that makes vectors of length 1, they are brought to length
    1 again.

    On CUDA the next texts are tokenised on another thread, and batches are begun, while the card
    computes. When a device has not the memory for a batch, batches are waited for one by one;
    where that does not do, the batch is halved until it fits, and later calls begin with what did.

    Parameters
    ----------
    name
        A folder, or the name of a model in the cache of the Hugging Face hub.
    options
        How it is run; see ``StOptions``.
    window
        ``chunk``, ``truncate`` or ``error``.
    overlap
        Tokens neighbouring windows share; None for 32, or a quarter of a smaller window.
    threads
        Threads of torch for all that this process does with it; None leaves them as they are.
    flow
        How the device is fed, to measure what each part of it is worth; None for what suits it.

    Raises
    ------
    UsageError
        If an argument is wrong.
    ModelError
        If there is no such model on this machine or it cannot be used.
    MissingExtraError
        If torch or sentence-transformers is not installed.
    """

    def __init__(
        self,
        name: Path | str,
        options: StOptions | None = None,
        *,
        window: str = CHUNK,
        overlap: int | None = None,
        threads: int | None = None,
        flow: Flow | None = None,
    ) -> None:
        _require_libraries()
        if threads is not None and (isinstance(threads, bool) or threads < 1):
            raise UsageError(f"threads must be a whole number from 1, got {threads!r}")
        self._options = options or StOptions()
        self._place: Place = find_place(str(name), self._options.revision)
        self._layout: StLayout = self._read_layout()
        self._window, self._overlap = checked_policy(
            window, overlap, self._layout.max_tokens - _SPECIALS
        )
        self._threads = threads
        self._flow = flow
        self._flight = Flight(0)
        self._budget = 0
        self._lock = threading.RLock()
        self._known: tuple[Instrument, Identity] | None = None
        self._loaded: Loaded | None = None

    @property
    def instrument(self) -> Instrument:
        """The identity of this embedder; the first time, about 1 s a gigabyte of weights.

        Device, threads, batches and compiling are no part of it: they move a vector by less than
        its precision. The same weights in another precision, or run by another runtime, are
        another instrument.

        Raises
        ------
        ModelError
            If a file of the model is missing or cannot be read.
        """
        return self._identified()[0]

    @property
    def device(self) -> str:
        """Where the model runs, ``cpu``, ``cuda``, ``cuda:N`` or ``mps``; loads it if need be."""
        return self._ready().device

    def load(self) -> None:
        """Load the model now instead of with the first text.

        Raises
        ------
        ConfigurationError
            If the device asked for is not there.
        ModelError
            If the model cannot be loaded, or is not what its folder says.
        """
        self._ready()

    def embed(self, texts: Sequence[str], role: Role = Role.TEXT) -> Vectors:
        """Return one vector per text, in the order asked: float32, (n, d), finite.

        Raises
        ------
        UsageError
            If ``texts`` is not a sequence of str.
        TextTooLongError
            If texts are longer than the window and the policy is ``error``.
        EmbeddingError
            With indices: texts with lone surrogates, texts the device has not the memory for
            even alone, vectors that are not finite. Without: torch failed.
        ConfigurationError
            If the model cannot be loaded; see ``load``.
        """
        return self.embed_counted(texts, role).vectors

    def embed_counted(self, texts: Sequence[str], role: Role = Role.TEXT) -> Counted:
        """Like ``embed``, with tokens seen and total per text; a prefix in windows counts once."""
        vectors, tokens, _ = self._read(texts, role, pieces=False)
        return Counted(vectors, tuple(tokens))

    def embed_pieces(self, texts: Sequence[str], role: Role = Role.TEXT) -> list[Pieced]:
        """Return vector, tokens and token vectors of each text, from one pass of the model.

        Token vectors are the transformer's last hidden states, before pooling and what follows
        it, cut to ``dims`` like the text's vector. A token of a text read in windows is taken
        from the window in which it stands furthest from a cut.

        Raises
        ------
        NoPiecesError
            If the tokenizer does not say where tokens stand, or a text's vector is of another
            width than the hidden states.
        UsageError, TextTooLongError, EmbeddingError, ConfigurationError
            As ``embed``; a token vector that is zero or not finite is at fault like a vector.
        """
        vectors, tokens, pieces = self._read(texts, role, pieces=True)
        return [Pieced(*found) for found in zip(vectors, tokens, pieces, strict=True)]

    def _read_layout(self) -> StLayout:
        return read_st_layout(
            self._place.folder,
            self._place.model,
            dims=self._options.dims,
            max_tokens=self._options.max_tokens,
            prompts=self._options.prompts,
        )

    def _identified(self) -> tuple[Instrument, Identity]:
        with self._lock:
            if self._known is None:
                identity = read_identity(self._layout)
                if self._read_layout() != self._layout:
                    raise ModelError(
                        f"{self._place.folder}: changed since it was first looked at; start again"
                    )
                self._known = (self._made(identity), identity)
            return self._known

    def _made(self, identity: Identity) -> Instrument:
        layout = self._layout
        options = {"modules": layout.chain, "config": identity.config}
        options["prompts"] = layout.prompts.source
        if layout.lowercase:
            options["lowercase"] = "true"
        return Instrument(
            kind=KIND,
            model=self._place.model,
            provider="local",
            revision=self._place.revision,
            dims=layout.dims,
            weights=identity.weights,
            tokenizer=identity.tokenizer,
            pooling=layout.pooling,
            normalize=layout.normalize,
            prefixes=dict(layout.prompts.prefixes),
            max_tokens=layout.max_tokens,
            precision=self._options.precision,
            window=self._window,
            overlap=self._overlap,
            options=options,
        )

    def _ready(self) -> Loaded:
        with self._lock:
            if self._loaded is None:
                _, identity = self._identified()
                self._loaded = load(
                    self._layout, identity, self._options, self._threads, self._flow
                )
                self._budget = self._loaded.tokens
                self._flight = Flight(self._loaded.flow.depth)
            return self._loaded

    def _read(
        self, texts: Sequence[str], role: Role, *, pieces: bool
    ) -> tuple[Vectors, list[Tokens], list[Pieces]]:
        """Return vector and tokens of each text, and its pieces where they are wanted."""
        check_texts(texts)
        role = Role(role)
        vectors = np.empty((len(texts), self._layout.dims), dtype=np.float32)
        tokens: list[Tokens] = []
        found: list[Pieces] = []
        if not len(texts):
            return vectors, tokens, found
        with self._lock:
            loaded = self._ready()
            if pieces:
                self._require_pieces(loaded)
            too_long: list[int] = []
            broken: dict[int, str] = {}
            opened: deque[_Begun] = deque()

            def close() -> None:
                part, rows, faults, ticket = opened.popleft()
                self._flight.land(ticket)
                own = slice(part.start, part.start + len(part.readings))
                spans = [reading.spans for reading in part.readings]
                vectors[own] = averaged(rows, spans, normalize=self._layout.normalize)
                broken.update(faults)
                if part.sheet is not None:
                    found.extend(part.sheet.pieces())
                    broken.update((part.start + at, r) for at, r in part.sheet.broken.items())

            reader = Reader(loaded, self.instrument, role, places=pieces)
            left_out = LeftOut(loaded) if pieces else None
            early = loaded.flow.ahead
            made = parts(reader, texts, left_out, self._layout.dims, small=early)
            with closing(ahead(made) if early else made) as read:
                try:
                    for part in read:
                        tokens += [reading.tokens for reading in part.readings]
                        too_long += part.too_long
                        if too_long:
                            continue
                        opened.append(self._begin(loaded, part))
                        # The device has the next texts before it is waited for.
                        while len(opened) > bool(self._flight.depth):
                            close()
                    while opened:
                        close()
                finally:
                    self._flight.drop()
        refuse_too_long(too_long, tokens, self.instrument)
        refuse_broken(broken)
        check_finite(vectors)
        return vectors, tokens, found

    def _require_pieces(self, loaded: Loaded) -> None:
        if not loaded.places:
            raise NoPiecesError(_NO_PLACES)
        if self._layout.width != self._layout.hidden:
            raise NoPiecesError(
                f"its token vectors have {self._layout.hidden} numbers and its texts' vectors "
                f"{self._layout.width}, so there is one vector a text and none for its tokens"
            )

    def _begin(self, loaded: Loaded, part: Part) -> _Begun:
        """Have all windows of some texts run; what comes of the last ones comes later."""
        rows, sheet = part.rows, part.sheet
        found = np.zeros((len(rows), self._layout.dims), dtype=np.float32)
        filled = [at for at, row in enumerate(rows) if len(row)]
        faults = {
            part.start + owner: _NO_TOKENS
            for (owner, _), row in zip(part.windows, rows, strict=True)
            if not len(row)
        }

        def run(batch: list[int]) -> bool:
            own = [filled[at] for at in batch]
            try:
                pending = self._begun(loaded, [rows[at] for at in own], hidden=sheet is not None)
            except OutOfMemory:
                return False

            def land() -> None:
                found[own], hidden = pending.finish()
                if sheet is not None and hidden is not None:
                    for at, states in zip(own, hidden, strict=True):
                        sheet.put(at, states)

            self._flight.add(land)
            return True

        lengths = [loaded.width(len(rows[at])) for at in filled]
        failed, self._budget = run_batches(lengths, self._budget, run)
        for at in failed:
            owner, _ = part.windows[filled[at]]
            faults[part.start + owner] = (
                # The same words for every text: those of one reason are refused together.
                f"{loaded.device} has not the memory for a window of it; a smaller max_tokens "
                "reads such texts in more windows"
            )
        return _Begun(part, found, faults, self._flight.begun)

    def _begun(self, loaded: Loaded, rows: list[Ids], *, hidden: bool) -> Pending:
        try:
            return loaded.begin(rows, hidden=hidden)
        except OutOfMemory:
            if not self._flight:
                raise
        # What is on its way holds memory, too; from now on each batch is waited for.
        self._flight.depth = 0
        self._flight.land(self._flight.begun)
        return loaded.begin(rows, hidden=hidden)


def _require_libraries() -> None:
    """Refuse early and without the seconds that importing them takes."""
    missing = [name for name in ("sentence_transformers", "torch") if find_spec(name) is None]
    if missing:
        raise MissingExtraError(
            "A model of sentence-transformers (st:)", "torch", ["sentence-transformers", "torch"]
        )

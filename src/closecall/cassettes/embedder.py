"""Embedders in front of which a cassette stands."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from closecall.cassettes.cassette import Cassette, Mode, stopping
from closecall.cassettes.entries import Identified, VectorReply
from closecall.cassettes.misses import SHOWN, miss_error
from closecall.cassettes.vectors import write_vector
from closecall.cassettes.wanted import Wanted
from closecall.embedders.awaitable import Awaitable
from closecall.embedders.base import (
    Counted,
    CountingEmbedder,
    Embedder,
    LoadingEmbedder,
    MeteredEmbedder,
    NoPiecesError,
    Pieced,
    PieceEmbedder,
    Usage,
    Vectors,
)
from closecall.embedders.checked import ONE_VECTOR_A_TEXT
from closecall.embedders.metering import OPEN, Gate, GatedEmbedder
from closecall.embedders.registry import chosen_name
from closecall.errors import (
    CassetteError,
    ConfigurationError,
    EmbeddingError,
    ReplayMissError,
    TextTooLongError,
)
from closecall.instrument import Instrument, differences
from closecall.records import Role, Tokens

LOCAL = "local"
"""The provider of a model on this machine."""


def worth_recording(instrument: Instrument) -> bool:
    """Return whether texts leave the process to be embedded: whether a provider does it.

    A model on this machine is not recorded unless that is asked for. It gives the same vectors
    wherever it runs, needs no key, makes token vectors too (a recording holds none), and its
    vectors would be most of a cassette. Servers on this machine's loopback are providers.
    """
    return instrument.provider != LOCAL


def recorded_embedder(
    cassette: Cassette, make: Callable[[], Embedder], spec: str | None, window: str | None
) -> Embedder:
    """Return the embedder to use in place of the one ``make`` makes; see ``Cassette.embedder``."""
    name = chosen_name(spec)
    known = None if cassette.mode is Mode.RECORD else cassette.known("embedding", name, window)
    if known is not None:
        instrument = _instrument(known, cassette)
        if cassette.mode is Mode.REPLAY:
            return ReplayEmbedder(cassette, instrument)
        return RecordingEmbedder(cassette, make, spec=name, instrument=instrument)
    if cassette.mode is Mode.REPLAY and (cassette.local or _is_remote(name)):
        raise _nobody(cassette, name)
    live = make()
    if not (cassette.local or _is_remote(name) or worth_recording(live.instrument)):
        return live
    if cassette.mode is Mode.REPLAY:
        raise _nobody(cassette, name)
    return RecordingEmbedder(cassette, lambda: live, spec=name)


def _billed(instrument: Instrument) -> tuple[str, str] | None:
    return (instrument.kind, instrument.model) if worth_recording(instrument) else None


def _is_remote(name: str) -> bool:
    from closecall.embedders.remote.providers import provider_named

    return provider_named(name.partition(":")[0]) is not None


def _nobody(cassette: Cassette, name: str) -> ReplayMissError:
    every = [one.name for one in cassette.tape.identities.values() if one.of == "embedding"]
    there = f"it holds those of {', '.join(sorted(every))}" if every else "it holds none"
    return ReplayMissError(
        f"no vectors of {name} are recorded in {cassette.path}; {there}. Record them: "
        f"--record-missing {cassette.path.parent}"
    )


def _instrument(known: Identified, cassette: Cassette) -> Instrument:
    try:
        found = msgspec.convert(known.identity, Instrument)
    except msgspec.ValidationError as error:
        raise CassetteError(f"{cassette.tape.place(known.key)}: identity: {error}") from error
    if found.digest != known.digest:
        raise CassetteError(
            f"{cassette.tape.place(known.key)}: this embedder was recorded by another version of "
            f"closecall, which described it otherwise; record it again: "
            f"--record {cassette.path.parent}"
        )
    return found


class ReplayEmbedder(Awaitable):
    """Recorded vectors of an embedder that is not here: nothing is loaded, nothing is sent.

    Its instrument is the recorded one, so a calibration for that holds.

    Parameters
    ----------
    cassette
        Where they are recorded.
    instrument
        Whose vectors.
    """

    def __init__(self, cassette: Cassette, instrument: Instrument) -> None:
        self._cassette = cassette
        self._instrument = instrument
        self._gate: Gate = OPEN

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._instrument.model!r})"

    @property
    def instrument(self) -> Instrument:
        """The identity of the embedder that was recorded."""
        return self._instrument

    @property
    def billed(self) -> tuple[str, str] | None:
        """The provider and the model that was recorded; None of one on a machine of one's own."""
        return _billed(self._instrument)

    def gated_by(self, gate: Gate) -> None:
        """Tell a gate of every text that is replayed from now on."""
        self._gate = gate

    def embed(self, texts: Sequence[str], role: Role = Role.TEXT) -> Vectors:
        """Return one vector a text, in the order asked: float32, (n, d).

        Raises
        ------
        ReplayMissError
            Some texts are not recorded; it counts them and describes the first three.
        TextTooLongError
            Texts that were too long when they were recorded, named in ``indices``.
        """
        return self.embed_counted(texts, role).vectors

    def embed_counted(self, texts: Sequence[str], role: Role = Role.TEXT) -> Counted:
        """Like ``embed``, with the tokens of the recording."""
        with stopping():
            return self._counted(texts, role)

    def _counted(self, texts: Sequence[str], role: Role) -> Counted:
        wanted = Wanted(self._cassette, self._instrument, texts, role)
        missing = wanted.missing()
        if missing:
            said = [self._cassette.miss(wanted.asked(text)) for text in missing]
            raise miss_error(self._cassette.path, said[:SHOWN], len(missing))
        for used in wanted.replayed():
            self._gate.replayed(used)
        return wanted.counted()

    def embed_pieces(self, texts: Sequence[str], role: Role = Role.TEXT) -> list[Pieced]:
        """Refuse: a cassette holds no token vectors.

        Raises
        ------
        NoPiecesError
            Always.
        """
        del texts, role
        raise NoPiecesError(
            f"{ONE_VECTOR_A_TEXT}. Vectors of tokens are not recorded, and this one is replayed"
        )


class RecordingEmbedder(Awaitable):
    """An embedder whose vectors are recorded, and used as recorded.

    What the cassette holds is not asked for, unless the mode is ``record``. A text that the
    embedder says is too long is recorded as that; no other failure is. Token vectors are passed
    on and not recorded.

    Parameters
    ----------
    cassette
        Where to.
    make
        Makes the embedder; called once, when it is needed.
    spec
        The name it was asked for by.
    instrument
        The recorded identity to answer for until a text is missing; None: the embedder's own.
    """

    def __init__(
        self,
        cassette: Cassette,
        make: Callable[[], Embedder],
        *,
        spec: str | None = None,
        instrument: Instrument | None = None,
    ) -> None:
        self._cassette = cassette
        self._make = make
        self._spec = spec
        self._made: Embedder | None = None
        self._lock = threading.Lock()
        self._gate: Gate = OPEN
        self._known = instrument
        self._instrument = self._live().instrument if instrument is None else instrument

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._instrument.model!r})"

    @property
    def instrument(self) -> Instrument:
        """The identity of the embedder behind."""
        return self._instrument

    @property
    def billed(self) -> tuple[str, str] | None:
        """The provider and the model that prices go by; None where nobody charges."""
        made = self._made
        return made.billed if isinstance(made, GatedEmbedder) else _billed(self._instrument)

    def gated_by(self, gate: Gate) -> None:
        """Send what has to be asked for through a gate, and tell it of what is replayed."""
        with self._lock:
            self._gate = gate
            if isinstance(self._made, GatedEmbedder):
                self._made.gated_by(gate)

    @property
    def usage(self) -> Usage:
        """What the provider behind reported of its use; nothing for what was replayed."""
        return self._made.usage if isinstance(self._made, MeteredEmbedder) else Usage()

    def load(self) -> None:
        """Load the embedder behind now, where it is in use already and can be.

        Raises
        ------
        ConfigurationError
            It cannot be used at all.
        """
        if isinstance(self._made, LoadingEmbedder):
            self._made.load()

    def embed(self, texts: Sequence[str], role: Role = Role.TEXT) -> Vectors:
        """Return one vector a text, in the order asked: float32, (n, d).

        Raises
        ------
        EmbeddingError
            As the embedder behind.
        ConfigurationError
            As the embedder behind; a text or vector cannot be recorded because it holds a key; or
            the embedder is no longer the one recorded.
        """
        return self.embed_counted(texts, role).vectors

    def embed_counted(self, texts: Sequence[str], role: Role = Role.TEXT) -> Counted:
        """Like ``embed``, with tokens seen and total where the embedder behind says them."""
        with stopping():
            return self._counted(texts, role)

    def _counted(self, texts: Sequence[str], role: Role) -> Counted:
        wanted = Wanted(self._cassette, self._instrument, texts, role)
        missing = wanted.missing()
        replayed = wanted.replayed()
        if missing:
            for text in missing:
                self._cassette.require_no_secret("embedding", wanted.request(text))
            self._ask(missing, wanted)
        for used in replayed:
            self._gate.replayed(used)
        return wanted.counted()

    def embed_pieces(self, texts: Sequence[str], role: Role = Role.TEXT) -> Sequence[Pieced]:
        """Return what the embedder behind returns; it is not recorded.

        Raises
        ------
        NoPiecesError
            The embedder behind makes no token vectors.
        """
        live = self._live()
        if not isinstance(live, PieceEmbedder):
            raise NoPiecesError(ONE_VECTOR_A_TEXT)
        return live.embed_pieces(texts, role)

    def _live(self) -> Embedder:
        with self._lock:
            if self._made is None:
                made = self._make()
                if isinstance(made, GatedEmbedder) and self._gate is not OPEN:
                    made.gated_by(self._gate)
                self._require_same(made.instrument)
                self._made = made
            return self._made

    def _require_same(self, now: Instrument) -> None:
        known = self._known
        if known is not None and now.digest != known.digest:
            changed = "\n  ".join(differences(known, now))
            raise ConfigurationError(
                f"{self._cassette.path} holds recordings of another embedder than answers "
                f"now:\n  {changed}\nRecord all of it again: "
                f"--record {self._cassette.path.parent}"
            )

    def _ask(self, missing: Sequence[str], wanted: Wanted) -> None:
        """Ask for texts that are all different, and record what comes."""
        live = self._live()
        tokens: Sequence[Tokens | None] = [None] * len(missing)
        try:
            if isinstance(live, CountingEmbedder):
                found, tokens = live.embed_counted(missing, wanted.role)
            else:
                found = live.embed(missing, wanted.role)
        except EmbeddingError as error:
            named = [missing[at] for at in error.indices if 0 <= at < len(missing)]
            if isinstance(error, TextTooLongError):
                for text in named:
                    self._keep(text, VectorReply(too_long=error.reason), wanted)
            error.indices = wanted.positions(named)
            raise
        vectors = np.asarray(found, dtype=np.float32)
        due = (len(missing), self._instrument.dims)
        if vectors.shape != due or len(tokens) != len(missing):
            raise EmbeddingError(f"expected vectors of shape {due}, got {vectors.shape}")
        for text, vector, count in zip(missing, vectors, tokens, strict=True):
            if not np.isfinite(vector).all() or not vector.any():
                # Of no use to anybody, and not worth keeping; whoever asked finds that out.
                wanted.unrecorded[text] = (vector, count)
                continue
            coded = write_vector(vector, self._cassette.floats)
            self._keep(text, VectorReply(vector=coded, tokens=count), wanted)

    def _keep(self, text: str, reply: VectorReply, wanted: Wanted) -> None:
        every = msgspec.to_builtins(reply)
        plain = {name: value for name, value in every.items() if value is not None}
        wanted.found[text] = self._cassette.keep(wanted.asked(text), plain, self._spec)

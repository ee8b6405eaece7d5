"""The one door between a run and an embedder: each text is embedded once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from closecall.embedders.base import (
    Counted,
    Embedded,
    Embedder,
    Failure,
    TextKey,
    Vectors,
    VectorStore,
)
from closecall.embedders.checked import Checked, Outcome
from closecall.errors import EmbeddingError, UsageError
from closecall.instrument import Instrument, cache_key, canonical_text
from closecall.records import Role, Tokens

MEMORY_BYTES = 256 * 1024 * 1024

ENTRY_BYTES = 600
"""What a remembered entry takes besides its vector's numbers, about."""


class FetchStats(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the texts asked for since the wrapper was made.

    ``asked`` counts every key, ``unique`` those left after each call dropped repetitions;
    ``unique = memory_hits + store_hits + embedded + failed``.
    """

    asked: int = 0
    unique: int = 0
    memory_hits: int = 0
    store_hits: int = 0
    embedded: int = 0
    failed: int = 0


class CachedEmbedder:
    """An embedder behind a memory of this run and a store of earlier runs.

    A text is looked for in memory, then in the store (one query a call), then embedded (one
    call for each group of roles with the same prefix). What the embedder returns is checked
    here: one row per text, the instrument's width, finite, not zero. What fails becomes a
    ``Failure`` with a reason and is never stored.

    One thread at a time may use it. It does not close the store.

    Parameters
    ----------
    embedder
        Any embedder; tokens are known where it is a ``CountingEmbedder``.
    store
        Where vectors are kept between runs; None: nowhere.
    memory_bytes
        How much to remember of this run, about; the least recently used goes first.
    """

    def __init__(
        self,
        embedder: Embedder,
        store: VectorStore | None = None,
        *,
        memory_bytes: int = MEMORY_BYTES,
    ) -> None:
        if memory_bytes < 0:
            raise UsageError(f"memory_bytes must not be negative, got {memory_bytes}")
        self._checked = Checked(embedder)
        self._instrument = embedder.instrument
        self._store = store
        self._memory = _Memory(memory_bytes)
        self._stats = FetchStats()

    @property
    def instrument(self) -> Instrument:
        """The identity of the embedder behind."""
        return self._instrument

    @property
    def stats(self) -> FetchStats:
        """The counts so far."""
        return self._stats

    @property
    def memory_bytes(self) -> int:
        """What is remembered now, in bytes, about."""
        return self._memory.size

    def prepare(self) -> None:
        """Load the embedder now, if it has ``load()``, so that a run it would fail never begins.

        Raises
        ------
        ConfigurationError
            The embedder cannot be used at all, as when its model cannot be loaded.
        """
        self._checked.load()

    def fetch(self, keys: Iterable[TextKey]) -> dict[TextKey, Outcome]:
        """Return a vector or a reason for every key.

        Texts that are equal once canonical, in roles with the same prefix, are embedded once.
        Blank texts are never sent. Vectors are float32, (dims,), and cannot be written to.

        Raises
        ------
        UsageError
            A key's text is not a str.
        ConfigurationError
            The embedder cannot be used at all, as when its model cannot be loaded.
        """
        asked = list(keys)
        names: dict[TextKey, bytes] = {}
        for key in asked:
            if not isinstance(key.text, str):
                raise UsageError(f"a text to embed must be str, got {type(key.text).__name__}")
            if key not in names:
                names[key] = cache_key(self._instrument, key.role, key.text)
        firsts: dict[bytes, TextKey] = {}
        for key, name in names.items():
            firsts.setdefault(name, key)

        outcomes = self._remembered(firsts)
        memory_hits = len(outcomes)
        stored = self._stored([name for name in firsts if name not in outcomes])
        outcomes.update(stored)
        fresh = self._embed_missing(
            {name: key for name, key in firsts.items() if name not in outcomes}
        )
        outcomes.update(fresh)

        before, failed = self._stats, sum(isinstance(one, Failure) for one in fresh.values())
        self._stats = FetchStats(
            asked=before.asked + len(asked),
            unique=before.unique + len(firsts),
            memory_hits=before.memory_hits + memory_hits,
            store_hits=before.store_hits + len(stored),
            embedded=before.embedded + len(fresh) - failed,
            failed=before.failed + failed,
        )
        return {key: outcomes[name] for key, name in names.items()}

    def embed(self, texts: Sequence[str], role: Role = Role.TEXT) -> Vectors:
        """Return one vector per text, in the order asked: float32, (n, d), finite.

        Raises
        ------
        EmbeddingError
            Some texts have no vector; ``indices`` says which.
        """
        return self.embed_counted(texts, role).vectors

    def embed_counted(self, texts: Sequence[str], role: Role = Role.TEXT) -> Counted:
        """Like ``embed``, with tokens seen and total where the embedder says them."""
        keys = [TextKey(text, role) for text in texts]
        found = self.fetch(keys)
        vectors = np.empty((len(keys), self._instrument.dims), dtype=np.float32)
        tokens: list[Tokens | None] = []
        failures: list[tuple[int, str]] = []
        for index, key in enumerate(keys):
            outcome = found[key]
            if isinstance(outcome, Failure):
                failures.append((index, outcome.reason))
                continue
            vectors[index] = outcome.vector
            tokens.append(outcome.tokens)
        if failures:
            index, reason = failures[0]
            raise EmbeddingError(
                f"{len(failures)} of {len(keys)} texts have no vector; text {index}: {reason}",
                [index for index, _ in failures],
            )
        return Counted(vectors, tokens)

    def _remembered(self, names: Iterable[bytes]) -> dict[bytes, Outcome]:
        found = ((name, self._memory.get(name)) for name in names)
        return {name: outcome for name, outcome in found if outcome is not None}

    def _stored(self, names: Sequence[bytes]) -> dict[bytes, Embedded]:
        if self._store is None or not names:
            return {}
        stored = self._store.get_many(self._instrument, names)
        for name, value in stored.items():
            self._memory.put(name, value)
        return stored

    def _embed_missing(self, missing: dict[bytes, TextKey]) -> dict[bytes, Outcome]:
        """Embed what neither memory nor store had, and keep what is sound."""
        outcomes: dict[bytes, Outcome] = {}
        groups: dict[Role, list[bytes]] = {}
        for name, key in missing.items():
            if key.text.strip():
                groups.setdefault(self._instrument.effective_role(key.role), []).append(name)
            else:
                outcomes[name] = Failure("the text is blank: there is nothing to embed")
        for role, names in groups.items():
            answers = self._checked.embed(
                [canonical_text(missing[name].text) for name in names], role
            )
            group = dict(zip(names, (answer.outcome for answer in answers), strict=True))
            outcomes.update(group)
            sound = {n: o for n, o in group.items() if isinstance(o, Embedded)}
            if self._store is not None and sound:
                self._store.put_many(
                    self._instrument, ((name, missing[name], one) for name, one in sound.items())
                )
            for name, answer in zip(names, answers, strict=True):
                if answer.lasting:
                    self._memory.put(name, answer.outcome)
        return outcomes


class _Memory:
    """The least recently used goes first once the limit is passed."""

    def __init__(self, limit: int) -> None:
        self.size = 0
        self._limit = limit
        self._entries: OrderedDict[bytes, Outcome] = OrderedDict()

    def get(self, name: bytes) -> Outcome | None:
        outcome = self._entries.get(name)
        if outcome is not None:
            self._entries.move_to_end(name)
        return outcome

    def put(self, name: bytes, outcome: Outcome) -> None:
        old = self._entries.pop(name, None)
        if old is not None:
            self.size -= _weight(old)
        self._entries[name] = outcome
        self.size += _weight(outcome)
        while self.size > self._limit:
            _, gone = self._entries.popitem(last=False)
            self.size -= _weight(gone)


def _weight(outcome: Outcome) -> int:
    return ENTRY_BYTES + (outcome.vector.nbytes if isinstance(outcome, Embedded) else 0)

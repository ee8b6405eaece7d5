"""The one door between a run and an embedder: each text is embedded once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec
import numpy as np

from closecall.embedders.base import (
    Counted,
    Embedded,
    Embedder,
    Failure,
    KnowingStore,
    TextKey,
    Usage,
    Vectors,
    VectorStore,
)
from closecall.embedders.checked import Answer, Checked, Outcome
from closecall.embedders.remembered import Memory, Want, answer_for
from closecall.errors import EmbeddingError, UsageError
from closecall.instrument import Instrument, cache_key, canonical_text
from closecall.records import Role, Tokens

MEMORY_BYTES = 256 * 1024 * 1024


class FetchStats(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the texts asked for since the wrapper was made.

    ``asked`` counts every key, ``unique`` those left after each call dropped repetitions;
    ``unique = memory_hits + store_hits + embedded + failed``. A text asked for with its pieces
    and without is one, and failed where it has only one of the two.
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

    Token vectors are remembered, by their size, and never stored: a key that asks for them runs
    the model once a run, or more often where memory is short. The vector that comes with them is
    stored like any other, and is the stored one where there is one.

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
        self._memory = Memory(memory_bytes)
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
    def usage(self) -> Usage | None:
        """What the provider behind reported of its use; None where there is no provider."""
        return self._checked.usage

    @property
    def memory_bytes(self) -> int:
        """What is remembered now, in bytes, about."""
        return self._memory.size

    def prepare(self) -> None:
        """Load the embedder now, if it has ``load()``, so that a run it would fail never begins.

        Where the store has vectors of it and it is a ``CheckableEmbedder``, only its files are
        looked at; it loads with the first text that the store does not have.

        Raises
        ------
        ConfigurationError
            The embedder cannot be used at all, as when its model cannot be loaded.
        """
        store = self._store
        known = isinstance(store, KnowingStore) and store.knows(self._instrument)
        self._checked.load(with_first_text=known)

    def fetch(self, keys: Iterable[TextKey]) -> dict[TextKey, Outcome]:
        """Return a vector or a reason for every key.

        Texts that are equal once canonical, in roles with the same prefix, are embedded once,
        with token vectors where any of their keys asks for them; only where those alone fail is
        such a text embedded again without. Blank texts are never sent. Vectors are float32,
        (dims,), and cannot be written to.

        Raises
        ------
        UsageError
            A key's text is not a str.
        ConfigurationError
            The embedder cannot be used at all, as when its model cannot be loaded.
        """
        asked = list(keys)
        wants: dict[TextKey, Want] = {}
        firsts: dict[bytes, TextKey] = {}
        for key in asked:
            if not isinstance(key.text, str):
                raise UsageError(f"a text to embed must be str, got {type(key.text).__name__}")
            if key not in wants:
                name = cache_key(self._instrument, key.role, key.text)
                wants[key] = Want(name, bool(key.pieces))
                firsts.setdefault(name, key._replace(pieces=False) if key.pieces else key)

        outcomes = self._remembered(wants.values())
        missing = {want: firsts[want.name] for want in wants.values() if want not in outcomes}
        stored = self._stored(missing)
        read = self._read(missing, stored)
        fresh = self._embed_missing(
            {want: key for want, key in missing.items() if want not in read}, stored
        )
        self._count(len(asked), firsts, read, fresh)
        outcomes = outcomes | read | fresh
        return {key: outcomes[want] for key, want in wants.items()}

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

    def _count(
        self,
        asked: int,
        names: Collection[bytes],
        read: Mapping[Want, Outcome],
        fresh: Mapping[Want, Outcome],
    ) -> None:
        """Add one call to the counts; a text counts once, for the most that was done for it."""
        tried = {want.name for want in fresh}
        failed = {want.name for want, one in fresh.items() if isinstance(one, Failure)}
        stored = {want.name for want in read} - tried
        before = self._stats
        self._stats = FetchStats(
            asked=before.asked + asked,
            unique=before.unique + len(names),
            memory_hits=before.memory_hits + len(names) - len(tried) - len(stored),
            store_hits=before.store_hits + len(stored),
            embedded=before.embedded + len(tried) - len(failed),
            failed=before.failed + len(failed),
        )

    def _remembered(self, wants: Iterable[Want]) -> dict[Want, Outcome]:
        found = ((want, self._memory.get(want)) for want in wants)
        return {want: outcome for want, outcome in found if outcome is not None}

    def _stored(self, wants: Iterable[Want]) -> dict[bytes, Embedded]:
        """Return the vectors of these texts that are in the store."""
        names = list(dict.fromkeys(want.name for want in wants))
        if self._store is None or not names:
            return {}
        return self._store.get_many(self._instrument, names)

    def _read(
        self, wants: Iterable[Want], stored: Mapping[bytes, Embedded]
    ) -> dict[Want, Outcome]:
        """Return what the store answers, and remember it."""
        found: dict[Want, Outcome] = {
            want: stored[want.name] for want in wants if not want.pieces and want.name in stored
        }
        for want, outcome in found.items():
            self._memory.put(want, outcome)
        return found

    def _embed_missing(
        self, missing: Mapping[Want, TextKey], stored: Mapping[bytes, Embedded]
    ) -> dict[Want, Outcome]:
        """Embed what neither memory nor store had, and keep what is sound."""
        outcomes: dict[Want, Outcome] = {
            want: Failure("the text is blank: there is nothing to embed")
            for want, key in missing.items()
            if not key.text.strip()
        }
        # With pieces first: what comes of those texts answers for their vectors alone, too.
        for pieces in (True, False):
            for role, group in self._by_role(missing, outcomes, pieces=pieces).items():
                answers = self._embed(role, group, stored)
                outcomes.update((want, answer.outcome) for want, answer in answers.items())
                for want, answer in answers.items():
                    alone = want._replace(pieces=False)
                    outcome = answer_for(alone, answer.outcome) if answer.lasting else None
                    if alone in missing and outcome is not None:
                        outcomes[alone] = outcome
        return outcomes

    def _by_role(
        self, missing: Mapping[Want, TextKey], done: Collection[Want], *, pieces: bool
    ) -> dict[Role, dict[Want, TextKey]]:
        """Return the texts still to be embedded, with pieces or without, by what they are."""
        groups: dict[Role, dict[Want, TextKey]] = {}
        for want, key in missing.items():
            if want.pieces is pieces and want not in done:
                groups.setdefault(self._instrument.effective_role(key.role), {})[want] = key
        return groups

    def _embed(
        self, role: Role, texts: Mapping[Want, TextKey], stored: Mapping[bytes, Embedded]
    ) -> dict[Want, Answer]:
        """Embed texts of one role, all with their pieces or none; store and remember them."""
        pieces = next(iter(texts)).pieces
        found = self._checked.embed(
            [canonical_text(key.text) for key in texts.values()], role, pieces=pieces
        )
        answers = dict(zip(texts, found, strict=True))
        new: list[tuple[bytes, TextKey, Embedded]] = []
        for want, answer in answers.items():
            if not isinstance(answer.outcome, Embedded):
                continue
            known = stored.get(want.name) or self._memory.get(Want(want.name, pieces=False))
            if isinstance(known, Embedded):
                outcome = known._replace(pieces=answer.outcome.pieces)
                answers[want] = answer._replace(outcome=outcome)
            else:
                new.append((want.name, texts[want], answer.outcome._replace(pieces=None)))
        if self._store is not None and new:
            self._store.put_many(self._instrument, new)
        for want, answer in answers.items():
            if answer.lasting:
                self._memory.put(want, answer.outcome)
        return answers

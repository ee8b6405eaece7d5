"""Search by embeddings: documents and questions embedded once, and the exact nearest documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import msgspec
import numpy as np

from closecall.embedders.base import Failure, TextKey, Vectors
from closecall.embedders.cached import CachedEmbedder
from closecall.errors import DataError
from closecall.instrument import Instrument
from closecall.records import JSON, Role, Tokens
from closecall.retrieval.collection import Collection, Query
from closecall.retrieval.ranking import Ranking

KIND = "dense"
SIMILARITY: Literal["cosine"] = "cosine"
BATCH_TEXTS = 1024
BATCH_CHARS = 1_000_000

Progress = Callable[[int, int], None]

MOSTLY = 0.5
"""From this share of unknown words and signs on a text is mostly unknown to the model."""
NOTABLE = 0.05
"""From this share of unknown tokens on it is said how many there are."""

_REASONS = 3


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """What a model made of texts: how many it embedded, and how much of them it knew.

    ``mostly_unknown`` counts texts of whose tokens at least half are outside the model's
    vocabulary, those it knows nothing of (``unreadable``) among them; ``cut`` those it saw a
    part of only; ``windows`` those it read in several windows. ``own_tokens`` and
    ``unknown_tokens`` add up what embedders that count tokens reported. ``blank`` and
    ``failed`` texts have no vector; ``reasons`` says why, with counts.
    """

    texts: int
    embedded: int
    blank: int
    unreadable: int
    failed: int
    mostly_unknown: int
    cut: int
    windows: int
    own_tokens: int
    unknown_tokens: int
    reasons: dict[str, int]


class _Reader:
    """Embeds texts in batches and keeps account of them."""

    def __init__(self, vectors: CachedEmbedder, progress: Progress | None, total: int) -> None:
        self._vectors = vectors
        self._progress = progress
        self._total = total
        self._done = 0

    def read(self, texts: Sequence[str], role: Role) -> tuple[Vectors, list[str | None], Read]:
        """Return vectors (n, d), zero where there is none, why there is none, and the account."""
        matrix = np.zeros((len(texts), self._vectors.instrument.dims), dtype=np.float32)
        why: list[str | None] = [None] * len(texts)
        count: Counter[str] = Counter()
        reasons: Counter[str] = Counter()
        for batch in _batches(texts):
            found = self._vectors.fetch(TextKey(texts[at], role) for at in batch)
            for at in batch:
                outcome = found[TextKey(texts[at], role)]
                if isinstance(outcome, Failure):
                    why[at] = outcome.reason
                    reasons[outcome.reason] += 1
                    blank = not texts[at].strip()
                    kind = "blank" if blank else "unreadable" if outcome.unreadable else "failed"
                    count[kind] += 1
                    continue
                matrix[at] = outcome.vector
                if outcome.tokens is not None:
                    _take(count, outcome.tokens)
            self._done += len(batch)
            if self._progress is not None:
                self._progress(self._done, self._total)
        return matrix, why, _account(len(texts), count, reasons)


def _batches(texts: Sequence[str]) -> Iterator[range]:
    """Yield runs of positions, of bounded count and length."""
    start = size = 0
    for at, text in enumerate(texts):
        if at > start and (at - start >= BATCH_TEXTS or size + len(text) > BATCH_CHARS):
            yield range(start, at)
            start, size = at, 0
        size += len(text)
    if start < len(texts):
        yield range(start, len(texts))


def _take(count: Counter[str], tokens: Tokens) -> None:
    count["own"] += tokens.own
    count["unknown"] += tokens.unknown
    count["mostly"] += 0 < MOSTLY * tokens.own <= tokens.unknown
    count["cut"] += tokens.truncated
    count["windows"] += tokens.windows > 1


def _account(texts: int, count: Counter[str], reasons: Counter[str]) -> Read:
    return Read(
        texts=texts,
        embedded=texts - count["blank"] - count["unreadable"] - count["failed"],
        blank=count["blank"],
        unreadable=count["unreadable"],
        failed=count["failed"],
        mostly_unknown=count["mostly"] + count["unreadable"],
        cut=count["cut"],
        windows=count["windows"],
        own_tokens=count["own"],
        unknown_tokens=count["unknown"],
        reasons=dict(sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))),
    )


def search(
    collection: Collection,
    queries: Sequence[Query],
    vectors: CachedEmbedder,
    *,
    name: str,
    depth: int,
    title: bool = True,
    progress: Progress | None = None,
) -> Ranking:
    """Return the exact nearest documents of each question, by the cosine.

    Documents are embedded as documents and questions as queries, so a model with prefixes gets
    the right one for each. A document without a vector cannot be found; a question without one
    has no ranking.

    Parameters
    ----------
    collection
        Its texts are embedded in batches; the vectors (n, d) float32 are held in memory.
    queries
        The questions to search for.
    vectors
        The embedder, with whatever remembers its vectors.
    name
        What a report calls the ranking.
    depth
        How many documents of a question are kept, at most those there are.
    title
        Whether a document's title stands before its text.
    progress
        Called with (texts embedded, texts in all).

    Raises
    ------
    DataError
        No document, or no question, has a vector: the message has the first reasons.
    ConfigurationError
        The embedder cannot be used at all.
    """
    from closecall.index.exact import top_k

    vectors.prepare()
    total = len(queries) + len(collection.documents)
    reader = _Reader(vectors, progress, total)
    asked, no_query, of_queries = reader.read([one.text for one in queries], Role.QUERY)
    bodies = [document.body(title=title) for document in collection.documents]
    matrix, no_document, of_documents = reader.read(bodies, Role.DOCUMENT)
    there = np.flatnonzero([reason is None for reason in no_document])
    answering = np.flatnonzero([reason is None for reason in no_query])
    for what, kept, account in (
        ("document", there, of_documents),
        ("question", answering, of_queries),
    ):
        if not kept.size:
            told = "; ".join(
                f"{n:,}: {why}" for why, n in list(account.reasons.items())[:_REASONS]
            )
            raise DataError(f"{name}: no {what} of {account.texts:,} has a vector ({told})")
    depth = min(depth, len(collection.documents))
    positions = np.full((len(queries), depth), -1, dtype=np.int64)
    scores = np.zeros((len(queries), depth))
    # A copy only where rows must go: the matrix may be most of what memory holds.
    rows = matrix if there.size == len(matrix) else matrix[there]
    near = top_k(asked[answering], rows, depth, similarity=SIMILARITY)
    found = near.positions >= 0
    positions[answering] = np.where(found, there[near.positions], -1)
    scores[answering] = np.where(found, near.similarities.astype(np.float64), 0.0)
    return Ranking(
        name=name,
        kind=KIND,
        queries=tuple(query.id for query in queries),
        ids=[document.id for document in collection.documents],
        positions=positions,
        scores=scores,
        absent={
            query.id: reason
            for query, reason in zip(queries, no_query, strict=True)
            if reason is not None
        },
        facts=_facts(vectors.instrument, of_queries, of_documents, title=title),
        notes=tuple(_notes(of_queries, of_documents)),
        incomplete=of_documents.failed > 0,
    )


def _facts(
    instrument: Instrument, queries: Read, documents: Read, *, title: bool
) -> dict[str, JSON]:
    return {
        "model": instrument.model,
        "provider": instrument.provider,
        "instrument_digest": instrument.digest,
        "dims": instrument.dims,
        "similarity": SIMILARITY,
        "search": "exact",
        "title": title,
        "queries": msgspec.to_builtins(queries),
        "documents": msgspec.to_builtins(documents),
    }


def _notes(queries: Read, documents: Read) -> Iterator[str]:
    for what, read in (("questions", queries), ("documents", documents)):
        if read.mostly_unknown:
            yield (
                f"{read.mostly_unknown:,} of {read.texts:,} {what} are mostly unknown to the "
                "model: at least half of their words or signs are outside its vocabulary"
                + (f", and {read.unreadable:,} of them wholly" if read.unreadable else "")
            )
        if read.unknown_tokens > NOTABLE * read.own_tokens:
            yield (
                f"of the {read.own_tokens:,} tokens it read of {what}, {read.unknown_tokens:,} "
                f"({read.unknown_tokens / read.own_tokens:.0%}) are unknown ones, which it cannot "
                "tell apart"
            )
        if read.cut:
            yield f"{read.cut:,} of {read.texts:,} {what} are longer than it reads, and were cut"
    if documents.embedded < documents.texts:
        told = ", ".join(
            f"{count:,} {word}"
            for count, word in (
                (documents.blank, "blank"),
                (documents.unreadable, "wholly unknown to the model"),
                (documents.failed, "failed"),
            )
            if count
        )
        yield (
            f"{documents.texts - documents.embedded:,} of {documents.texts:,} documents have no "
            f"vector and cannot be found ({told})"
        )

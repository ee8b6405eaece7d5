"""A transform from texts that nobody labelled.

The texts are embedded in the order of their fingerprints, so that the order of a file changes
nothing. On one machine the same texts give the same bytes. On another the model's float32 noise
differs and so may the last digits of the transform, which is why it is fitted once and kept in a
file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from closecall.embedders.base import Embedded, Embedder, TextKey, VectorStore
from closecall.embedders.cached import CachedEmbedder
from closecall.embedders.isotropy.methods import OPTION, TWICE, Method
from closecall.embedders.isotropy.moments import Moments
from closecall.embedders.isotropy.transform import Floats, Transform
from closecall.errors import DataError, UsageError
from closecall.instrument import Instrument, cache_key

LEAST = 1_000
"""Fewest distinct texts that are fitted on."""

ADVISED = 2_000
"""From so many texts on, more of them change little."""

BLOCK = 512
"""Texts embedded at a time."""

Progress = Callable[[int, int], None]


class Fitted(NamedTuple):
    """A transform and what it was made of.

    ``texts`` were fitted on, of ``distinct`` ones that were given; ``drawn`` says by which seed
    where not all were wanted. ``unmeasured`` counts texts without a vector, by reason.
    ``texts_digest`` is the sha256 (hex) of the fingerprints of those fitted on, in order.
    ``mean_cosine`` is that of two texts before, ``kept`` the share of the variance left.
    """

    transform: Transform
    texts: int
    distinct: int
    drawn: int | None
    unmeasured: dict[str, int]
    texts_digest: str
    mean_cosine: float
    kept: float


def fit(
    embedder: Embedder,
    keys: Iterable[TextKey],
    method: Method,
    *,
    at_most: int | None = None,
    seed: int = 0,
    least: int = LEAST,
    store: VectorStore | None = None,
    progress: Progress | None = None,
) -> Fitted:
    """Embed texts and return the transform that a method makes of their unit vectors.

    Parameters
    ----------
    embedder
        Of the vectors to be spread; not one that spreads them already.
    keys
        The texts, in any order; blank ones and repetitions count for nothing.
    method
        The way of spreading.
    at_most
        So many texts at most, drawn at random where there are more; None: all.
    seed
        Of that draw.
    least
        Fewest texts to be content with.
    store
        A cache of vectors.
    progress
        Called with texts done and all.

    Raises
    ------
    DataError
        Too few texts, or they do not vary in as many directions as the method needs.
    UsageError
        The vectors are spread already, the method does not fit their width, or a number is out of
        range.
    ConfigurationError
        The embedder cannot be used at all.

    Notes
    -----
    The time is that of embedding. Memory grows with the texts, not with their vectors.
    """
    instrument = embedder.instrument
    if OPTION in instrument.options:
        raise UsageError(TWICE)
    if flaw := method.flaw(instrument.dims):
        raise UsageError(flaw)
    if seed < 0:
        raise UsageError(f"seed must be a whole number from 0, got {seed}")
    if least < 1:
        raise UsageError(f"least must be a whole number from 1, got {least}")
    if at_most is not None and at_most < least:
        raise UsageError(f"at_most must be at least {least:,}, the fewest texts; got {at_most:,}")
    distinct = _distinct(instrument, keys)
    _require(len(distinct), least, "distinct texts were given")
    chosen = _drawn(distinct, at_most, seed)
    moments, digest = Moments(instrument.dims), hashlib.sha256()
    unmeasured: dict[str, int] = {}
    for units, names, reasons in _blocks(embedder, chosen, store, progress):
        moments.add(units)
        for name in names:
            digest.update(name)
        for reason in reasons:
            unmeasured[reason] = unmeasured.get(reason, 0) + 1
    why = f" ({next(iter(unmeasured))})" if unmeasured else ""
    _require(moments.count, least, f"texts have a vector{why}")
    spectrum = moments.spectrum()
    return Fitted(
        transform=moments.transform(method, spectrum),
        texts=moments.count,
        distinct=len(distinct),
        drawn=seed if len(chosen) < len(distinct) else None,
        unmeasured=unmeasured,
        texts_digest=digest.hexdigest(),
        mean_cosine=float(np.square(moments.mean).sum()),
        kept=spectrum.kept(method),
    )


def _distinct(instrument: Instrument, keys: Iterable[TextKey]) -> list[tuple[bytes, TextKey]]:
    """Return each text once, with its name, by name; roles of one prefix are one."""
    plain = Instrument(kind="", model="", provider="", dims=1, prefixes=instrument.prefixes)
    found = {
        cache_key(plain, key.role, key.text): TextKey(key.text, key.role)
        for key in keys
        if key.text.strip()
    }
    return sorted(found.items())


def _require(count: int, least: int, what: str) -> None:
    if count < least:
        raise DataError(
            f"{count:,} {what}, and a transform that carries over to other texts takes "
            f"{least:,} at least, better {max(ADVISED, 2 * least):,}; they need no labels, so any "
            "texts like those to be compared will do"
        )


def _drawn(
    texts: list[tuple[bytes, TextKey]], at_most: int | None, seed: int
) -> list[tuple[bytes, TextKey]]:
    if at_most is None or len(texts) <= at_most:
        return texts
    # Raw output is the one stream that numpy never changes.
    order = np.argsort(np.random.PCG64(seed).random_raw(len(texts)), kind="stable")
    return [texts[at] for at in sorted(order[:at_most].tolist())]


class _Block(NamedTuple):
    units: Floats
    names: list[bytes]
    reasons: list[str]


def _blocks(
    embedder: Embedder,
    texts: list[tuple[bytes, TextKey]],
    store: VectorStore | None,
    progress: Progress | None,
) -> Iterator[_Block]:
    """Yield unit vectors of texts, their names, and why others have none."""
    behind = CachedEmbedder(embedder, store, memory_bytes=0)
    behind.prepare()
    for start in range(0, len(texts), BLOCK):
        part = texts[start : start + BLOCK]
        found = behind.fetch(key for _, key in part)
        rows, names, reasons = [], [], []
        for name, key in part:
            outcome = found[key]
            if isinstance(outcome, Embedded):
                rows.append(outcome.vector)
                names.append(name)
            else:
                reasons.append(outcome.reason)
        vectors = np.array(rows, dtype=np.float64).reshape(len(rows), embedder.instrument.dims)
        yield _Block(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), names, reasons)
        if progress is not None:
            progress(min(start + BLOCK, len(texts)), len(texts))

"""What every embedder must keep, checked: for people who write their own."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from closecall.embedders.base import (
    CountingEmbedder,
    Embedder,
    LoadingEmbedder,
    NoPiecesError,
    PieceEmbedder,
    Vectors,
)
from closecall.errors import EmbeddingError
from closecall.instrument import Instrument, canonical_text
from closecall.records import Role, Tokens

TEXTS = (
    "The ferry leaves at nine.",
    "At nine the boat sets off.",
    "ferry",
    "Tickets are sold on board, in cash only, and children under six travel free of charge.",
    "Die Fähre fährt um neun Uhr ab.",
    "A\nB\tC",
    "the ferry leaves at nine",
    "42",
)
"""Short, long, in two languages, with breaks, with letters that NFC composes."""

UNIT = 1e-4
"""How far the length of a vector that is said to be a unit vector may be from 1."""

_DIGEST = 64


def check_embedder(
    embedder: Embedder,
    *,
    variants: Mapping[str, Embedder] | None = None,
    texts: Sequence[str] = TEXTS,
    tolerance: float = 1e-5,
) -> None:
    """Check that an embedder keeps what closecall relies on.

    Parameters
    ----------
    embedder
        The one to check; ``texts`` are embedded about ten times.
    variants
        The same embedder with one option changed, by the option's name. Each must have another
        identity: whoever shares one shares cached vectors and cutoffs.
    texts
        At least two different ones, all of which it can embed.
    tolerance
        How far a component may differ between batches and calls, in units of the longest vector.

    Raises
    ------
    AssertionError
        With every rule that is broken, one a line.

    Examples
    --------
    >>> from closecall.testing import HashEmbedder
    >>> check_embedder(HashEmbedder(), variants={"dims": HashEmbedder(dims=32)})
    """
    if len(set(texts)) < 2:  # noqa: PLR2004 - order needs two
        raise ValueError("check_embedder needs at least two different texts")
    checks: list[Callable[[], Iterator[str]]] = [
        lambda: _identity(embedder, variants or {}),
        lambda: _vectors(embedder, list(texts), tolerance),
        lambda: _roles(embedder, list(texts), tolerance),
        lambda: _counted(embedder, list(texts), tolerance),
        lambda: _pieces(embedder, list(texts), tolerance),
    ]
    broken = [problem for check in checks for problem in _asked(check)]
    if broken:
        raise AssertionError(
            "\n".join([f"{type(embedder).__name__} breaks its contract:", *broken])
        )


def _asked(check: Callable[[], Iterator[str]]) -> list[str]:
    """Return what a check finds; an error that is none of closecall's is a finding too."""
    found: list[str] = []
    try:
        found.extend(check())
    except EmbeddingError as error:
        found.append(f"it failed on texts that it was said to embed: {error}")
    except Exception as error:  # noqa: BLE001 - a contract is broken by any of them
        found.append(f"it raised {type(error).__name__}: {error}")
    return found


def _identity(embedder: Embedder, variants: Mapping[str, Embedder]) -> Iterator[str]:
    instrument = embedder.instrument
    if not isinstance(instrument, Instrument):
        yield f"instrument: expected a closecall.Instrument, got {type(instrument).__name__}"
        return
    if len(instrument.digest) != _DIGEST:
        yield "instrument: has no digest"
    if isinstance(embedder, LoadingEmbedder):
        embedder.load()
        embedder.load()
    if embedder.instrument != instrument:
        yield "instrument: changes when the embedder loads or is asked twice"
    digests = {"": instrument.digest}
    for name, other in variants.items():
        twin = next((n for n, d in digests.items() if d == other.instrument.digest), None)
        if twin is not None:
            as_what = f"as with {twin}" if twin else "as without it"
            yield f"instrument: with {name} changed the identity is the same {as_what}"
        digests[name] = other.instrument.digest


def _vectors(embedder: Embedder, texts: list[str], tolerance: float) -> Iterator[str]:
    before = list(texts)
    whole = embedder.embed(texts)
    if texts != before:
        yield "embed: changes the list it is given"
    problem = _shape(whole, len(before), embedder.instrument)
    if problem:
        yield f"embed: {problem}"
        return
    nothing = embedder.embed([])
    problem = _shape(nothing, 0, embedder.instrument)
    if problem:
        yield f"embed of no text: {problem}"
    if not np.isfinite(whole).all():
        yield "embed: a component is not finite"
        return
    lengths = np.linalg.norm(whole.astype(np.float64), axis=1)
    if not lengths.all():
        yield "embed: a vector is zero, which has no direction; raise EmbeddingError(indices=...)"
    if embedder.instrument.normalize and np.abs(lengths - 1).max() > UNIT:
        far = lengths[np.abs(lengths - 1).argmax()]
        yield f"embed: the instrument says normalize, and a vector has length {far:.6g}"
    limit = tolerance * float(lengths.max())
    for what, other in (
        ("called twice", embedder.embed(before)),
        ("each text alone", np.concatenate([embedder.embed([text]) for text in before])),
        ("in reverse order", embedder.embed(before[::-1])[::-1]),
        ("with each text twice", embedder.embed([t for t in before for _ in range(2)])[::2]),
    ):
        apart = _apart(whole, other)
        if apart > limit:
            yield f"embed: {what}, a component differs by {apart:.3g}, more than {limit:.3g}"


def _shape(found: Vectors, n: int, instrument: Instrument) -> str:
    if not isinstance(found, np.ndarray):
        return f"expected a numpy array, got {type(found).__name__}"
    if found.dtype != np.float32:
        return f"expected float32, got {found.dtype}"
    wanted = (n, instrument.dims)
    return "" if found.shape == wanted else f"expected shape {wanted}, got {found.shape}"


def _apart(one: Vectors, other: Vectors) -> float:
    if one.shape != other.shape:
        return math.inf
    return float(np.abs(one.astype(np.float64) - other.astype(np.float64)).max(initial=0.0))


def _roles(embedder: Embedder, texts: list[str], tolerance: float) -> Iterator[str]:
    by_role = {role: embedder.embed(texts, role) for role in Role}
    largest = max(float(np.abs(found).max(initial=0.0)) for found in by_role.values())
    for role, found in by_role.items():
        same = embedder.instrument.effective_role(role)
        if _apart(found, by_role[same]) > tolerance * max(largest, 1.0):
            yield (
                f"embed: the instrument gives {role} and {same} one prefix, so they share cached "
                "vectors, and they embed differently"
            )


def _counted(embedder: Embedder, texts: list[str], tolerance: float) -> Iterator[str]:
    if not isinstance(embedder, CountingEmbedder):
        return
    vectors, tokens = embedder.embed_counted(texts)
    if _apart(vectors, embedder.embed(texts)) > tolerance:
        yield "embed_counted: its vectors are not those of embed"
    if len(tokens) != len(texts):
        yield f"embed_counted: {len(tokens)} counts for {len(texts)} texts"
    for text, count in zip(texts, tokens, strict=False):
        if count is None:
            continue
        if not isinstance(count, Tokens):
            yield f"embed_counted: expected Tokens or None, got {type(count).__name__}"
        elif not 0 <= count.seen <= count.total or count.unknown > count.own:
            yield f"embed_counted: {count} cannot be, for {text!r:.40}"


def _pieces(embedder: Embedder, texts: list[str], tolerance: float) -> Iterator[str]:
    if not isinstance(embedder, PieceEmbedder):
        return
    try:
        found = embedder.embed_pieces(texts)
    except NoPiecesError:
        return
    if len(found) != len(texts):
        yield f"embed_pieces: {len(found)} entries for {len(texts)} texts"
        return
    if _apart(np.stack([one.vector for one in found]), embedder.embed(texts)) > tolerance:
        yield "embed_pieces: its vectors are not those of embed"
    for text, one in zip(texts, found, strict=True):
        vectors, spans = one.pieces
        if len(vectors) != len(spans):
            yield f"embed_pieces: {len(vectors)} vectors for {len(spans)} spans of {text!r:.40}"
        size = len(canonical_text(text))
        if any(not 0 <= start < end <= size for start, end in spans):
            yield f"embed_pieces: a span lies outside {text!r:.40}"
        if list(spans) != sorted(spans):
            yield f"embed_pieces: the spans of {text!r:.40} are not in the order of the text"
        lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
        if len(vectors) and np.abs(lengths - 1).max() > UNIT:
            yield f"embed_pieces: a token vector of {text!r:.40} is not of length 1"

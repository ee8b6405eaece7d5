"""Which two texts of a case a metric compares, and what is missing when it cannot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from closecall.embedders.base import Embedded, Failure, TextKey, Vector, VectorLookup
from closecall.errors import ClosecallError
from closecall.records import Case, Role, Tokens, Unmeasured

PASSAGE_SEPARATOR = "\n"
"""Passages of a context are joined with this to be read as a whole."""


class Side(NamedTuple):
    """One of the two texts compared.

    ``texts`` are its alternatives (several references), ``written`` the index of each in the
    case as the user wrote it.
    """

    name: str
    role: Role
    texts: tuple[str, ...]
    written: tuple[int, ...] = (0,)

    @property
    def keys(self) -> tuple[TextKey, ...]:
        """Return what must be embedded for this side."""
        role = self.role
        return tuple([TextKey(text, role) for text in self.texts])


class NotEmbeddedError(ClosecallError):
    """A text has no vector; its message becomes the reason of an absence."""


def reference_side(case: Case) -> Side | Unmeasured:
    """Return the references that are not blank."""
    written, texts = not_blank(case.references)
    return (
        Side("reference", Role.TEXT, texts, written)
        if texts
        else _absent("reference", given=bool(case.references))
    )


def response_side(case: Case) -> Side | Unmeasured:
    """Return the response."""
    return _one("response", Role.TEXT, case.response)


def input_side(case: Case) -> Side | Unmeasured:
    """Return the input, as a query."""
    return _one("input", Role.QUERY, case.input)


def context_side(case: Case, role: Role) -> Side | Unmeasured:
    """Return the passages of the context as one text."""
    _, passages = not_blank(case.context)
    if not passages:
        return _absent("context", given=bool(case.context))
    return Side("context", role, (PASSAGE_SEPARATOR.join(passages),))


def not_blank(texts: Sequence[str]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return index and text of those that hold more than white space."""
    kept = tuple([text for text in texts if text.strip()])
    if len(kept) == len(texts):
        return tuple(range(len(kept))), kept
    return tuple([at for at, text in enumerate(texts) if text.strip()]), kept


def vector_of(vectors: VectorLookup, key: TextKey, name: str) -> tuple[Vector, Tokens | None]:
    """Return a text's vector and tokens, or raise ``NotEmbeddedError`` naming the text."""
    found = vectors.get(key)
    if found is None:
        raise NotEmbeddedError(f"the {name} was not embedded")
    if isinstance(found, Failure):
        raise NotEmbeddedError(f"embedding the {name} failed: {found.reason}")
    return found.vector, found.tokens


class Alternatives(NamedTuple):
    """The alternatives of a side that the model can read, with vectors and tokens of each.

    ``unread`` are the indexes, as the user wrote them, of those it cannot.
    """

    texts: tuple[str, ...]
    written: tuple[int, ...]
    vectors: tuple[Vector, ...]
    tokens: tuple[Tokens | None, ...]
    unread: tuple[int, ...]


def alternatives_of(vectors: VectorLookup, side: Side) -> Alternatives:
    """Return the alternatives of a side that can be compared.

    One in a script the model does not know is left out, as a blank one is: the same on every
    run, so the rest can be measured. One whose embedding failed for another reason is not.

    Raises
    ------
    NotEmbeddedError
        None is left, or an embedding failed.
    """
    keys = side.keys
    every = [vectors.get(key) for key in keys]
    sound = [found for found in every if isinstance(found, Embedded)]
    if len(sound) == len(every):  # as nearly always
        return Alternatives(
            side.texts,
            side.written,
            tuple([found.vector for found in sound]),
            tuple([found.tokens for found in sound]),
            (),
        )
    kept: list[int] = []
    unread: list[int] = []
    for at, found in enumerate(every):
        given_up = isinstance(found, Failure) and found.unreadable
        (unread if given_up else kept).append(at)
    rows = [vector_of(vectors, keys[at], side.name) for at in kept or unread]
    return Alternatives(
        texts=tuple(side.texts[at] for at in kept),
        written=tuple(side.written[at] for at in kept),
        vectors=tuple(vector for vector, _ in rows),
        tokens=tuple(tokens for _, tokens in rows),
        unread=tuple(side.written[at] for at in unread),
    )


def known_tokens(pairs: Iterable[tuple[str, Tokens | None]]) -> dict[str, Tokens]:
    """Return tokens by name, without those an embedder does not report."""
    return {name: tokens for name, tokens in pairs if tokens is not None}


def _one(name: str, role: Role, text: str | None) -> Side | Unmeasured:
    if text is None or not text.strip():
        return _absent(name, given=text is not None)
    return Side(name, role, (text,))


def _absent(field: str, *, given: bool) -> Unmeasured:
    return Unmeasured(f"the case's {field} is {'blank' if given else 'missing'}")

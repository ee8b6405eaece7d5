"""The contract of a guard: does one kind of fact in a response differ from the reference?

A similarity sees topic and wording, and next to nothing of a changed number, an inserted *not* or
a swapped name. A guard looks at one such kind only, by rules, and says where it looked. It is no
score: ``agree`` means that what could be compared was the same, not that the response is right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple, Protocol

import msgspec

from closecall.metrics.guards.words import stems, words

GuardState = Literal["agree", "differ", "absent"]
Span = tuple[int, int]
"""Start and end of a piece of text, in characters, end not included."""

MAX_SPANS = 24
"""Spans kept of one text in one finding; words name the first few only."""
MAX_QUOTE = 60


class GuardFinding(msgspec.Struct, frozen=True, kw_only=True):
    """What one guard found between one reference and one response.

    ``state`` is ``agree`` where the same was found in both, ``differ`` where the response
    contradicts the reference or lacks what the guard asks for, ``absent`` where there was nothing
    to compare. The spans are the pieces of each text that the state rests on, in the order of the
    text; ``words`` says the same to a person, in one line.
    """

    guard: str
    state: GuardState
    spans_reference: tuple[Span, ...] = ()
    spans_response: tuple[Span, ...] = ()
    words: str = ""


class Guard(Protocol):
    """Compares one kind of fact; plain rules, no model, cost linear in the length of the texts."""

    @property
    def name(self) -> str:
        """How the guard is named in options and reports."""
        ...

    @property
    def every(self) -> bool:
        """Whether, of several references, all must differ, or the nearest in wording alone."""
        ...

    def check(self, reference: str, response: str, question: str | None = None) -> GuardFinding:
        """Compare a response with one reference; never raises, whatever the texts hold."""
        ...


class Verdict(NamedTuple):
    """A finding, and the index of the reference it is about."""

    reference: int
    finding: GuardFinding


def against_any(
    guard: Guard, references: Sequence[str], response: str, question: str | None = None
) -> Verdict:
    """Return what a guard finds where any of several references may be the right one.

    It agrees as soon as it agrees with one of them. A guard on single facts (``every``) differs
    only where it differs from every one: a reference without a number may be the one that the
    response is meant to match. A guard on whole statements takes those nearest to the response,
    by the words they share, and differs where it differs from all of these.

    Parameters
    ----------
    references
        At least one; blank ones must have been left out.
    """
    found = []
    for index, reference in enumerate(references):
        finding = guard.check(reference, response, question)
        if finding.state == "agree":
            return Verdict(index, finding)
        found.append(Verdict(index, finding))
    if not guard.every and len(found) > 1:
        near = _nearest(tuple(references), response)
        found = [verdict for verdict in found if verdict.reference in near]
    return next((v for v in found if v.finding.state == "absent"), found[0])


@lru_cache(maxsize=8)
def _nearest(references: tuple[str, ...], response: str) -> frozenset[int]:
    """Return the places of the references that share the most words with a response, as F1.

    The guards of a case ask one after another.
    """
    said = frozenset(stems(words(response), None))
    likeness = []
    for reference in references:
        own = frozenset(stems(words(reference), None))
        likeness.append(2 * len(own & said) / max(len(own) + len(said), 1))
    best = max(likeness)
    return frozenset(at for at, value in enumerate(likeness) if value == best)


def kept(spans: Sequence[Span]) -> tuple[Span, ...]:
    """Return spans in the order of the text, each once, at most ``MAX_SPANS``."""
    return tuple(sorted(set(spans))[:MAX_SPANS])


def quoted(text: str, spans: Sequence[Span], most: int = 3) -> str:
    """Return the first few pieces of a text in quotes, and how many more there are."""
    shown = [_short(text[start:end]) for start, end in sorted(set(spans))]
    pieces = list(_once(shown))
    more = f" and {len(pieces) - most} more" if len(pieces) > most else ""
    return ", ".join(f'"{piece}"' for piece in pieces[:most]) + more


def _once(items: Sequence[str]) -> Iterator[str]:
    yield from dict.fromkeys(items)


def _short(piece: str) -> str:
    line = " ".join(piece[: 4 * MAX_QUOTE].split())
    line = line.encode("utf-8", "replace").decode("utf-8")  # half a surrogate pair is no text
    return line if len(line) <= MAX_QUOTE else line[: MAX_QUOTE - 1] + "…"

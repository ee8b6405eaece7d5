"""What stands in both files: a cutoff is not tested by cases that chose it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from closecall.audit.looking import Looking
from closecall.audit.neighbours import near_pairs
from closecall.audit.records import (
    GROUP,
    NEIGHBOUR,
    SPELLING,
    TEXT,
    Check,
    Finding,
    Severity,
)
from closecall.audit.rows import NONE, Row

LEAKS, SHARED_CONTEXTS = "leaks", "shared_contexts"

CASE, PAIR, INPUT, RESPONSE, REFERENCES, CONTEXT = (
    "case", "input+response", "input", "response", "references", "context",
)  # fmt: skip
GROUPS = "group"

APART = "leave it out of one of the two files, or split by question and not by row"
PASSAGE = "split by document, if the test is to hold for documents that are not in the first file"

_NEAREST = 5
_RIVALS = 200
"""Responses of the first file to one question that a response is compared with, at most."""


class Leak(NamedTuple):
    """A row of the second file that the first file has too; ``other`` is its row there."""

    field: str
    how: str
    other: int
    similarity: float | None = None


def leaks(look: Looking) -> tuple[list[Check], list[Finding]]:
    """Find the cases of the second file that the first has too, by text, group or neighbour.

    Each case is found once, by the strongest of what was found; a passage that both have is a
    check of its own.
    """
    first, second = look.rows.of(0), look.rows.of(1)
    found = _by_key(look, first, second)
    _by_question(look, first, second, found)
    _by_response(look, found)
    contexts = _contexts(look, first, second)
    name = " and ".join(look.rows.names)
    rows = [look.rows.rows[number] for number in (*first, *second)]
    checks, findings = [], []
    for check_name, title, own, texts in (
        (
            LEAKS,
            "Cases of the second file that the first has too",
            found,
            [row.response if row.input == NONE else row.input for row in rows],
        ),
        (
            SHARED_CONTEXTS,
            "Passages of the second file that the first has too",
            contexts,
            [row.context for row in rows],
        ),
    ):
        compared = check_name == LEAKS or any(look.rows.rows[n].context != NONE for n in second)
        by = Counter(f"{leak.field}, {leak.how}" for leak in own.values())
        checks.append(
            Check(
                name=check_name,
                file=name,
                title=title,
                count=len(own) if compared else None,
                counted=f"cases of {look.rows.names[1]}",
                of=len(second),
                findings=len(own),
                by=dict(sorted(by.items())),
                missing="" if compared else "no case of the second file has a context",
                notes=tuple(look.beyond_spelling(texts)) if compared else (),
            )
        )
        findings += [
            _finding(look, (check_name, name), number, own[number]) for number in sorted(own)
        ]
    return checks, findings


def _finding(look: Looking, check: tuple[str, str], number: int, leak: Leak) -> Finding:
    row, other = look.rows.rows[number], look.rows.rows[leak.other]
    near = "" if leak.similarity is None else f" (cosine {leak.similarity:.3f})"
    context = check[0] == SHARED_CONTEXTS
    shown = {INPUT: "input", CONTEXT: "context"}.get(leak.field, "response")
    texts = [*row.texts(shown)[:1], *other.texts(shown)[:1]] or list(row.texts("input")[:1])
    return look.finding(
        check,
        Severity.WARNING if context or leak.how == NEIGHBOUR else Severity.ERROR,
        (leak.other, number),
        f"{_WORDS[leak.how].format(field=_FIELD[leak.field])}{near} in both files",
        PASSAGE if context else APART,
        how=leak.how,
        field=leak.field,
        similarity=leak.similarity,
        texts=texts,
    )


_WORDS = {
    TEXT: "the same {field}",
    SPELLING: "the same {field}, spelt otherwise,",
    NEIGHBOUR: "a near {field}",
    GROUP: "the same {field}",
}
_FIELD = {
    CASE: "case",
    PAIR: "question and response",
    INPUT: "question",
    RESPONSE: "response",
    REFERENCES: "reference",
    CONTEXT: "passage",
    GROUPS: "group",
}


def _by_key(look: Looking, first: Sequence[int], second: Sequence[int]) -> dict[int, Leak]:
    """Return what is found by equal texts, spellings and groups, the strongest of each row."""
    spelt = look.rows.texts.spelling

    def asked(row: Row, part: Callable[[int], object]) -> object:
        return None if row.input == NONE else part(row.input)

    def pair(row: Row, part: Callable[[int], object]) -> object:
        return None if NONE in (row.input, row.response) else (part(row.input), part(row.response))

    def answer(row: Row, part: Callable[[int], object]) -> object:
        """Return the first reference, where there is no question to tell cases apart by."""
        if row.input != NONE or not row.references:
            return None
        return part(row.references[0])

    keys: tuple[tuple[str, str, Callable[[Row], object]], ...] = (
        (CASE, TEXT, lambda row: row.content),
        (PAIR, TEXT, lambda row: pair(row, lambda text: text)),
        (PAIR, SPELLING, lambda row: pair(row, spelt)),
        (INPUT, TEXT, lambda row: asked(row, lambda text: text)),
        (INPUT, SPELLING, lambda row: asked(row, spelt)),
        (REFERENCES, TEXT, lambda row: answer(row, lambda text: text)),
        (REFERENCES, SPELLING, lambda row: answer(row, spelt)),
        (GROUPS, GROUP, lambda row: row.group if row.named else None),
    )
    return _matches(look, first, second, keys)


def _matches(
    look: Looking,
    first: Sequence[int],
    second: Sequence[int],
    keys: Iterable[tuple[str, str, Callable[[Row], object]]],
) -> dict[int, Leak]:
    """Return the rows that have a key of a row of the first file, by the first such key."""
    rows = look.rows.rows
    found: dict[int, Leak] = {}
    for field, how, key in keys:
        known: dict[object, int] = {}
        for number in first:
            known.setdefault(key(rows[number]), number)
        known.pop(None, None)
        for number in second:
            if number not in found and (other := known.get(key(rows[number]))) is not None:
                found[number] = Leak(field, how, other)
    return found


def _by_question(
    look: Looking, first: Sequence[int], second: Sequence[int], found: dict[int, Leak]
) -> None:
    """Add rows with a near question; without a question, those with a near response."""
    rows = look.rows.rows

    def response(number: int) -> int:
        row = rows[number]
        return row.response if row.input == NONE else NONE

    parts: tuple[tuple[str, Callable[[int], int]], ...] = (
        (INPUT, lambda number: rows[number].input),
        (RESPONSE, response),
    )
    for field, text in parts:
        left = [(number, text(number)) for number in second if number not in found]
        found.update(_near(look, field, left, [(number, text(number)) for number in first]))


def _near(
    look: Looking, field: str, asked: list[tuple[int, int]], among: list[tuple[int, int]]
) -> dict[int, Leak]:
    """Return the rows whose text is near one of the first file, with the nearest there."""
    vectors = look.vectors
    if vectors is None:
        return {}
    known: dict[int, int] = {}
    for number, text in among:
        if vectors.has(text):
            known.setdefault(text, number)
    wanted = list(dict.fromkeys(text for _, text in asked if vectors.has(text)))
    if not known or not wanted:
        return {}
    there = list(known)
    near = near_pairs(vectors.of(wanted), vectors.of(there), look.similarity, look.tick, _NEAREST)
    best: dict[int, tuple[int, float]] = {}
    for left, right in near.places():
        one, other = wanted[left], there[right]
        alike = look.alike(one, other)
        if alike is not None and one not in best:
            best[one] = (known[other], alike.similarity)
    return {number: Leak(field, NEIGHBOUR, *best[text]) for number, text in asked if text in best}


def _by_response(look: Looking, found: dict[int, Leak]) -> None:
    """Say of rows whose question is in both files where their response is near too."""
    rows = look.rows.rows
    answers: dict[int, list[int]] = {}
    for number in look.rows.of(0):
        if NONE not in (rows[number].input, rows[number].response):
            answers.setdefault(rows[number].input, []).append(number)
    for number, leak in list(found.items()):
        response = rows[number].response
        if leak.field != INPUT or response == NONE:
            continue
        for other in answers.get(rows[leak.other].input, ())[:_RIVALS]:
            alike = look.alike(response, rows[other].response)
            if alike is not None:
                least = alike.similarity
                least = least if leak.similarity is None else min(least, leak.similarity)
                found[number] = Leak(PAIR, NEIGHBOUR, other, least)
                break


def _contexts(look: Looking, first: Sequence[int], second: Sequence[int]) -> dict[int, Leak]:
    """Return the rows of the second file whose passages the first has too."""
    rows, spelt = look.rows.rows, look.rows.texts.spelling
    found = _matches(
        look,
        first,
        second,
        (
            (CONTEXT, TEXT, lambda row: None if row.context == NONE else row.context),
            (CONTEXT, SPELLING, lambda row: None if row.context == NONE else spelt(row.context)),
        ),
    )
    left = [(n, rows[n].context) for n in second if n not in found]
    found.update(_near(look, CONTEXT, left, [(n, rows[n].context) for n in first]))
    return found

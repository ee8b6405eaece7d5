"""Cases that are there twice: the same, spelt otherwise, or near in vectors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

from closecall.audit.clusters import Clusters
from closecall.audit.looking import Looking
from closecall.audit.neighbours import NEAREST, near_pairs
from closecall.audit.questions import Questions
from closecall.audit.records import (
    NEIGHBOUR,
    SPELLING,
    TEXT,
    Check,
    FieldFacts,
    Finding,
    Severity,
)
from closecall.audit.rows import FIELDS, NONE, Row, Rows

DUPLICATES, NEAR_DUPLICATES = "duplicates", "near_duplicates"

DROP = "keep one row of each, unless they were labelled by two people on purpose"
LOOK = "look at them, and keep one where they ask and say the same"


def field_facts(rows: Rows, file: int) -> dict[str, FieldFacts]:
    """Return how many texts a file holds in each field, and how many differ."""
    found = {}
    for name in FIELDS:
        cases = texts = 0
        seen: dict[int, int] = {}
        for number in rows.of(file):
            own = rows.rows[number].texts(name)
            cases += bool(own)
            texts += len(own)
            for text in set(own):
                seen[text] = seen.get(text, 0) + 1
        if cases:
            repeated = sum(times > 1 for times in seen.values())
            found[name] = FieldFacts(
                cases=cases, texts=texts, distinct=len(seen), repeated=repeated
            )
    return found


def duplicates(look: Looking, file: int) -> tuple[Check, list[Finding]]:
    """Find cases with the same question, response, references and context."""
    name, all_rows = look.rows.names[file], look.rows.rows
    same: dict[bytes, list[int]] = {}
    for number in look.rows.of(file):
        same.setdefault(all_rows[number].content, []).append(number)
    clusters = [cluster for cluster in same.values() if len(cluster) > 1]
    extra = sum(len(cluster) - 1 for cluster in clusters)
    check = Check(
        name=DUPLICATES,
        file=name,
        title="Cases that repeat another",
        count=extra,
        counted="cases beyond the first of each cluster",
        of=len(look.rows.of(file)),
        findings=len(clusters),
        by={"clusters": len(clusters), "cases in clusters": extra + len(clusters)},
    )
    findings = [
        look.finding(
            check,
            Severity.WARNING,
            cluster,
            f"{len(cluster)} cases have the same question, response, references and context",
            DROP,
            how=TEXT,
            field="case",
            texts=_shown(all_rows[cluster[0]]),
        )
        for cluster in clusters
    ]
    return check, findings


def near_duplicates(look: Looking, file: int, questions: Questions) -> tuple[Check, list[Finding]]:
    """Find cases that differ in spelling only, or are near in question, response and context.

    Cases that are the same in all are one here. ``questions`` are those of the file.
    """
    all_rows = look.rows.rows
    first: dict[bytes, int] = {}
    for number in look.rows.of(file):
        first.setdefault(all_rows[number].content, number)
    nodes = list(first.values())
    joined = Clusters(len(nodes))
    spelt = _join_spelt(look, nodes, joined)
    edges, left_out, full = _edges(look, nodes, questions)
    for left, right, _ in edges:
        joined.join(left, right)
    lowest: dict[int, float] = {}
    for left, _, similarity in edges:
        at = joined.first(left)
        lowest[at] = min(similarity, lowest.get(at, 1.0))
    clusters = joined.all()
    by_spelling = sum(joined.first(cluster[0]) not in lowest for cluster in clusters)
    check = Check(
        name=NEAR_DUPLICATES,
        file=look.rows.names[file],
        title="Cases that nearly repeat another",
        count=sum(len(cluster) - 1 for cluster in clusters),
        counted="cases beyond the first of each cluster, copies once",
        of=len(nodes),
        findings=len(clusters),
        by={
            "clusters": len(clusters),
            "clusters by spelling alone": by_spelling,
            "cases spelt like another": spelt,
            "near pairs": len(edges),
        },
        notes=tuple(_notes(look, left_out, full)),
    )
    findings = []
    for cluster in clusters:
        least = lowest.get(joined.first(cluster[0]))
        numbers = [nodes[at] for at in cluster]
        spelt_only = least is None
        words = _SPELT if least is None else f"are near, cosine {least:.3f} or more"
        findings.append(
            look.finding(
                check,
                Severity.WARNING if spelt_only else Severity.INFO,
                numbers,
                f"{len(cluster)} cases {words}",
                DROP if spelt_only else LOOK,
                how=SPELLING if spelt_only else NEIGHBOUR,
                field="case",
                similarity=least,
                texts=[_shown(all_rows[number])[0] for number in numbers],
            )
        )
    return check, findings


_SPELT = "differ only in case, white space, punctuation or references"


def _join_spelt(look: Looking, nodes: Sequence[int], joined: Clusters) -> int:
    """Join nodes that are spelt alike; return how many are spelt like an earlier one."""
    texts, again = look.rows.texts, 0
    seen: dict[tuple[bytes, ...], int] = {}
    for at, number in enumerate(nodes):
        row = look.rows.rows[number]
        if row.input == row.response == row.context == NONE:
            continue
        key = tuple(map(texts.spelling, (row.input, row.response, row.context)))
        if key in seen:
            again += 1
            joined.join(seen[key], at)
        seen.setdefault(key, at)
    return again


class _Edges(NamedTuple):
    """Near pairs of nodes with the least cosine of their texts.

    ``left_out`` nodes could not be compared; ``full`` ones may have more near neighbours than
    were looked at.
    """

    pairs: list[tuple[int, int, float]]
    left_out: int
    full: int


def _edges(look: Looking, nodes: Sequence[int], questions: Questions) -> _Edges:
    """Return the near pairs of nodes.

    Only responses to one question, or to near ones, are compared: others are no pair. Cases that
    differ in context alone are none either.
    """
    vectors, rows, texts = look.vectors, look.rows.rows, look.rows.texts
    if vectors is None:
        return _Edges([], 0, 0)
    asked: dict[bytes, dict[int, list[int]]] = {}
    left_out = 0
    for at, number in enumerate(nodes):
        row = rows[number]
        answer = row.input if row.response == NONE else row.response
        if vectors.has(answer):
            own = asked.setdefault(texts.spelling(row.input), {})
            own.setdefault(answer, []).append(at)
        else:
            left_out += answer != NONE
    found: dict[tuple[int, int], float] = {}
    full = 0
    for group in asked.values():
        full += _compare(look, nodes, group, None, found)
        if len(group) == 1:
            look.tick(1)
    for one, other in _near_questions(look, questions):
        if one in asked and other in asked:
            _compare(look, nodes, asked[one], asked[other], found)
    pairs = [(one, other, similarity) for (one, other), similarity in sorted(found.items())]
    return _Edges(pairs, left_out, full)


def _near_questions(look: Looking, questions: Questions) -> list[tuple[bytes, bytes]]:
    """Return the spellings of near questions, each pair once."""
    spelling = look.rows.texts.spelling
    found: dict[tuple[bytes, bytes], None] = {}
    for left, right in () if questions.pairs is None else questions.pairs.places():
        one, other = questions.texts[left], questions.texts[right]
        alike = look.alike(one, other)
        if alike is not None and alike.how == NEIGHBOUR:
            first, second = sorted((spelling(one), spelling(other)))
            found[first, second] = None
    return list(found)


def _compare(
    look: Looking,
    nodes: Sequence[int],
    group: dict[int, list[int]],
    other: dict[int, list[int]] | None,
    found: dict[tuple[int, int], float],
) -> int:
    """Add the near pairs within a group of answers, or between two; return how many are full."""
    vectors = look.vectors
    if vectors is None or (other is None and len(group) == 1):
        return 0
    left, right = list(group), list(group if other is None else other)
    among = None if other is None else vectors.of(right)
    tick = look.tick if other is None else lambda _: None
    near = near_pairs(vectors.of(left), among, look.similarity, tick)
    for at, to in near.places():
        for one, two in product(group[left[at]], (group if other is None else other)[right[to]]):
            similarity = _near(look, nodes[one], nodes[two])
            if similarity is not None:
                found[min(one, two), max(one, two)] = similarity
    return near.full


def _near(look: Looking, one: int, other: int) -> float | None:
    """Return the least cosine of near texts of two rows; None where some are not alike.

    None too where all are spelt alike: such rows are joined by that.
    """
    first, second = look.rows.rows[one], look.rows.rows[other]
    found = [
        look.alike(getattr(first, name), getattr(second, name))
        for name in ("input", "response", "context")
    ]
    near = [alike.similarity for alike in found if alike and alike.how == NEIGHBOUR]
    return min(near, default=None) if all(found) else None


def _notes(look: Looking, left_out: int, full: int) -> list[str]:
    notes = look.beyond_spelling(()) if look.vectors is None else []
    if left_out:
        notes.append(f"{left_out:,} cases could not be compared, as the model cannot read them")
    if full:
        notes.append(
            f"{full:,} texts have {NEAREST} near neighbours or more and only so many were looked "
            "at, so a cluster may be counted as two"
        )
    return notes


def _shown(row: Row) -> tuple[int, ...]:
    """Return the texts to show a case by, the response first, else the question."""
    found = [text for text in (row.response, row.input, row.context) if text != NONE]
    return tuple(found) or (*row.references, NONE)

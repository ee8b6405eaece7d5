"""Questions asked twice in other words, and what that does to the groups of a file."""

from __future__ import annotations

from typing import NamedTuple

from closecall.audit.clusters import Clusters
from closecall.audit.looking import Looking
from closecall.audit.neighbours import Near, near_pairs
from closecall.audit.records import NEIGHBOUR, SPELLING, TEXT, Check, Finding, Severity
from closecall.audit.rows import NONE

SPLIT_QUESTIONS = "split_questions"

TOPIC = 0.8
"""Cosine from which on two questions are taken to be about one topic."""

JOIN = (
    "give them one value in a column 'group' (or --group FIELD), so that they are never on both "
    "sides of a split"
)


class Questions(NamedTuple):
    """The distinct questions of a file by number, and their near pairs by place in ``texts``.

    ``pairs`` has those from ``TOPIC`` on; it is None where nothing was embedded. ``asked`` maps a
    question to the rows that ask it, also where it has no vector.
    """

    texts: tuple[int, ...]
    pairs: Near | None
    asked: dict[int, list[int]]


def questions_of(look: Looking, file: int) -> Questions:
    """Return the questions of a file, searched for their nearest once."""
    asked: dict[int, list[int]] = {}
    for number in look.rows.of(file):
        text = look.rows.rows[number].input
        if text != NONE:
            asked.setdefault(text, []).append(number)
    vectors = look.vectors
    if vectors is None:
        return Questions(tuple(asked), None, asked)
    texts = tuple(text for text in asked if vectors.has(text))
    least = min(TOPIC, look.similarity)
    return Questions(texts, near_pairs(vectors.of(texts), None, least, look.tick), asked)


def split_questions(look: Looking, file: int, found: Questions) -> tuple[Check, list[Finding]]:
    """Find questions that are the same or near, and stand in several groups."""
    rows, name = look.rows.rows, look.rows.names[file]
    findings, extra = [], 0
    for cluster, similarity in _clusters(look, found):
        # One row of each group shows it.
        by_group: dict[str, int] = {}
        for text in cluster:
            for number in found.asked[text]:
                by_group.setdefault(rows[number].group, number)
        if len(by_group) == 1:
            continue
        extra += len(by_group) - 1
        how = NEIGHBOUR if similarity is not None else SPELLING if len(cluster) > 1 else TEXT
        near = "" if similarity is None else f" (cosine {similarity:.3f} or more)"
        findings.append(
            look.finding(
                (SPLIT_QUESTIONS, name),
                Severity.WARNING,
                sorted(by_group.values()),
                f"{_WORDS[how]} in {len(by_group)} groups{near}",
                JOIN,
                how=how,
                field="input",
                similarity=similarity,
                texts=cluster,
            )
        )
    there = bool(found.asked)
    check = Check(
        name=SPLIT_QUESTIONS,
        file=name,
        title="Questions that stand in several groups",
        count=extra if there else None,
        counted="groups beyond the first of each question",
        of=len({rows[number].group for asked in found.asked.values() for number in asked}),
        findings=len(findings),
        by={"questions": len(found.asked), "clusters": len(findings)},
        missing="" if there else "no case has a question",
        notes=tuple(look.beyond_spelling(found.asked)) if there else (),
    )
    return check, findings


def _clusters(look: Looking, found: Questions) -> list[tuple[list[int], float | None]]:
    """Return questions that are alike with the least cosine it rests on, single ones too."""
    texts = list(found.asked)
    place = {text: at for at, text in enumerate(texts)}
    joined = Clusters(len(texts))
    spelt: dict[bytes, int] = {}
    for at, text in enumerate(texts):
        joined.join(spelt.setdefault(look.rows.texts.spelling(text), at), at)
    edges = []
    for left, right in () if found.pairs is None else found.pairs.places():
        one, other = found.texts[left], found.texts[right]
        alike = look.alike(one, other)
        if alike is not None and alike.how == NEIGHBOUR:
            edges.append((place[one], alike.similarity))
            joined.join(place[one], place[other])
    lowest: dict[int, float] = {}
    for at, similarity in edges:
        first = joined.first(at)
        lowest[first] = min(similarity, lowest.get(first, 1.0))
    members: dict[int, list[int]] = {}
    for at, text in enumerate(texts):
        members.setdefault(joined.first(at), []).append(text)
    return [(own, lowest.get(first)) for first, own in members.items()]


_WORDS = {
    TEXT: "one question",
    SPELLING: "one question in two spellings",
    NEIGHBOUR: "near questions",
}

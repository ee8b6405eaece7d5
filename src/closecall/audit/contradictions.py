"""The same answer accepted in one row and rejected in another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from closecall.audit.clusters import Clusters
from closecall.audit.looking import Looking
from closecall.audit.neighbours import near_pairs
from closecall.audit.records import NEIGHBOUR, SPELLING, TEXT, Check, Finding, Severity
from closecall.audit.rows import NONE, Row, texts_of
from closecall.metrics.guards.metric import GUARDS
from closecall.records import Case

CONTRADICTIONS = "contradictions"

RELABEL = "have the rows labelled again, blind to what they say now"
LOOK = (
    "look at both: one label may be wrong, or the difference is one that no similarity sees; "
    "then a fact to look for (expected_facts) or a judge decides, and not a cutoff"
)


class Clash(NamedTuple):
    """An accepted and a rejected row that are alike."""

    accepted: int
    rejected: int
    how: str
    similarity: float | None = None


def candidates(look: Looking) -> list[Clash]:
    """Return the pairs of rows of one question that are alike and labelled otherwise.

    Rows of one item are all paired with the first of the other label. Of the near rejected answers
    of an accepted one the nearest few are paired with it, those with another number among them,
    so that it can be told how many there are.
    """
    rows = look.rows.rows
    items: dict[bytes, list[int]] = {}
    for number, row in enumerate(rows):
        if row.label is not None:
            items.setdefault(row.content, []).append(number)
    items = {content: _settled(rows, item) for content, item in items.items()}
    found = [clash for item in items.values() for clash in _clashes(rows, item, TEXT)]
    asked: dict[tuple[bytes, bytes], list[int]] = {}
    for item in items.values():
        row = rows[item[0]]
        question = _question(look, row)
        if row.response != NONE and question:
            first = {rows[number].label: number for number in reversed(item)}
            group = asked.setdefault((question, look.rows.texts.spelling(row.context)), [])
            group += sorted(first.values())
    for same in asked.values():
        if len(same) > 1 and _both(rows, same):
            found += _of_one_question(look, same)
    return found


def _settled(rows: Sequence[Row], item: list[int]) -> list[int]:
    """Return the rows of an item that count: those that settle it, where there are any."""
    return [number for number in item if rows[number].settles] or item


def texts_wanted(look: Looking, found: Iterable[Clash]) -> set[int]:
    """Return the numbers of the texts that guards have to read."""
    rows = look.rows.rows
    near = [clash for clash in found if clash.how == NEIGHBOUR]
    return {
        text
        for clash in near
        for number in (clash.accepted, clash.rejected)
        for text in (rows[number].response, rows[number].input)
        if text != NONE
    }


def read_texts(
    look: Looking, sources: Sequence[Iterable[Case]], wanted: set[int]
) -> dict[int, str]:
    """Return these texts; reads the cases once more where there are any."""
    found: dict[int, str] = {}
    if not wanted:
        return found
    for source in sources:
        for case in source:
            texts = texts_of(case)
            for text in (*texts["input"], *texts["response"]):
                number = look.rows.texts.known(text)
                if number in wanted:
                    found[number] = text
    return found


def contradictions(
    look: Looking, found: Sequence[Clash], texts: Mapping[int, str]
) -> tuple[Check, list[Finding]]:
    """Report the pairs that no guard explains, those that hang together as one finding.

    A pair of near answers that differ in a number, a negation, a name, a quantifier or an
    opposite is labelled as it should be: one of them is wrong.
    """
    rows = look.rows.rows
    name = " and ".join(look.rows.names)
    labelled = [row for row in rows if row.label is not None]
    explained: Counter[str] = Counter()
    left: list[Clash] = []
    for clash in found:
        by = _explanation(look, clash, texts) if clash.how == NEIGHBOUR else None
        if by is None:
            left.append(clash)
        else:
            explained[by] += 1
    findings = list(_findings(look, (CONTRADICTIONS, name), left))
    concerned = {number for clash in left for number in (clash.accepted, clash.rejected)}
    both = {row.label for row in labelled} == {True, False}
    by_how = Counter(clash.how for clash in left)
    notes = look.beyond_spelling(row.response for row in labelled)
    if explained:
        told = ", ".join(f"{guard} {count:,}" for guard, count in explained.most_common())
        notes.append(
            f"{explained.total():,} near pairs with opposite labels are no contradiction, because "
            f"they differ in what a guard finds: {told}"
        )
    check = Check(
        name=CONTRADICTIONS,
        file=name,
        title="Labels that contradict each other",
        count=len(concerned) if both else None,
        counted="labelled cases",
        of=len(labelled),
        findings=len(findings),
        by={
            **{f"pairs, {how}": by_how[how] for how in (TEXT, SPELLING, NEIGHBOUR)},
            "near pairs that a guard explains": explained.total(),
        }
        if both
        else {},
        missing="" if both else "no case has a label" if not labelled else "all labels are alike",
        notes=tuple(notes) if both else (),
    )
    return check, findings


def _findings(look: Looking, check: tuple[str, str], left: Sequence[Clash]) -> Iterable[Finding]:
    joined = Clusters(len(look.rows.rows))
    own: dict[int, list[Clash]] = {}
    for clash in left:
        joined.join(clash.accepted, clash.rejected)
    for clash in left:
        own.setdefault(joined.first(clash.accepted), []).append(clash)
    for _, clashes in sorted(own.items()):
        hows = [clash.how for clash in clashes]
        how = next(how for how in (TEXT, SPELLING, NEIGHBOUR) if how in hows)
        near = [clash.similarity for clash in clashes if clash.similarity is not None]
        numbers = sorted({n for c in clashes for n in (c.accepted, c.rejected)})
        accepts = sum(bool(look.rows.rows[number].label) for number in numbers)
        words = f"{accepts} accepted and {len(numbers) - accepts} rejected, {_WORDS[how]}"
        yield look.finding(
            check,
            Severity.WARNING if how == NEIGHBOUR else Severity.ERROR,
            numbers,
            words + (f" (cosine {min(near):.3f} or more)" if near and how == NEIGHBOUR else ""),
            LOOK if how == NEIGHBOUR else RELABEL,
            how=how,
            field="case" if how == TEXT else "response",
            similarity=min(near, default=None) if how == NEIGHBOUR else None,
            texts=[
                look.rows.rows[number].response
                for number in (clashes[0].accepted, clashes[0].rejected)
            ],
        )


_WORDS = {
    TEXT: "the same question, response, references and context",
    SPELLING: "the same question and response up to spelling or references",
    NEIGHBOUR: "one question and nearly one response",
}


def _question(look: Looking, row: Row) -> bytes:
    """Return what is asked: the question, else the first reference; empty where neither is."""
    asked = row.input if row.input != NONE else next(iter(row.references), NONE)
    return look.rows.texts.spelling(asked)


def _both(rows: Sequence[Row], numbers: Iterable[int]) -> bool:
    return len({rows[number].label for number in numbers}) > 1


def _clashes(rows: Sequence[Row], numbers: Sequence[int], how: str) -> Iterable[Clash]:
    """Pair every row with the first of the other label."""
    accepted = [number for number in numbers if rows[number].label]
    rejected = [number for number in numbers if not rows[number].label]
    if accepted and rejected:
        pairs = [(accepted[0], number) for number in rejected]
        pairs += [(number, rejected[0]) for number in accepted[1:]]
        for one, other in pairs:
            # Rows of one item are paired as such.
            if how == TEXT or rows[one].content != rows[other].content:
                yield Clash(one, other, how)


def _of_one_question(look: Looking, numbers: Sequence[int]) -> list[Clash]:
    """Return the clashes among items of one question and context."""
    rows, texts = look.rows.rows, look.rows.texts
    spelt: dict[bytes, list[int]] = {}
    for number in numbers:
        spelt.setdefault(texts.spelling(rows[number].response), []).append(number)
    found = [clash for same in spelt.values() for clash in _clashes(rows, same, SPELLING)]
    vectors = look.vectors
    if vectors is None:
        return found
    ready = [number for number in numbers if vectors.has(rows[number].response)]
    sides = [[n for n in ready if bool(rows[n].label) is accepted] for accepted in (True, False)]
    if not all(sides):
        return found
    responses = [vectors.of([rows[number].response for number in side]) for side in sides]
    near = near_pairs(responses[0], responses[1], look.similarity, lambda _: None)
    for left, right, similarity in zip(
        near.left.tolist(), near.right.tolist(), near.similarities.tolist(), strict=True
    ):
        one, other = sides[0][left], sides[1][right]
        if texts.spelling(rows[one].response) != texts.spelling(rows[other].response):
            found.append(Clash(one, other, NEIGHBOUR, similarity))
    return found


def _explanation(look: Looking, clash: Clash, texts: Mapping[int, str]) -> str | None:
    """Return the first guard that differs between the two responses, whichever is held first."""
    one, other = look.rows.rows[clash.accepted], look.rows.rows[clash.rejected]
    question = texts.get(one.input)
    sides = texts[one.response], texts[other.response]
    for name, guard in GUARDS.items():
        for first, second in (sides, sides[::-1]):
            if guard.check(first, second, question).state == "differ":
                return name
    return None

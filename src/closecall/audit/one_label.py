"""Groups and topics whose labels are all the same: there a score is never put to the test."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from closecall.audit.clusters import Clusters
from closecall.audit.looking import Looking
from closecall.audit.questions import TOPIC, Questions
from closecall.audit.records import Check, Finding, Severity

ONE_LABEL = "one_label"

RARE = 0.001
"""A cluster is worth a look where labels dealt at random would be all the same this rarely."""

FEWEST = 5

WHY = (
    "label more answers there that the other label may fit; as it is, the error rate for such "
    "questions rests on no case"
)


def one_label(look: Looking, file: int, found: Questions) -> tuple[Check, list[Finding]]:
    """Find groups, and topics of several groups, that hold one label only.

    Topics are questions that hang together by a cosine of ``TOPIC`` or more. A small group of one
    label is no news: findings are those that chance would make less often than ``RARE``, labels
    taken as dealt at random in the shares of the file.
    """
    rows = look.rows.rows
    labelled = [number for number in look.rows.of(file) if rows[number].label is not None]
    items = list({rows[number].content: number for number in reversed(labelled)}.values())[::-1]
    accepts = sum(bool(rows[number].label) for number in items)
    name = look.rows.names[file]
    mixed = 0 < accepts < len(items)
    groups: dict[str, list[int]] = {}
    for number in items:
        groups.setdefault(rows[number].group, []).append(number)
    several = [own for own in groups.values() if len(own) > 1]
    same = [own for own in several if _one(look, own)]
    topics = list(_topics(look, items, found))
    alike = [own for own in topics if _one(look, own)]
    findings = []
    share = accepts / len(items) if items else 0.0
    for what, clusters in (("group", same), ("topic", alike)):
        for own in clusters if mixed else ():
            accepted = bool(rows[own[0]].label)
            chance = (share if accepted else 1 - share) ** len(own)
            if len(own) < FEWEST or chance > RARE:
                continue
            word = "accepted" if accepted else "rejected"
            findings.append(
                look.finding(
                    (ONE_LABEL, name),
                    Severity.INFO,
                    own,
                    f"all {len(own):,} labelled answers of one {what} are {word}, of "
                    f"{100 * share if accepted else 100 - 100 * share:.0f} % in the file",
                    WHY,
                    field=what,
                    texts=[rows[number].input for number in own[:2]],
                )
            )
    notes = []
    if mixed:
        notes.append(
            f"of {len(several):,} groups with two labels or more {len(same):,} hold one label "
            "only: no score can be wrong about the order of answers within them"
        )
        if look.vectors is None:
            notes.append(f"no topics looked for: {look.unseen}")
    return (
        Check(
            name=ONE_LABEL,
            file=name,
            title="Groups and topics that hold one label, more than chance would make",
            count=len(findings) if mixed else None,
            counted="groups and topics",
            of=len(several) + len(topics) if mixed else None,
            findings=len(findings),
            by={
                "groups of several labels": len(several),
                "groups of one label": len(same),
                "topics of several groups": len(topics),
                "topics of one label": len(alike),
            }
            if mixed
            else {},
            missing=""
            if mixed
            else "no case has a label"
            if not items
            else "all labels of the file are the same",
            notes=tuple(notes),
        ),
        findings,
    )


def _one(look: Looking, numbers: Iterable[int]) -> bool:
    return len({look.rows.rows[number].label for number in numbers}) == 1


def _topics(look: Looking, items: Sequence[int], found: Questions) -> Iterator[list[int]]:
    """Yield the labelled items of each topic that spans several groups."""
    if found.pairs is None:
        return
    joined = Clusters(len(found.texts))
    for left, right in found.pairs.places(TOPIC):
        joined.join(left, right)
    place = {text: joined.first(at) for at, text in enumerate(found.texts)}
    rows = look.rows.rows
    own: dict[int, list[int]] = {}
    for number in items:
        at = place.get(rows[number].input)
        if at is not None:
            own.setdefault(at, []).append(number)
    for _, numbers in sorted(own.items()):
        if len({rows[number].group for number in numbers}) > 1:
            yield numbers

"""What a screen shows of an item: named texts, made safe to show, and nothing of its labels."""

from __future__ import annotations

from typing import NamedTuple

from closecall.labelling.deck import Item
from closecall.labelling.session import Progress, Session
from closecall.report.words import plural, visible

MISSING = "(nothing)"


class Part(NamedTuple):
    """One text of a case with its name; ``side`` says whether it is compared side by side."""

    name: str
    text: str
    side: bool = False


def parts_of(item: Item) -> list[Part]:
    """Return the texts of an item in reading order, control characters spelt out.

    Question, references and response are always there, said to be empty where they are; context
    where there is any.
    """
    case = item.case
    found = [] if case.input is None else [Part("Question", _shown(case.input))]
    many = len(case.references) > 1
    found += [
        Part(f"Reference {at}" if many else "Reference", _shown(text), side=True)
        for at, text in enumerate(case.references, start=1)
    ] or [Part("Reference", MISSING, side=True)]
    found.append(Part("Response", _shown(case.response or ""), side=True))
    many = len(case.context) > 1
    found += [
        Part(f"Context {at}" if many else "Context", _shown(text))
        for at, text in enumerate(case.context, start=1)
    ]
    return found


def asked_of(session: Session) -> str:
    """Return the question to the person, in one line."""
    if session.mode == "resolve":
        return "People differ here. Which is right: is the response good enough?"
    return "Is the response good enough?"


def heard_lines(session: Session, item: Item) -> list[str]:
    """Return what others said of an item that is to be settled; nothing otherwise."""
    return [
        visible(f"{name}: {label}" + (f" ({note})" if note else ""))
        for name, (label, note) in session.heard(item).items()
    ]


def counted(progress: Progress) -> str:
    """Return how far it got, in one line.

    >>> from closecall.labelling.session import Progress
    >>> counted(Progress(done=3, total=40, unsure=1, accepts=2, rejects=1, counts=None, lines=()))
    '3 of 40 done: 2 accepts, 1 reject; 1 left open'
    """
    left = f"; {progress.unsure:,} left open" if progress.unsure else ""
    return (
        f"{progress.done:,} of {progress.total:,} done: {plural(progress.accepts, 'accept')}, "
        f"{plural(progress.rejects, 'reject')}{left}"
    )


def _shown(text: str) -> str:
    return visible(text) if text.strip() else MISSING

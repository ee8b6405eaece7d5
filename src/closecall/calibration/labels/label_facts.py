"""How labels came about: drawn at random or picked, with which probability, by whom and when.

A case file may say so in columns of its own: ``sampling`` (``random`` or ``active``),
``inclusion_probability`` (above 0, at most 1), ``annotator``, ``labelled_at`` (a date or a time
in ISO 8601) and ``adjudicated`` (true of a label that settles a disagreement). Labels that were
picked by score are ``active``: what is counted over them is not the rate among the answers to
come, so no promise may rest on them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

import msgspec

from closecall.errors import DataError
from closecall.records import Case

SAMPLING = "sampling"
INCLUSION_PROBABILITY = "inclusion_probability"
ANNOTATOR = "annotator"
LABELLED_AT = "labelled_at"
ADJUDICATED = "adjudicated"

Sampling: TypeAlias = Literal["random", "active"]

RANDOM: Literal["random"] = "random"
ACTIVE: Literal["active"] = "active"

MADE_UP_BY = "closecall stress"
"""The annotator that ``closecall stress`` names of what it edits: nobody judged it."""

_SHOWN = 5


class RowFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What one case says of its label; None where it says nothing.

    ``adjudicated`` labels settle what others of the same item disagree on.
    """

    sampling: Sampling | None = None
    inclusion_probability: float | None = None
    annotator: str | None = None
    labelled_at: str | None = None
    adjudicated: bool | None = None

    @property
    def active(self) -> bool:
        """Whether the case was picked for labelling by its score."""
        return self.sampling == ACTIVE


class LabelFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What all labelled cases say of their labels.

    ``random``, ``active`` and ``unstated`` count labelled cases; ``unweighted`` the active ones
    without an inclusion probability. ``active_ids`` are the ids of the active ones, and
    ``active_places`` where the first few stand.
    ``made_up`` counts the labels of answers that ``closecall stress`` edited, among those above,
    and ``made_up_places`` says where the first few stand.
    ``annotators`` maps a name to its labels. ``first`` and ``last`` are the earliest and the
    latest time of labelling, as written; ``undated`` counts labels without one.
    """

    random: int
    active: int
    unstated: int
    unweighted: int
    active_ids: tuple[str, ...]
    active_places: tuple[str, ...]
    annotators: dict[str, int]
    first: str | None
    last: str | None
    undated: int
    made_up: int = 0
    made_up_places: tuple[str, ...] = ()

    @property
    def labels(self) -> int:
        """How many labelled cases there are."""
        return self.random + self.active + self.unstated


def facts_of(case: Case) -> RowFacts:
    """Return what a case says of its label.

    Raises
    ------
    DataError
        A value is not one of those allowed; names the case's place, the field and the value.
    """
    facts, problems = _read(case)
    if problems:
        raise DataError(_told(problems))
    return facts


def label_facts(cases: Iterable[Case]) -> LabelFacts:
    """Return what the labelled among these cases say of their labels.

    Raises
    ------
    DataError
        As ``facts_of``, with the first five of all bad values.
    """
    counts = {RANDOM: 0, ACTIVE: 0, None: 0}
    unweighted = undated = 0
    ids: list[str] = []
    places: list[str] = []
    made_up: list[str] = []
    annotators: dict[str, int] = {}
    times: list[str] = []
    problems: list[str] = []
    for case in cases:
        facts, wrong = _read(case)
        problems.extend(wrong)
        if case.label is None:
            continue
        counts[facts.sampling] += 1
        if facts.active:
            unweighted += facts.inclusion_probability is None
            ids.append(case.id)
            if len(places) < _SHOWN:
                places.append(_place(case))
        if facts.annotator is not None:
            annotators[facts.annotator] = annotators.get(facts.annotator, 0) + 1
            if facts.annotator == MADE_UP_BY and len(made_up) < _SHOWN:
                made_up.append(_place(case))
        if facts.labelled_at is None:
            undated += 1
        else:
            times.append(facts.labelled_at)
    if problems:
        raise DataError(_told(problems))
    return LabelFacts(
        random=counts[RANDOM],
        active=counts[ACTIVE],
        unstated=counts[None],
        unweighted=unweighted,
        active_ids=tuple(ids),
        active_places=tuple(places),
        annotators=annotators,
        first=min(times, key=_instant, default=None),
        last=max(times, key=_instant, default=None),
        undated=undated,
        made_up=annotators.get(MADE_UP_BY, 0),
        made_up_places=tuple(made_up),
    )


def active_rows(cases: Iterable[Case]) -> tuple[Case, ...]:
    """Return the labelled cases that were picked by score."""
    return tuple(case for case in cases if case.label is not None and facts_of(case).active)


def refuse_active(facts: LabelFacts) -> None:
    """Refuse to promise an error rate from labels some of which were picked by score.

    Raises
    ------
    DataError
        There are active labels; names the first few and says what to do.
    """
    if facts.active:
        raise DataError(active_message(facts))


def active_message(facts: LabelFacts) -> str:
    """Return why no promise rests on these labels; for facts with active ones."""
    named = ", ".join(facts.active_places)
    left = facts.active - len(facts.active_places)
    more = f" and {left} more" if left else ""
    return (
        f"{facts.active} of {facts.labels} labels say sampling: active ({named}{more}). They were "
        "picked by score, so an error rate counted over them is not that of the answers to come, "
        "and no promise can rest on them. Leave them out (--leave-out-active): a promise then "
        f"rests on the other {facts.labels - facts.active} labels. Or ask for costs or an "
        "objective, which promise nothing"
    )


def refuse_made_up(facts: LabelFacts) -> None:
    """Refuse to promise an error rate from labels of answers that were edited on purpose.

    Raises
    ------
    DataError
        There are such labels; says how many and what to do.
    """
    if not facts.made_up:
        return
    left = facts.made_up - len(facts.made_up_places)
    named = ", ".join([*facts.made_up_places, *([f"{left:,} more"] if left else [])])
    others = facts.labels - facts.made_up
    raise DataError(
        f"{facts.made_up:,} of {facts.labels:,} labels are of answers that closecall stress made "
        f"({named}). No assistant gave them, so an error rate counted over them is not that of "
        "the answers to come, and no promise can rest on them. Leave out the rows whose column "
        f"{ANNOTATOR} says {MADE_UP_BY!r}"
        + (f": a promise then rests on the other {others:,} labels. " if others else ". ")
        + "Or ask for costs or an objective, which promise nothing"
    )


def warn_made_up(facts: LabelFacts) -> str | None:
    """Return the caution for anything else made from such labels; None without any."""
    if not facts.made_up:
        return None
    return (
        f"{facts.made_up:,} of {facts.labels:,} labels are of answers that closecall stress made: "
        "no rate counted over them is that of the answers to come"
    )


def warn_active(facts: LabelFacts) -> str | None:
    """Return the caution for anything else made from active labels; None without any."""
    if not facts.active:
        return None
    weights = (
        f"; {facts.unweighted} of them do not say with which inclusion probability"
        if facts.unweighted
        else ""
    )
    return (
        f"{facts.active} of {facts.labels} labels were picked by score, not at random: no rate "
        f"counted over them is that of the answers to come{weights}"
    )


def _read(case: Case) -> tuple[RowFacts, list[str]]:
    problems: list[str] = []
    found: dict[str, Any] = {}
    for field, (read, allowed) in _READERS.items():
        value = case.metadata.get(field)
        if value is None or (isinstance(value, str) and not value.strip()):
            continue
        found[field] = read(value)
        if found[field] is None:
            problems.append(f"{_place(case)}: {field}: expected {allowed}; got {value!r:.60}")
    return RowFacts(**found), problems


def _sampling(value: Any) -> str | None:
    word = value.strip().lower() if isinstance(value, str) else None
    return word if word in {RANDOM, ACTIVE} else None


def _probability(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and 0 < number <= 1 else None


def _annotator(value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    return str(value).strip()


def _time(value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    try:
        _instant(value)
    except ValueError:
        return None
    return value.strip()


def _truth(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    return _TRUTHS.get(value.strip().lower()) if isinstance(value, str) else None


def _instant(text: str) -> datetime:
    """Return the time; one without a zone is taken as UTC."""
    time = datetime.fromisoformat(text.strip())
    return time if time.tzinfo else time.replace(tzinfo=UTC)


_TRUTHS = {"true": True, "false": False}

_READERS = {
    SAMPLING: (_sampling, "random or active, or nothing"),
    INCLUSION_PROBABILITY: (_probability, "a number above 0 and at most 1, or nothing"),
    ANNOTATOR: (_annotator, "a name (text or whole number), or nothing"),
    LABELLED_AT: (_time, "a date or time such as 2026-03-14 or 2026-03-14T09:30:00Z, or nothing"),
    ADJUDICATED: (_truth, "true or false, or nothing"),
}


def _place(case: Case) -> str:
    return case.place or case.id


def _told(problems: list[str]) -> str:
    left = len(problems) - _SHOWN
    lines = problems[:_SHOWN] + ([f"... and {left} more"] if left > 0 else [])
    return "\n  ".join(["labels say of themselves what cannot be:", *lines])

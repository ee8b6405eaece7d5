"""The edited cases: which texts each family edits, how many, and which edits are dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from msgspec import structs

from closecall.calibration.labels.label_facts import MADE_UP_BY
from closecall.errors import DataError, UsageError
from closecall.metrics.guards.words import Language
from closecall.records import Case, Label
from closecall.stress.choice import Chooser, check_seed, number_of
from closecall.stress.date_edits import date_edits
from closecall.stress.edits import FAMILIES, WRONG, Edit, whole
from closecall.stress.harmless_edits import (
    case_edits,
    markdown_edits,
    politeness_edits,
    punctuation_edits,
)
from closecall.stress.list_edits import list_edits
from closecall.stress.name_edits import NamePool
from closecall.stress.negation_edits import negation_edits
from closecall.stress.number_edits import number_edits
from closecall.stress.other_answers import OtherAnswers
from closecall.stress.quantifier_edits import quantifier_edits
from closecall.stress.soundness import (
    answers,
    asked_about,
    could_be_right,
    denied_around,
    plain,
    same_quantity,
    same_time,
)
from closecall.stress.sources import Base, Source, sources_of
from closecall.stress.unit_edits import unit_edits

MOST = 200
"""Edited answers of each family, unless asked otherwise: enough to tell 1% from 5%."""

_TRIED = 40
"""Edits of one text that are looked at before its family gives it up."""

OfText = Callable[[str, Language | None, Chooser], Iterator[Edit]]

_OF_TEXT: dict[str, OfText] = {
    "number": number_edits,
    "unit": unit_edits,
    "date": date_edits,
    "negation": negation_edits,
    "quantifier": quantifier_edits,
    "case": case_edits,
    "punctuation": punctuation_edits,
    "list_order": list_edits,
    "politeness": politeness_edits,
    "markdown": markdown_edits,
}
_QUANTITIES = frozenset({"number", "unit", "date"})
_CONTRADICTING = _QUANTITIES | {"entity", "quantifier"}
"""Families whose edit is wrong only in a statement that is not denied itself."""


class Made(NamedTuple):
    """What one family made: its cases, and how many sources were tried for them."""

    family: str
    cases: tuple[Case, ...]
    tried: int


class StressSet(NamedTuple):
    """All edited cases, by family, and an account of the rows they were made from.

    ``seen`` rows gave ``sources`` texts in ``groups`` groups; ``left_out`` counts the others by
    reason. ``most`` None: nothing was limited.
    """

    made: tuple[Made, ...]
    seen: int
    sources: int
    groups: int
    left_out: dict[str, int]
    base: Base
    seed: int
    most: int | None

    @property
    def cases(self) -> tuple[Case, ...]:
        """All edited cases, family by family."""
        return tuple(case for one in self.made for case in one.cases)


def stress_set(
    cases: Iterable[Case],
    *,
    base: Base = "references",
    families: Sequence[str] | None = None,
    most: int | None = MOST,
    seed: int = 0,
    group: str | None = None,
) -> StressSet:
    """Make wrong answers and harmless edits out of a file's own references.

    Every edit of a wrong family is checked against all references of its case: it equals none,
    holds none, is part of none, and a number, name or date it brings in is told by none. Sources
    are tried in an order drawn from the seed, one of each group first, until ``most`` are made.

    Parameters
    ----------
    cases
        Those with a reference are used. Their labels are looked at only with ``accepted``.
    base
        What is edited: ``references``, or the ``accepted`` responses, which are phrased as your
        assistant phrases. Either way the references are what an answer is compared with.
    families
        Names of ``WRONG`` and ``HARMLESS``; None: all.
    most
        Edited answers of each family; None: one from each source that has any.
    seed
        Whole number of at least 0.
    group
        Field that says which cases belong together; None: group, else question, else reference.

    Raises
    ------
    UsageError
        There is no such family, base or field, or a number is out of range.
    DataError
        No case has a text to edit, or none of them can be edited.
    """
    chosen = _families(families)
    check_seed(seed)
    if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 1):
        raise UsageError(f"most must be a whole number of at least 1, or None, got {most!r}")
    if group is not None and not isinstance(group, str):
        raise UsageError(f"group must be the name of a field, got {group!r:.60}")
    found = sources_of(cases, base, group)
    if not found.sources:
        why = ", ".join(f"{n:,} {reason}" for reason, n in found.left_out.items())
        raise DataError(
            f"nothing to edit in {found.seen:,} cases ({why or 'there are none'}): "
            "a case needs a reference, the answer that it should get"
        )
    makers = _makers(found.sources, chosen)
    made = tuple(_make(family, makers[family], found.sources, most, seed) for family in chosen)
    if not any(one.cases for one in made):
        raise DataError(
            f"no edit of {', '.join(chosen)} fits any of {len(found.sources):,} texts: there is "
            "no number, name, date or statement in them that these can change"
        )
    return StressSet(
        made=made,
        seen=found.seen,
        sources=len(found.sources),
        groups=len({source.group for source in found.sources}),
        left_out=dict(found.left_out),
        base=base,
        seed=seed,
        most=most,
    )


def _families(families: Sequence[str] | None) -> tuple[str, ...]:
    if families is None:
        return tuple(FAMILIES)
    if isinstance(families, str) or not isinstance(families, Iterable):
        raise UsageError(f"families must be a list of names, got {families!r:.60}")
    families = list(families)
    unknown = [name for name in families if not isinstance(name, str) or name not in FAMILIES]
    if unknown or not families:
        raise UsageError(
            f"there is no family {', '.join(map(repr, unknown)) or 'in an empty list'}; "
            f"families: {', '.join(FAMILIES)}"
        )
    return tuple(name for name in FAMILIES if name in families)


Maker = Callable[[Source, Chooser], Iterator[Edit]]


def _makers(sources: Sequence[Source], chosen: Sequence[str]) -> dict[str, Maker]:
    """Return what makes the sound edits of each family of one source."""
    makers: dict[str, Maker] = {}
    for name in chosen:
        if name == "unchanged":
            makers[name] = _unchanged
        elif name == "other_reference":
            makers[name] = _other_reference
        elif name in _OF_TEXT:
            makers[name] = _of_text(name, _OF_TEXT[name])
    if "entity" in chosen:
        makers["entity"] = _pooled("entity", NamePool(sources).edits)
    if "other_answer" in chosen:
        makers["other_answer"] = _pooled("other_answer", OtherAnswers(sources).edits)
    return makers


def _of_text(family: str, edits: OfText) -> Maker:
    def make(source: Source, chooser: Chooser) -> Iterator[Edit]:
        # Wrong edits need only one text that has something to change; others edit the first.
        for text in source.bases if family in WRONG else source.bases[:1]:
            language = source.language(text)
            for edit in islice(edits(text, language, chooser), _TRIED):
                if family not in WRONG or _wrong(edit, source, text, language):
                    yield edit

    return make


def _pooled(family: str, edits: Callable[[Source, str, Chooser], Iterator[Edit]]) -> Maker:
    def make(source: Source, chooser: Chooser) -> Iterator[Edit]:
        for text in source.bases if family == "entity" else source.bases[:1]:
            for edit in islice(edits(source, text, chooser), _TRIED):
                if _wrong(edit, source, text, source.language(text)):
                    yield edit

    return make


def _wrong(edit: Edit, source: Source, text: str, language: Language | None) -> bool:
    """Return whether an edit is surely wrong: by no reference, nor by the text it was made of."""
    right = (*source.references, text)
    if could_be_right(edit, right):
        return False
    if (
        source.answered
        and edit.family != "other_answer"
        and not answers(edit, text, source.references, language)
    ):
        return False
    if edit.family in _CONTRADICTING and denied_around(edit, text, language):
        return False
    others = (told for told in source.references if told != text)
    if edit.family == "date" and same_time(edit, others, language):
        return False
    return edit.family not in _QUANTITIES or not (
        asked_about(edit, text, source.question, language) or same_quantity(edit, right, language)
    )


def _unchanged(source: Source, chooser: Chooser) -> Iterator[Edit]:
    del chooser
    yield whole(source.bases[0], "unchanged", source.bases[0])


def _other_reference(source: Source, chooser: Chooser) -> Iterator[Edit]:
    """Yield a reference to be scored against the others, where these say it in other words."""
    del chooser
    own = source.bases[0]
    if not source.answered and any(plain(other) != plain(own) for other in source.references):
        yield whole(own, "other_reference", own)


def _make(
    family: str, make: Maker, sources: Sequence[Source], most: int | None, seed: int
) -> Made:
    made: list[Case] = []
    tried = 0
    for source in _ordered(sources, family, seed):
        if most is not None and len(made) >= most:
            break
        tried += 1
        chooser = Chooser(seed, family, source.case.id, source.bases[0])
        # One of each source: more would tell of the same few questions.
        made.extend(_case(source, edit) for edit in islice(make(source, chooser), 1))
    return Made(family, tuple(made), tried)


def _ordered(sources: Sequence[Source], family: str, seed: int) -> list[Source]:
    """Return the sources as drawn for a family: one of each group, then a second of each, ..."""
    drawn = sorted(
        sources,
        key=lambda source: (number_of(seed, "order", family, source.case.id), source.case.id),
    )
    turn: dict[str, int] = {}
    keyed = []
    for at, source in enumerate(drawn):
        turn[source.group] = turn.get(source.group, 0) + 1
        keyed.append((turn[source.group], at, source))
    return [source for _, _, source in sorted(keyed, key=lambda entry: entry[:2])]


def _case(source: Source, edit: Edit) -> Case:
    case = source.case
    references = case.references
    if edit.family == "other_reference":
        references = tuple(t for t in source.references if plain(t) != plain(edit.text))
    wrong = edit.family in WRONG
    facts: dict[str, Any] = {"family": edit.family, "kind": FAMILIES[edit.family],
                             "from": edit.before, "to": edit.after, "source": case.id}  # fmt: skip
    return structs.replace(
        case,
        id=f"{case.id}~{edit.family}~1",
        response=edit.text,
        references=references,
        label=Label.REJECT if wrong else Label.ACCEPT,
        group=source.group,
        tags=("stress", edit.family),
        metadata={"family": edit.family, "annotator": MADE_UP_BY, "stress": facts},
        place="",
    )

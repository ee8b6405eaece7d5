"""Which column of a file is which field: decided for the whole file, then fixed.

The plan is the decision on what a survey saw, with the sentences that tell a person how the file
was read. A column counts as soon as one row has something in it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from closecall.datasets._content import JUDGED
from closecall.datasets._fields import (
    ALIASES,
    ANSWER,
    FIELDS,
    INPUT,
    REFERENCE,
    RESPONSE,
    TEXT_FIELDS,
    field_of,
    plain,
)
from closecall.datasets._survey import Column, Survey
from closecall.datasets._talk import Talk
from closecall.errors import DatasetError, UsageError


class Plan(NamedTuple):
    """The columns of each field, most telling first, and how the choice was made.

    ``talk`` is where fields come from that have no column, in a file of conversations.
    """

    columns: dict[str, tuple[Column, ...]]
    reading: tuple[str, ...] = ()
    cells: bool = False
    talk: Talk | None = None

    @property
    def consumed(self) -> frozenset[str]:
        """The top-level columns that are read; all others become metadata."""
        return frozenset(c.name for cs in self.columns.values() for c in cs if not c.path)


def decide(
    survey: Survey, file: str, *, cells: bool = False, needed: Collection[str] | None = None
) -> Plan:
    """Return the plan for a file that was surveyed.

    A field that is not ``needed`` (None: all are) stays absent where it has two readings.

    Raises
    ------
    UsageError
        A mapping names a column that no row has.
    DatasetError
        Two readings are possible, or no column is one to compare; the message says what to type.
    """
    if not survey.rows and not survey.columns:  # no row could be read: the scan says why
        return Plan({}, (), cells)
    chosen: dict[str, tuple[Column, ...]] = {}
    notes: list[str] = []
    for field, column in survey.mapping.items():
        chosen[field] = (_mapped(survey, field, column, file),)
    doubts = _Doubts(survey, file, needed)
    _check_conflicts(survey, doubts)
    claimed = set(survey.mapping.values())
    for field in FIELDS:
        if field not in chosen and field not in doubts.fields:
            columns = _candidates(survey, field, claimed)
            if columns:
                chosen[field] = tuple(Column(name) for name in columns)
                notes.extend(_several(survey, field, columns, claimed))
    answer = [c for c in _candidates(survey, ANSWER, claimed) if c not in claimed]
    if answer and ANSWER not in doubts.fields:
        _place_answer(survey, chosen, answer, notes, doubts)
    talk = _talk(survey, chosen, doubts.fields)
    if talk is None and not any(field in chosen for field in TEXT_FIELDS):
        raise DatasetError(doubts.first or _nothing_to_compare(survey, file))
    sentence = _sentence(survey, chosen, doubts.fields, talk)
    return Plan(chosen, (sentence, *notes, *doubts.notes), cells, talk)


class _Doubts:
    """Refuses a field with two readings, or leaves it absent when no metric needs it.

    ``first`` is the refusal that was spared first: with nothing else in the file it holds.
    """

    def __init__(self, survey: Survey, file: str, needed: Collection[str] | None) -> None:
        self.fields: set[str] = set()
        self.notes: list[str] = []
        self.first = ""
        self._spell = survey.spell
        self._file = file
        self._needed = None if needed is None else {field_of(name) for name in needed}

    def add(self, fields: tuple[str, ...], what: str, refusal: str, choices: list[str]) -> None:
        """Take up that ``fields`` have two readings, or raise ``DatasetError``."""
        refusal = f"{self._file}: {refusal}"
        if self._needed is None or not self._needed.isdisjoint(fields):
            raise DatasetError(refusal)
        named = " or the ".join(field for field in fields if field != ANSWER)
        self.fields.update(fields)
        self.first = self.first or refusal
        self.notes.append(
            f"{what}; no metric of this run needs the {named}, so neither was read; "
            f"{' or '.join(choices)} chooses"
        )


def _mapped(survey: Survey, field: str, column: str, file: str) -> Column:
    if column in survey.columns:
        return Column(column)
    if column in survey.resolved:
        return Column(column, tuple(column.split(".")))
    raise UsageError(
        f"{survey.spell({field: column})}: no row of {file} has `{column}`; its columns: "
        f"{survey.listed()}"
    )


def _candidates(survey: Survey, field: str, claimed: set[str]) -> list[str]:
    """Return the columns of a field: those with something in them, else those that are there."""
    full = [c for c in survey.carrying.get(field, ()) if c not in claimed]
    if field not in TEXT_FIELDS and field != ANSWER and len(full) > 1:
        # Group and category may both stand in a file; the field's own name is the one meant.
        full.sort(key=lambda c: [*ALIASES[field], c].index(c))
        return full[:1]
    return full or [c for c in survey.present.get(field, ()) if c not in claimed]


def _check_conflicts(survey: Survey, doubts: _Doubts) -> None:
    for field, (one, other, place) in survey.conflicts.items():
        if field in survey.mapping or (field not in TEXT_FIELDS and field != ANSWER):
            continue
        target = RESPONSE if field == ANSWER else field
        choices = [survey.spell({target: column}) for column in (one, other)]
        doubts.add(
            (ANSWER, RESPONSE, REFERENCE) if field == ANSWER else (field,),
            f"`{one}` and `{other}` differ",
            f"`{one}` and `{other}` could both be the {target}, and they differ (first at "
            f"{place}). Say which one it is: {' or '.join(choices)}",
            choices,
        )


def _several(survey: Survey, field: str, columns: list[str], claimed: set[str]) -> list[str]:
    if field not in TEXT_FIELDS:
        others = set(survey.carrying.get(field, ())) - claimed - set(columns)
        return [
            f"the {field} is `{columns[0]}`; `{other}` was kept as metadata"
            for other in sorted(others)
        ]
    if len(columns) == 1:
        return []
    names = " and ".join(f"`{c}`" for c in columns)
    return [f"{names} never disagree: the {field} is the first of them that a row has"]


def _place_answer(
    survey: Survey,
    chosen: dict[str, tuple[Column, ...]],
    answer: list[str],
    notes: list[str],
    doubts: _Doubts,
) -> None:
    """Give ``answer`` its meaning in this file, or a doubt when two are possible."""
    name = answer[0]
    full = bool(survey.carrying.get(ANSWER))
    reference = chosen.get(REFERENCE)
    response = chosen.get(RESPONSE)
    as_response = survey.spell({RESPONSE: name})
    as_reference = survey.spell({REFERENCE: name})

    def held(field: str) -> bool:
        return field in survey.mapping or bool(survey.carrying.get(field))

    if RESPONSE in survey.mapping:
        if full:
            notes.append(
                f"`{name}` was left aside, because the response is mapped; "
                f"{as_reference} makes it the reference"
            )
        return
    if not full:  # nothing in it: no reading is wrong
        if response is None:
            chosen[RESPONSE] = tuple(Column(c) for c in answer)
        return
    if held(RESPONSE) and response is not None:
        other = response[0].name
        if held(REFERENCE):
            fields: tuple[str, ...] = (RESPONSE,)
            second, means = survey.spell({RESPONSE: other}), f"`{name}` is then left aside"
        else:
            fields = (RESPONSE, REFERENCE)
            second, means = as_reference, f"`{name}` is the expected answer of `{other}`"
        doubts.add(
            fields,
            f"both `{name}` and `{other}` could be the response",
            f"both `{name}` and `{other}` could be the response. Say how to read them: "
            f"{as_response} (`{name}` is the answer under test) or {second} ({means})",
            [as_response, second],
        )
        for field in fields:
            chosen.pop(field, None)
        return
    if held(REFERENCE) and reference is not None:
        chosen[RESPONSE] = tuple(Column(c) for c in answer)
        notes.append(
            f"`{name}` was read as the response (`{reference[0].name}` holds the reference)"
        )
        return
    doubts.add(
        (RESPONSE, REFERENCE),
        f"`{name}` could be the answer under test or the expected answer",
        f"`{name}` could be the answer under test or the expected answer, and no other column "
        f"settles it. Say which: {as_response} (it is the answer under test) or {as_reference} "
        "(it is the expected answer)",
        [as_response, as_reference],
    )


def _talk(survey: Survey, chosen: dict[str, tuple[Column, ...]], doubted: set[str]) -> Talk | None:
    """Return what is taken from conversations: in a file without a column for either side of them.

    A side that is mapped is read as it was mapped.
    """
    columns = [column for column in survey.talks if column not in survey.mapping.values()]
    sides = (INPUT, RESPONSE)
    if not columns or any(field in doubted for field in sides):
        return None
    if any(field in chosen and field not in survey.mapping for field in sides):
        return None
    fields = tuple(field for field in sides if field not in chosen)
    return Talk(columns[0], fields) if fields else None


def _read(name: str, chosen: dict[str, tuple[Column, ...]]) -> bool:
    return any(
        name == (c.path[0] if c.path else c.name) for columns in chosen.values() for c in columns
    )


def _sentence(
    survey: Survey,
    chosen: dict[str, tuple[Column, ...]],
    doubted: set[str],
    talk: Talk | None,
) -> str:
    told = () if talk is None else talk.fields
    parts = [
        f"{field} from {' or '.join(f'`{c.name}`' for c in chosen[field])}"
        if talk is None or field not in told
        else talk.words(field)
        for field in FIELDS
        if field in chosen or field in told
    ]
    missing = [field for field in TEXT_FIELDS if field not in {*chosen, *doubted, *told}]
    without = ""
    if missing:
        without = f"; no column is the {' or '.join(missing)}"
        used = "" if talk is None else talk.column
        unread = [
            name
            for name in survey.columns
            if name != used and plain(name) not in JUDGED and not _read(name, chosen)
        ]
        if unread:
            without += f" (kept as metadata: {', '.join(f'`{name}`' for name in unread[:12])}"
            without += f" and {len(unread) - 12} more" * (len(unread) > 12)  # noqa: PLR2004
            wanted = [field for field in missing if field in (RESPONSE, REFERENCE)]
            if wanted:
                without += f"; {survey.spell(dict.fromkeys(wanted, 'COLUMN'))} reads one"
            without += ")"
    return ", ".join(parts) + without


def _nothing_to_compare(survey: Survey, file: str) -> str:
    columns = set(survey.columns)
    head = f"{file}: no column is an input, a response, a reference or a context"
    names = "; ".join(
        f"{field}: {'|'.join((*ALIASES[field], ANSWER) if field == RESPONSE else ALIASES[field])}"
        for field in TEXT_FIELDS
    )
    if columns & {"vars", "assert"}:
        return (
            f"{head}. It looks like promptfoo test cases, which hold variables and assertions but "
            "no responses. Add the responses as a column `response`, and map the rest, for "
            f"example {survey.spell({INPUT: 'vars.NAME', REFERENCE: 'assert.0.value'})}"
        )
    for talk in ("messages", "chat_history", "conversation", "turns"):
        if talk in columns:
            inner = "outputs.answer" if talk == "chat_history" else "content"
            turn = survey.spell({RESPONSE: f"{talk}.-1.{inner}"})
            return (
                f"{head}. `{talk}` looks like conversations of several turns; closecall compares "
                "one response a row. Write one row for each turn, or map one turn, for example "
                f"{turn} (-1 is the last). Columns found: {survey.listed()}"
            )
    return (
        f"{head}. Columns found: {survey.listed()}. Rename them, or map them: "
        f"{survey.spell({RESPONSE: 'COLUMN', REFERENCE: 'COLUMN'})}. Names that are known: {names}"
    )

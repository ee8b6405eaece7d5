"""A case file as a collection: the passages of all cases are the corpus.

Each line is an object with ``input``, ``context`` and ``relevant``::

    {"id": "q1", "input": "How long is a return possible?",
     "context": [{"id": "returns", "text": "Thirty days from delivery."}, "We ship on Mondays."],
     "relevant": ["returns"]}

A passage is a text, or an object with an ``id`` and its text; one without an id is known by its
text. ``relevant`` (or ``relevant_ids``, also within ``metadata``) lists ids or texts of passages,
whole numbers that count this case's passages from 0, or is an object of ids with grades.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from closecall.datasets._fields import PASSAGE_KEYS
from closecall.datasets._strict import HALF_CHARACTER
from closecall.errors import DatasetError
from closecall.instrument import canonical_text
from closecall.records import is_whole_text
from closecall.retrieval.beir import group_of, tags_of
from closecall.retrieval.collection import Collection, Document, Grades, Query, assembled
from closecall.retrieval.lines import MOST_GRADE, Problems, objects, own_text

RELEVANT = ("relevant", "relevant_ids")
SUFFIXES = (".jsonl", ".ndjson")

_DIGITS = 12


def read_case_file(path: Path) -> Collection:
    """Return the collection of a case file.

    Raises
    ------
    DatasetError
        It is not JSON Lines, a row is not sound, an id stands twice, one id names two texts, or
        no case says what is relevant: file, line and field.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise DatasetError(
            f"{path}: a case file for retrieval is JSON Lines ({', '.join(SUFFIXES)}): objects "
            "with input, context and relevant"
        )
    problems = Problems(path, "cases with input, context and relevant passages")
    passages = _Passages(problems)
    queries: dict[str, Query] = {}
    said_of: dict[str, tuple[Any, list[str], int]] = {}
    for number, (line, row) in enumerate(objects(path, problems), start=1):
        own = _case_id(row, number, line, queries, problems)
        about = row.get("metadata")
        about = dict(about) if isinstance(about, dict) else {}
        text = own_text(row, "input", line, problems, needed=True)
        here = passages.of_case(row.get("context"), line)
        said = next((row[name] for name in RELEVANT if name in row), None)
        if said is None:
            said = next((about[name] for name in RELEVANT if name in about), None)
        rest = {k: v for k, v in row.items() if k not in _OWN}
        group, tags = group_of(row, about, line, problems), tags_of(row, about, line, problems)
        if own is None:
            continue
        queries[own] = Query(id=own, text=text, group=group, tags=tags, metadata={**rest, **about})
        said_of[own] = (said, here, line)
    # Only now are all passages known: a case may name one of a later case.
    grades: Grades = {
        own: _relevant(said, here, passages, line, problems)
        for own, (said, here, line) in said_of.items()
    }
    problems.stop()
    if not any(grades.values()):
        raise DatasetError(
            f"{path}: no case says which passages are relevant. Give each a list `relevant` of "
            "ids or texts of its passages"
        )
    return assembled(
        path.name,
        passages.documents,
        queries,
        grades,
        qrels=path.name,
        reading=(
            f"the corpus is the {len(passages.documents):,} different passages of all cases",
        ),
    )


_OWN = frozenset({"id", "input", "context", "metadata", *RELEVANT})


class _Passages:
    """The corpus as it grows; each text without an id gets one made of its hash."""

    def __init__(self, problems: Problems) -> None:
        self.documents: dict[str, Document] = {}
        self._problems = problems
        self._by_text: dict[str, str] = {}

    def of_case(self, context: Any, line: int) -> list[str]:
        """Return the ids of a case's passages, in order."""
        given = [context] if isinstance(context, str) else context
        if not isinstance(given, list) or not given:
            self._problems.add(line, "context", "expected a list of passages, texts or objects")
            return []
        found = []
        for at, passage in enumerate(given):
            own = self._add(passage, f"context[{at}]", line)
            if own is not None:
                found.append(own)
        return found

    def named(self, said: str) -> str | None:
        """Return the id that an id or a text stands for, None where there is none."""
        return said if said in self.documents else self._by_text.get(canonical_text(said))

    def _add(self, passage: Any, field: str, line: int) -> str | None:
        own: Any = None
        title: Any = ""
        text = passage
        if isinstance(passage, dict):
            own = passage.get("id", passage.get("_id"))
            title = passage.get("title") or ""
            text = next((passage[key] for key in PASSAGE_KEYS if key in passage), None)
        if isinstance(own, int) and not isinstance(own, bool):
            own = str(own)
        if not isinstance(text, str) or not isinstance(title, str):
            self._problems.add(line, field, f"expected a text, got {text!r:.60}")
            return None
        if own is not None and (not isinstance(own, str) or not own.strip()):
            self._problems.add(line, f"{field}.id", f"expected a text, got {own!r:.60}")
            return None
        if not (is_whole_text(text) and is_whole_text(title) and is_whole_text(own or "")):
            self._problems.add(line, field, HALF_CHARACTER)
            return None
        if own is None:
            own = self._by_text.get(canonical_text(text)) or _made_id(text)
        document = Document(id=own, text=text, title=title)
        before = self.documents.get(own)
        if before is not None and canonical_text(before.text) != canonical_text(text):
            self._problems.add(line, f"{field}.id", f"{own!r:.60} is the id of another text too")
            return None
        self.documents.setdefault(document.id, document)
        self._by_text.setdefault(canonical_text(text), document.id)
        return document.id


def _made_id(text: str) -> str:
    return f"text:{hashlib.sha256(canonical_text(text).encode()).hexdigest()[:_DIGITS]}"


def _case_id(
    row: dict[str, Any], number: int, line: int, taken: dict[str, Query], problems: Problems
) -> str | None:
    value = row.get("id")
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    own = f"row_{number}" if value is None else value
    if not isinstance(own, str) or not own.strip() or not is_whole_text(own):
        problems.add(line, "id", f"expected a text that is not blank, got {value!r:.60}")
        return None
    if own in taken:
        problems.add(line, "id", f"{own!r:.60} is the id of an earlier case too")
        return None
    return own


def _relevant(
    said: Any, here: list[str], passages: _Passages, line: int, problems: Problems
) -> dict[str, int]:
    """Return the grades of one case; none where it says nothing."""
    if said is None:
        return {}
    if isinstance(said, dict):
        marked = list(said.items())
    elif isinstance(said, list):
        marked = [(one, 1) for one in said]
    else:
        marked = [(said, 1)]
    found: dict[str, int] = {}
    for at, (one, grade) in enumerate(marked):
        field = f"relevant[{at}]"
        if isinstance(grade, bool) or not isinstance(grade, int) or abs(grade) > MOST_GRADE:
            problems.add(line, field, f"expected a whole number as grade, got {grade!r:.60}")
            continue
        own = _named(one, here, passages)
        if own is None:
            problems.add(
                line,
                field,
                f"{one!r:.60} is neither the id nor the text of a passage, nor the number of one "
                "of this case's passages, counted from 0",
            )
        elif own in found:
            problems.add(line, field, f"{one!r:.60} stands there twice")
        else:
            found[own] = grade
    return found


def _named(one: Any, here: list[str], passages: _Passages) -> str | None:
    if isinstance(one, str):
        return passages.named(one)
    if isinstance(one, int) and not isinstance(one, bool):
        if 0 <= one < len(here):
            return here[one]
        return passages.named(str(one))
    return None

"""Data sets of deepeval: goldens and test cases, as ``save_as`` and its test runs write them.

deepeval joins passages with ``|`` in CSV and JSON lines, and writes a passage with a source as
``deepeval_source=...,deepeval_context=...``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from closecall.datasets._fields import plain
from closecall.datasets._talk import last_turns
from closecall.datasets._values import unfolded
from closecall.importing.drafts import Draft, Taker
from closecall.importing.opened import Document, Opened, Row
from closecall.importing.tally import Tally

NAMES = (
    "input",
    "actual_output",
    "expected_output",
    "context",
    "retrieval_context",
    "name",
    "tags",
    "scenario",
    "turns",
    "expected_outcome",
)
"""deepeval's names that are read; files have them in this spelling or in camel case."""

DELIMITER = "|"

_SOURCED = re.compile(r"deepeval_source=(.*?),deepeval_context=(.*)", re.DOTALL)


def drafts(opened: Opened, tally: Tally) -> Iterator[Draft]:
    """Yield a draft for each golden or test case."""
    # JSON keeps lists as they are; the other two forms join them.
    joined = not isinstance(opened, Document)
    for row in opened.rows():
        spelled = {plain(key): key for key in row.value or {}}
        own = {name: spelled.get(plain(name), name) for name in NAMES}
        taker = Taker(row, tally, cells=opened.cells)
        if {"scenario", "turns"} & {plain(key) for key in taker.row}:
            yield _conversation(row, taker, own, tally)
            continue
        retrieved = _passages(taker, own["retrieval_context"], tally, joined=joined)
        ideal = _passages(taker, own["context"], tally, joined=joined)
        draft = Draft(
            place=row.place,
            row=taker.row,
            id=taker.text(own["name"]) or "",
            input=taker.text(own["input"]),
            response=taker.text(own["actual_output"]),
            references=taker.texts(own["expected_output"]),
            context=tuple(map(_text, retrieved or ideal)),
            tags=taker.texts(own["tags"]),
            metadata=taker.left(),
            problems=taker.problems,
        )
        if any(sources := [_source(passage) for passage in retrieved]):
            draft.metadata["sources"] = sources
        if retrieved and ideal:
            draft.metadata["context"] = list(ideal)
            tally.say(
                "the context is `retrieval_context`; `context`, the ideal one, is kept in metadata"
            )
        yield draft


def _conversation(row: Row, taker: Taker, own: dict[str, str], tally: Tally) -> Draft:
    """Return the draft of a golden or test case of several turns."""
    turns = taker.row.get(own["turns"])
    if not turns:
        taker.problems.append(
            (own["turns"], "there are no turns yet; let deepeval simulate the conversation first")
        )
    last = last_turns(turns, own["turns"], taker.problems)
    tally.count(
        "1 conversation: the last question and the answer to it are compared, all turns are kept "
        "in metadata",
        "{} conversations: the last question and the answer to it are compared, all turns are "
        "kept in metadata",
    )
    name = taker.text(own["name"])
    return Draft(
        place=row.place,
        row=taker.row,
        id=name or "",
        input=last.input,
        response=last.response,
        context=_passages(taker, own["context"], tally, joined=isinstance(turns, str)),
        metadata=taker.left(),
        problems=taker.problems,
    )


def _passages(taker: Taker, column: str, tally: Tally, *, joined: bool) -> tuple[str, ...]:
    value: Any = taker.row.get(column)
    if joined and isinstance(value, str):
        listed = unfolded(value, column, taker.problems, tally.notes)
        value = listed if isinstance(listed, list) else value.split(DELIMITER)
        if len(value) > 1 and value is not listed:
            tally.say(f"`{column}`: split at every {DELIMITER}, as deepeval joins passages")
        taker.row = {**taker.row, column: value}
    return taker.texts(column, passages=True)


def _text(passage: str) -> str:
    """Return a passage without the source that deepeval writes before it."""
    found = _SOURCED.fullmatch(passage)
    return found[2] if found else passage


def _source(passage: str) -> str | None:
    found = _SOURCED.fullmatch(passage)
    return found[1] if found else None

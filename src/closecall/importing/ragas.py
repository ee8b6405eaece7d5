"""Data sets of ragas: samples of one turn or of several, and the columns before version 0.2."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from closecall.datasets._talk import last_turns
from closecall.datasets._values import unfolded
from closecall.importing.drafts import Draft, Taker
from closecall.importing.opened import Opened
from closecall.importing.tally import Tally

INPUT = ("user_input", "question")
RESPONSE = ("response", "answer")
REFERENCE = ("reference", "ground_truth", "ground_truths")
CONTEXT = ("retrieved_contexts", "contexts")

SPEAKERS = {"human": "user", "ai": "assistant", "tool": "tool"}
"""How ragas names who speaks (``type``), and everyone else (``role``)."""


def drafts(opened: Opened, tally: Tally) -> Iterator[Draft]:
    """Yield a draft for each sample."""
    for row in opened.rows():
        taker = Taker(row, tally, cells=opened.cells)
        turns = _turns(taker, opened.cells, tally)
        if turns is None:
            asked, response = taker.text(*INPUT), taker.text(*RESPONSE)
        else:
            last = last_turns(turns, "user_input", taker.problems)
            asked, response = last
        context = taker.texts(*CONTEXT, passages=True)
        draft = Draft(
            place=row.place,
            row=taker.row,
            input=asked,
            response=response,
            references=taker.texts(*REFERENCE),
            context=context,
            metadata=taker.left(),
            problems=taker.problems,
        )
        if turns is not None:
            tally.count(
                "1 conversation: the last question and the answer to it are compared, all turns "
                "are kept in metadata",
                "{} conversations: the last question and the answer to it are compared, all "
                "turns are kept in metadata",
            )
            draft.metadata["user_input"] = taker.row["user_input"]
        yield draft


def _turns(taker: Taker, cells: bool, tally: Tally) -> list[Any] | None:  # noqa: FBT001
    """Return the turns of a sample of several, as conversations are written elsewhere."""
    value = taker.row.get("user_input")
    if cells and isinstance(value, str) and value.startswith("[{"):
        value = unfolded(value, "user_input", taker.problems, tally.notes)
    if not isinstance(value, list):
        return None
    taker.value("user_input")
    return [
        {**turn, "role": SPEAKERS.get(turn["type"], turn["type"])}
        if isinstance(turn, dict) and isinstance(turn.get("type"), str)
        else turn
        for turn in value
    ]

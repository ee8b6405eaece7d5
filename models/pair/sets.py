"""The labelled sets that are learnt from, their licences, and on which side each row is.

Only sets under permissive licences. Rows of one group (a question, a document) are on one side,
the same in every set; questions of sets that are kept out altogether are kept out of all.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from pair.rows import mark

Side = Literal["train", "dev", "test"]
LEARNT = {
    "answers/evouna_nq": "Apache-2.0",
    "answers/evouna_tq": "Apache-2.0",
    "answers/diver_qa": "MIT",
    "answers/truthfulqa_refs": "Apache-2.0",
    "answers/truthfulqa_human": "Apache-2.0",
    "grounded/condaqa_contrast": "Apache-2.0",
    "grounded/begin_wow": "CC-BY-4.0",
    "grounded/summedits_open": "Apache-2.0",
}
"""Sets learnt from, and their licences."""

UNSEEN = ("answers/nq301",)
"""Sets whose questions are kept out of training wherever they stand."""

_TRAIN, _DEV = 64, 70


def side(group: str) -> Side:
    """Return the side of a group, as the labelled sets name it; test is three in ten."""
    at = mark(group)
    return "train" if at < _TRAIN else "dev" if at < _DEV else "test"


def rows_of(data: Path, name: str) -> Iterator[Mapping[str, Any]]:
    """Yield the labelled rows of a set that have a response."""
    with (data / f"{name}.jsonl").open(encoding="utf-8") as stream:
        for line in stream:
            found = json.loads(line)
            if found["label"] and (found["response"] or "").strip():
                yield found


def questions(data: Path, names: tuple[str, ...] = UNSEEN) -> frozenset[str]:
    """Return the questions of sets that are kept out, folded."""
    return frozenset(folded(found["input"]) for name in names for found in rows_of(data, name))


def folded(text: str | None) -> str:
    """Return letters and digits only, in small letters, so that one question has one spelling."""
    plain = unicodedata.normalize("NFKC", text or "").casefold()
    return "".join(char for char in plain if char.isalnum())


def group_of(found: Mapping[str, Any]) -> str:
    """Return what a row's side is decided by: its question where it has one, else its group.

    Two sets that ask one question name its group each in its own way.
    """
    asked = folded(found["input"]) if not found["context"] else ""
    return asked or str(found["group"])

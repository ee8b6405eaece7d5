"""The edited cases as a labelled file, which ``calibrate`` and ``eval`` read."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable

from closecall.atomic import whole_file
from closecall.records import Case, is_whole_text


def write_cases(cases: Iterable[Case], path: str | os.PathLike[str]) -> None:
    """Write cases as JSONL, one a line; the file is there whole or not at all.

    ``family``, ``annotator`` and ``stress`` stand beside the fields of a case.

    Raises
    ------
    UsageError
        It cannot be written there.
    """
    with whole_file(path) as file:
        for case in cases:
            line = json.dumps(_row(case), ensure_ascii=False)
            # Half a character cannot be written, its escape can.
            file.write((line if is_whole_text(line) else json.dumps(_row(case))) + "\n")


def _row(case: Case) -> dict[str, object]:
    row = {
        "id": case.id,
        "input": case.input,
        "response": case.response,
        "references": case.references,
        "context": case.context,
        "label": case.label,
        "group": case.group,
        "tags": case.tags,
        **case.metadata,
    }
    return {name: value for name, value in row.items() if value not in (None, ())}

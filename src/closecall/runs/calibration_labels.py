"""The labelled cases that calibrations were made of, as far as they are still to be had."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from closecall.errors import ClosecallError
from closecall.records import Case, Label
from closecall.runs.asked import read_cases
from closecall.there import is_file

if TYPE_CHECKING:
    from closecall.runs.calibrations import Given

NEEDED = frozenset({"input", "response", "label"})
"""The fields that are read."""


def labels_of(given: Sequence[Given], tell: Callable[[str], None]) -> Sequence[Case]:
    """Return the labelled cases of the first calibration that has them."""
    for one in given:
        sample = one.made.sample
        if sample.texts is not None:
            return [
                Case(
                    id=name,
                    input=texts.input,
                    response=texts.response,
                    references=texts.references,
                    context=texts.context,
                    label=Label.ACCEPT if mark == "a" else Label.REJECT,
                )
                for name, mark, texts in zip(sample.ids, sample.accept, sample.texts, strict=True)
            ]
    for one in given:
        found = _of_file(one)
        if found:
            return found
    tell(
        "the nearest labelled answers are not shown beside unsure ones: the calibration holds no "
        "texts, and the file it was made of is not here as it was; name one with --labels FILE"
    )
    return []


def _of_file(one: Given) -> Sequence[Case]:
    """Return the cases of the file a calibration was made of, where it is there unchanged."""
    name = one.made.data.name
    beside = [Path(one.path).parent / name] if one.path else []
    for path in (*beside, Path(name)):
        if not is_file(path):
            continue
        try:
            source, facts = read_cases(path, None, "skip", NEEDED)
            if facts.digest == one.made.data.digest:
                return [case for case in source if case.label is not None]
        except ClosecallError:
            continue  # whatever it is now, it is not that file
    return []

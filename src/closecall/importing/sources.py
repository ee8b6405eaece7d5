"""The evaluators whose files can be imported, and how to tell whose file this is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from closecall.datasets._fields import plain
from closecall.errors import DatasetError, RowProblem
from closecall.importing import openai_evals, promptfoo
from closecall.importing.arrow import Arrow
from closecall.importing.opened import Opened

PROMPTFOO, DEEPEVAL, RAGAS = "promptfoo", "deepeval", "ragas"
OPENAI_EVALS, HUGGINGFACE = "openai-evals", "huggingface"

SOURCES = {
    PROMPTFOO: "a configuration with tests, a table of tests, or results",
    DEEPEVAL: "goldens or test cases",
    RAGAS: "samples of an evaluation data set",
    OPENAI_EVALS: "samples, or the log of a run",
    HUGGINGFACE: "Parquet, Arrow, JSON lines or CSV of any columns",
}
"""Each source and what its files are."""

_LOOKED_AT = 20
"""Rows that a file is told by."""

_DEEPEVAL = frozenset(map(plain, ("actual_output", "expected_output", "retrieval_context")))
_GOLDEN = frozenset(map(plain, ("scenario", "expected_outcome", "turns")))
_RAGAS = frozenset({"user_input", "retrieved_contexts", "reference_contexts", "multi_responses"})
_TRUTHS = frozenset({"ground_truth", "ground_truths", "contexts"})


def source_of(opened: Opened) -> str:
    """Return whose file this is.

    Raises
    ------
    DatasetError
        It could be that of several, or of none; the message says what to type.
    """
    found = list(dict.fromkeys(_told_by(opened)))
    if len(found) == 1:
        return found[0]
    choices = "\n".join(f"  --from {name}: {what}" for name, what in SOURCES.items())
    seen = f"could be of {' or '.join(found)}" if found else "is of no evaluator that can be told"
    flaws = () if found else _flaws(opened)
    raise DatasetError(f"{opened.path}: {seen}. Say which:\n{choices}", flaws, len(flaws))


def _flaws(opened: Opened) -> list[RowProblem]:
    """Return what is wrong with the first rows, which may be why nothing could be told by them."""
    return [
        RowProblem(row.place, field, message)
        for row in islice(opened.rows(), _LOOKED_AT)
        for field, message in row.flaws
    ]


def _told_by(opened: Opened) -> Iterator[str]:
    if isinstance(opened, Arrow):
        yield HUGGINGFACE
        return
    document = opened.document
    if promptfoo.results_of(document) is not None:
        yield PROMPTFOO
        return
    if isinstance(document, Mapping):
        configured = {*promptfoo.CONFIGURED} & document.keys()
        if configured and {"prompts", "providers", "targets", "defaultTest"} & document.keys():
            yield PROMPTFOO
            return
    for row in islice(opened.rows(), _LOOKED_AT):
        if row.value is not None:
            yield from _row_of(row.value)


def _row_of(row: Mapping[str, Any]) -> Iterator[str]:
    names = {plain(key) for key in row}
    if openai_evals.is_log(dict(row)) or {"input", "ideal"} <= row.keys():
        yield OPENAI_EVALS
    if (
        promptfoo.is_result(row)
        or isinstance(row.get("vars"), Mapping)
        or any(key.startswith("__expected") for key in row)
    ):
        yield PROMPTFOO
    if _RAGAS & row.keys() or ("question" in row and _TRUTHS & row.keys()):
        yield RAGAS
    if ("input" in row and names & _DEEPEVAL) or len(names & _GOLDEN) > 1:
        yield DEEPEVAL

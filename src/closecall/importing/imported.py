"""One import: a file, whose it is, and its cases one by one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from closecall.datasets import OnBadRow
from closecall.datasets._dataset import ON_BAD_ROW, SHOWN
from closecall.datasets._values import Problems
from closecall.errors import DatasetError, RowProblem, UsageError
from closecall.importing import deepeval, huggingface, openai_evals, promptfoo, ragas
from closecall.importing.drafts import finished
from closecall.importing.opened import Opened, open_file
from closecall.importing.sources import (
    DEEPEVAL,
    HUGGINGFACE,
    OPENAI_EVALS,
    PROMPTFOO,
    RAGAS,
    SOURCES,
    source_of,
)
from closecall.importing.tally import Tally
from closecall.records import Case

_DRAFTS = {
    PROMPTFOO: promptfoo.drafts,
    DEEPEVAL: deepeval.drafts,
    RAGAS: ragas.drafts,
    OPENAI_EVALS: openai_evals.drafts,
}


class Import:
    """Cases of another evaluator's file; made by ``open_import``.

    What is counted (``cases``, ``answered`` ones among them, ``bad_rows``, ``problems``,
    ``notes``) is that of the pass that was last, and complete once it has ended.
    """

    def __init__(
        self, opened: Opened, source: str, mapping: Mapping[str, str], on_bad_row: OnBadRow
    ) -> None:
        self._opened = opened
        self._mapping = dict(mapping)
        self._tally = Tally()
        self.source = source
        self.on_bad_row = on_bad_row
        self.cases = 0
        self.answered = 0
        self.bad_rows = 0
        self.problem_count = 0
        self.problems: list[RowProblem] = []

    @property
    def path(self) -> Path:
        """The file."""
        return self._opened.path

    @property
    def notes(self) -> tuple[str, ...]:
        """What there is to tell of the file, in sentences."""
        return self._tally.sentences()

    def __iter__(self) -> Iterator[Case]:
        """Yield the cases in file order.

        Raises
        ------
        DatasetError
            At the end: rows are bad and ``on_bad_row`` is "fail", or there was no case, or none
            with a text.
        UsageError
            A mapping is wrong.
        """
        self._tally = Tally()
        self.cases = self.answered = self.bad_rows = self.problem_count = 0
        self.problems = []
        texts = 0
        for place, found in self._found():
            if isinstance(found, Case):
                self.cases += 1
                self.answered += found.response is not None
                texts += bool(found.input or found.response or found.references or found.context)
                yield found
                continue
            self.bad_rows += 1
            self.problem_count += len(found)
            kept = found[: SHOWN - len(self.problems)]
            self.problems += [RowProblem(place, field, message) for field, message in kept]
        if self.bad_rows and self.on_bad_row == "fail":
            raise DatasetError(
                f"{self.path}: {self.bad_rows} of {self.bad_rows + self.cases} rows cannot be "
                "taken over. Correct them, or leave them out with --on-bad-row skip",
                self.problems,
                self.problem_count,
            )
        if not self.cases:
            why = "".join(f"\n  {note}" for note in self.notes)
            raise DatasetError(
                f"{self.path}: holds no case of {self.source}{why}",
                self.problems,
                self.problem_count,
            )
        if not texts:
            raise DatasetError(
                f"{self.path}: no case has a question, an answer or a text to compare with. Name "
                "one, such as --map input=vars.NAME or --map response=COLUMN"
            )

    def _found(self) -> Iterator[tuple[str, Case | Problems]]:
        if self.source == HUGGINGFACE:
            return huggingface.cases(self._opened, self._tally, self._mapping)
        drafts = _DRAFTS[self.source](self._opened, self._tally)
        return finished(drafts, self._tally, self._mapping)


def open_import(
    path: str | os.PathLike[str],
    source: str | None = None,
    *,
    mapping: Mapping[str, str] | None = None,
    on_bad_row: OnBadRow = "fail",
) -> Import:
    """Return the cases of another evaluator's file.

    Parameters
    ----------
    path
        JSON, JSON lines, YAML, CSV or TSV; Parquet and Arrow (with pyarrow), or a folder that
        ``Dataset.save_to_disk`` made.
    source
        One of ``SOURCES``; told by the file when None.
    mapping
        Field of a case to column, before every other rule; a dotted name goes into objects.
    on_bad_row
        "fail", or "skip" to leave rows out that cannot be taken over.

    Raises
    ------
    UsageError
        An unknown source or option.
    DatasetError
        The file cannot be read, or whose it is cannot be told.
    MissingExtraError
        pyarrow is needed and not installed.
    """
    if source is not None and source not in SOURCES:
        raise UsageError(f"source {source!r} is not one of {', '.join(SOURCES)}")
    if on_bad_row not in ON_BAD_ROW:
        raise UsageError(f"on_bad_row {on_bad_row!r} is not one of {', '.join(ON_BAD_ROW)}")
    opened = open_file(Path(path), tuple((mapping or {}).values()))
    return Import(opened, source or source_of(opened), mapping or {}, on_bad_row)

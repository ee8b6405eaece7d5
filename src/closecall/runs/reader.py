"""Reading a run folder, whoever wrote it: streaming, strict, and with the place of every fault."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from closecall.errors import RunFolderError
from closecall.records import ABSENCES, Case, State
from closecall.runs import files
from closecall.runs.caselines import filed_id, read_case, read_responses
from closecall.runs.files import CASES, METRICS, RESULTS, RUN, SEAL, SUMMARY, Line
from closecall.runs.tally import PENDING
from closecall.runs.wire import Document
from closecall.there import is_dir

CUT = b'"truncated"'
"""Stands in every line whose texts were cut, and perhaps in others."""

_VERSION = re.compile(r"1\.(?:0|[1-9][0-9]{0,5})")
_STATES = frozenset({*(state.value for state in State), PENDING})
_ABSENT = frozenset({*(state.value for state in ABSENCES), PENDING})


def open_run(path: str | os.PathLike[str]) -> RunReader:
    """Open a run folder for reading.

    Raises
    ------
    RunFolderError
        No run there, a version or status closecall does not know, or a document that is not
        sound; the message names the file.
    """
    root = Path(path)
    if is_parts(root):
        from closecall.runs.parts.reader import PartsReader
        from closecall.storage import open_store

        return PartsReader(open_store(root))
    return RunReader(root)


def is_parts(root: Path) -> bool:
    """Whether the run in a folder lies in parts; False where no sound run.json says so."""
    try:
        found = files.read_document(root, RUN)
    except RunFolderError:
        return False
    ext = found.get("ext")
    ours = ext.get("closecall") if isinstance(ext, dict) else None
    return isinstance(ours, dict) and isinstance(ours.get("parts"), dict)


class RunReader:
    """A run as its folder tells it.

    Attributes
    ----------
    header, metrics
        run.json, and the list of metrics.json.
    summary
        summary.json; None while the run is open.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with files.translated(f"{path}: cannot be opened"):
            if not is_dir(path):
                raise RunFolderError(f"{path}: there is no such folder")
        if files.status_of(path) is None:
            raise RunFolderError(f"{path}: is not a run folder, it has no {RUN}")
        self.header = self._document(RUN)
        self.run_id: str = _text(self.header, "runId", path / RUN)
        declared = self._document(METRICS).get("metrics")
        if not isinstance(declared, list) or not all(
            isinstance(m, dict) and isinstance(m.get("id"), str) for m in declared
        ):
            raise RunFolderError(f"{path / METRICS}: metrics must be a list of declarations")
        self.metrics: list[Document] = declared
        self.summary = None if self.running else self._document(SUMMARY)

    @property
    def running(self) -> bool:
        """Whether the run is not closed."""
        return bool(self.header["status"] == "running")

    @property
    def sealed(self) -> bool:
        """Whether there is a seal; ``verify`` says whether it holds."""
        return files.exists(self.path, SEAL)

    @property
    def lists_cases(self) -> bool:
        """Whether there is a file of the cases."""
        return files.exists(self.path, CASES)

    def results(self) -> Iterator[Document]:
        """Yield each line of results.ndjson, in bounded memory.

        Of an open run, the lines that are whole. Raises ``RunFolderError`` with file and line at
        the first that is not a result.
        """
        for line in self._lines(RESULTS):
            yield checked_result(self.path, line)

    def cases(self) -> Iterator[Case]:
        """Yield the cases with the texts that were kept, in the order of their results.

        None at all when no file of them was written.
        """
        for _, case, _ in self.filed_cases():
            yield case

    def filed_cases(self) -> Iterator[tuple[object, Case, tuple[str | None, ...]]]:
        """Yield each case after the ``caseId`` that the results of its line are filed under.

        Of a case that was repeated, also the response of each run, None where there was none.
        """
        if not files.exists(self.path, CASES):
            return
        for line in self._lines(CASES):
            found = files.parsed(self.path, CASES, line)
            try:
                case, responses = read_case(found), read_responses(found)
            except RunFolderError as error:
                raise RunFolderError(f"{self.path / CASES}:{line.number}: {error}") from error
            yield filed_id(found), case, responses

    def cut_cases(self) -> frozenset[int]:
        """Return which cases, counted from 1, had texts too long to keep whole."""
        return frozenset(
            line.number
            for line in self._lines(CASES)
            if CUT in line.data and "truncated" in files.parsed(self.path, CASES, line)
        )

    def verify(self) -> list[str]:
        """Return what is wrong with the folder, empty when all of it holds.

        Checks the files' names, every line, the ids, the summary (recomputed exactly) and, where
        there is one, the seal. Holds 8 bytes a score and about 100 a result.
        """
        from closecall.runs.verify import verify

        return verify(self)

    def seal_problems(self) -> list[str]:
        """Return what no longer is as it was sealed; empty for a folder without a seal."""
        from closecall.runs.verify import seal_problems

        return seal_problems(self)

    def _lines(self, name: str) -> Iterator[Line]:
        return files.lines(self.path, name, growing=self.running)

    def _document(self, name: str) -> Document:
        document = files.read_document(self.path, name)
        version = document.get("schemaVersion")
        if not isinstance(version, str) or not _VERSION.fullmatch(version):
            raise RunFolderError(
                f"{self.path / name}: schemaVersion {version!r} is not one closecall reads (1.x)"
            )
        return document


def _text(document: Document, name: str, place: Path) -> str:
    value = document.get(name)
    if not isinstance(value, str):
        raise RunFolderError(f"{place}: {name} must be a text, got {value!r}")
    return value


def checked_result(root: Path, line: Line) -> Document:
    """Read one line of results.ndjson; the error names file and line."""
    found = files.parsed(root, RESULTS, line)
    problem = result_problem(found)
    if problem:
        raise RunFolderError(f"{root / RESULTS}:{line.number}: {problem}")
    return found


def result_problem(line: Document) -> str | None:  # noqa: PLR0911 - one check after the other
    """Return why a line is no result, None when it is one."""
    for name in ("schemaVersion", "resultId", "caseId", "path", "state"):
        if not isinstance(line.get(name), str):
            return f"{name} must be a text, got {line.get(name)!r}"
    if not _VERSION.fullmatch(line["schemaVersion"]):
        return f"schemaVersion {line['schemaVersion']!r} is not one closecall reads (1.x)"
    evaluator = line.get("evaluator")
    if not isinstance(evaluator, dict) or not isinstance(evaluator.get("id"), str):
        return "evaluator must have an id"
    problem = _optional_problem(line)
    if problem:
        return problem
    state = line["state"]
    if state not in _STATES:
        return f"no such state: {state!r}"
    if state in _ABSENT:
        if "scores" in line or not isinstance(line.get("reason"), str):
            return f"a result that is {state} has a reason and no scores"
        return None
    if not isinstance(line.get("reason", ""), str):
        return f"reason must be a text, got {line['reason']!r}"
    return _scores_problem(line.get("scores", []))


def _optional_problem(line: Document) -> str | None:
    trial, ext = line.get("trial", 0), line.get("ext", {})
    if not isinstance(trial, int | float) or trial != int(trial):
        return f"trial must be a whole number, got {trial!r}"
    if not isinstance(ext, dict) or not isinstance(ext.get("closecall", {}), dict):
        return "ext must be an object, and closecall in it one too"
    return None


def _scores_problem(scores: Any) -> str | None:
    if not isinstance(scores, list) or not all(isinstance(s, dict) for s in scores):
        return "scores must be a list of scores"
    for score in scores:
        value = score.get("value")
        if not isinstance(score.get("metric"), str):
            return "a score must name its metric"
        if isinstance(value, bool) or not isinstance(value, int | float):
            return f"the score for {score['metric']!r} must be a number, got {value!r}"
    if len({score["metric"] for score in scores}) != len(scores):
        return "a line scores a metric at most once"
    return None

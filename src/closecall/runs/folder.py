"""The folder of one run, from its first line to its seal.

While the run is open, results are appended by whole lines and the folder belongs to one process.
A process that is killed loses nothing it appended; ``RunFolder.resume`` goes on after the last
case whose results are all there. A power failure may take the last 5 seconds as well.
Closing writes the summary, the final header and the seal; after that no file changes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from closecall.errors import RunFolderError, UsageError
from closecall.runs import claim, files
from closecall.runs.aef import Written, metrics_document, run_document, seal_document
from closecall.runs.appender import Appender
from closecall.runs.asked_paths import paths_of, runs_of, with_paths
from closecall.runs.case_order import TRIAL, Order
from closecall.runs.caselines import SpelledCase, dump_case, line_of, without_texts
from closecall.runs.reader import checked_result
from closecall.runs.recovery import fingerprint, survey
from closecall.runs.sealing import digests_of, repair_seal
from closecall.runs.tally import FROM_STATE
from closecall.runs.values import now_utc
from closecall.runs.wire import MAX_FILE, SCHEMA_VERSION, Document, dump_document, dump_line
from closecall.seen import Seen
from closecall.storage import locking
from closecall.there import exists

TEXT_BUDGET = MAX_FILE - 256 * 1024 * 1024
"""Bytes of case texts a run keeps; further cases are listed without theirs."""


class RunFolder:
    """A run folder open for writing, by this process alone.

    Made by ``create`` or ``resume``. As a context manager it lets go of the folder at the end;
    a run that was not closed by then stays open and can be resumed. Not safe to share between
    threads.

    Attributes
    ----------
    path, run_id, header, metrics, paths
        The folder; the run's id; run.json and the declared metrics as they were written; the
        paths each case has one result for, in the order its lines have.
    done
        Cases whose results are all in the folder.
    """

    def __init__(
        self,
        path: Path,
        header: Document,
        metrics: list[Document],
        paths: Sequence[str],
        results: Appender,
        *,
        runs: int = 1,
    ) -> None:
        self.path, self.header, self.metrics = path, header, metrics
        self.paths = tuple(paths)
        self._order = Order(self.paths, runs)
        self._repeated = False  # whether the unfinished case is
        self.run_id: str = header["runId"]
        self.done = 0
        self._results = results
        self._cases: Appender | None = None
        self._seen = Seen()
        self._within: list[str] = []  # caseId once a line of an unfinished case is written
        self._kept_bytes = 0
        self._open = True

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        header: Mapping[str, Any],
        metrics: Sequence[Mapping[str, Any]],
        *,
        paths: Sequence[str] | None = None,
        runs: int = 1,
    ) -> Self:
        """Start a run in a new or empty folder.

        Parameters
        ----------
        header
            run.json without status and end (``aef.run_document`` says what it needs).
        metrics
            The declarations of metrics.json.
        paths
            The paths each case has exactly one result for, in the order of its lines; recorded
            in run.json under ``ext``. By default the ids of the metrics that have scores.
        runs
            How many runs a repeated case has; ``case_order`` says how its lines stand.

        Raises
        ------
        RunFolderError
            The folder holds something, another process writes there, or it cannot be written.
        """
        root = Path(path)
        declared = metrics_document(metrics)
        if paths is None:
            paths = [m["id"] for m in declared["metrics"] if m["kind"] not in FROM_STATE]
        if not paths or len(set(paths)) != len(paths):
            raise UsageError("a run needs paths, each of them once")
        run = run_document(with_paths(header, paths, runs), "running")
        claim.require_vacant(root)
        made = not exists(root)
        with files.translated(
            f"{root}: the run folder cannot be made", "Choose another: --aef DIR"
        ):
            (root / files.CASES).parent.mkdir(parents=True, exist_ok=True)
        results = claim.take(root, create=True)
        try:
            claim.require_vacant(root)  # another process may have been there in between
            with (
                files.translated(f"{root}: cannot be written", "Choose another: --aef DIR"),
                claim.nothing_left(root, folder=made),
            ):
                files.remove(root, *files.STAGED)
                claim.sign(root)
                files.write(root, files.METRICS, dump_document(declared))
                files.write(root, files.RUN, dump_document(run))  # from here on the run exists
                files.sync_folder(root)
        except BaseException:
            results.close()
            raise
        return cls(root, run, declared["metrics"], paths, results, runs=runs)

    @classmethod
    def resume(cls, path: str | os.PathLike[str]) -> Self:
        """Go on with a run that was not closed, after its last complete case.

        Raises
        ------
        RunFolderError
            No run, a closed run, another process writes it, or a line is not what the run wrote.
        """
        root = Path(path)
        if files.status_of(root) is None:
            raise RunFolderError(
                f"{root}: holds no run (there is no {files.RUN}). Start one with: "
                f"closecall eval FILE --aef {claim.quoted(root)}"
            )
        _require_running(root)
        results = claim.take(root, create=False)
        try:
            _require_running(root)  # the other writer may have closed it in between
            return cls._resumed(root, results)
        except BaseException:
            results.close()
            raise

    @classmethod
    def _resumed(cls, root: Path, results: Appender) -> Self:
        header = files.read_document(root, files.RUN)
        metrics = files.read_document(root, files.METRICS).get("metrics")
        paths = paths_of(header)
        if not paths or not isinstance(metrics, list) or not isinstance(header.get("runId"), str):
            raise RunFolderError(
                f"{root / files.RUN}: was not written by closecall, which alone knows how to go on"
            )
        try:
            run_document(header, "running")  # what cannot be closed is not gone on with
        except UsageError as error:
            raise RunFolderError(f"{root / files.RUN}: {error}") from error
        folder = cls(root, header, metrics, paths, results, runs=runs_of(header))
        kept = survey(root, folder.run_id, folder._order)
        with files.translated(f"{root}: cannot be written"):
            # A summary, gates or seal of an open run are what a killed close left behind.
            files.remove(root, *files.STAGED, files.SUMMARY, files.GATES, files.SEAL)
            claim.sign(root)
            results.cut(kept.results_bytes, kept.results)
            if files.exists(root, files.CASES):
                folder._cases = folder._texts(create=False)
                folder._cases.cut(kept.cases_bytes, kept.cases)
        folder.done, folder._seen = kept.cases, kept.seen
        folder._kept_bytes = kept.results_bytes
        return folder

    def _texts(self, *, create: bool) -> Appender:
        place = self.path / files.CASES
        return Appender(place, create=create, hint=claim.how_to_go_on(self.path))

    def existing(self) -> Iterator[Document]:
        """Yield the results that ``resume`` kept, as they were written, in bounded memory.

        Raises ``RunFolderError`` with file and line at the first that is not a result.
        """
        for line in files.lines(self.path, files.RESULTS, growing=True, upto=self._kept_bytes):
            yield checked_result(self.path, line)

    def append_case(
        self, lines: Sequence[Mapping[str, Any] | SpelledCase], *, as_kept: bool = False
    ) -> None:
        """Write the texts of cases, one line each (``caselines.case_line``), before their results.

        Only what ``caselines.without_texts`` leaves is kept when the header says
        ``contentCapture: off``, unless the lines are ``as_kept`` by another folder. Cases come in
        the order of their results. A line over 4 MiB is cut and marked.
        """
        self._require_open()
        if self.header.get("contentCapture") == "off" and not as_kept:
            lines = [without_texts(line_of(line)) for line in lines]
        if self._cases is None:
            if self.done or self._within:
                raise UsageError("the texts of a case are written before its results")
            with files.translated(f"{self.path / files.CASES}: cannot be written"):
                self._cases = self._texts(create=True)
                files.sync_folder((self.path / files.CASES).parent)
        batch, size = [], self._cases.size
        for line in lines:
            data = line.data if isinstance(line, SpelledCase) else dump_case(line)
            if size + len(data) > TEXT_BUDGET:
                data = dump_case(line_of(line), limit=0)
            size += len(data)
            batch.append(data)
        self._cases.append(batch)

    def append(self, lines: Sequence[Mapping[str, Any] | Written]) -> None:
        """Write results (``aef.result_line``) in one go: all of them, or none.

        The lines of a case stand side by side in the order of ``paths``, those of a repeated case
        as ``case_order`` says. How lines are spread over calls leaves no trace in the file.

        Raises
        ------
        UsageError
            A line out of order, of another run, or of a case that is already there.
        RunFolderError
            A limit of the format, or the system refused to write; nothing was written.
        """
        self._require_open()
        within, fresh, done = list(self._within), set[int](), self.done
        repeated = self._repeated
        for line in lines:
            own = _place(line)
            repeated = repeated if within else self._order.runs > 1 and own[2] is not None
            path, trial = self._order.place(len(within), repeated=repeated)
            case_id = within[0] if within else own[0]
            if own != (case_id, path, trial):
                raise UsageError(
                    f"expected the result of case {case_id!r} at {path!r}{_of_run(trial)}, got "
                    f"case {own[0]!r} at {own[1]!r}{_of_run(own[2])}"
                )
            if not within:
                mark = fingerprint(self.run_id, case_id)
                if mark in self._seen or mark in fresh:
                    raise UsageError(f"the case {case_id!r} is in the run twice; ids must differ")
                fresh.add(mark)
            within.append(case_id)
            if len(within) == self._order.lines(repeated=repeated):
                within, done = [], done + 1
        if self._cases is not None and done + bool(within) > self._cases.count:
            raise UsageError("the texts of a case are written before its results")
        self._results.append(
            [line.data if isinstance(line, Written) else dump_line(line) for line in lines]
        )
        self._within, self.done, self._repeated = within, done, repeated
        for mark in fresh:
            self._seen.add(mark)

    def sync(self) -> None:
        """Flush all that was appended to the disk, without waiting for the next time."""
        self._require_open()
        for appender in (self._cases, self._results):
            if appender is not None:
                appender.sync()

    def close(
        self,
        *,
        summary: Mapping[str, Any],
        gates: Sequence[Mapping[str, Any]] = (),
        ended_at: str | None = None,
    ) -> None:
        """Write summary, gates, final header and seal; the run does not change any more.

        Everything is first written aside and flushed. When that fails (disk full, no permission)
        the run stays open with all its results, and can be closed again or resumed.

        Parameters
        ----------
        summary
            ``aef.summary_document``.
        gates
            ``gate_lines.decision_lines``; without any there is no such file.
        ended_at
            The run's end; None: now.

        Raises
        ------
        RunFolderError
            The folder cannot be written, or holds files that belong to no run.
        """
        self._require_open()
        if self._within:
            raise UsageError(f"case {self._within[0]!r} has only some of its results")
        ended_at = ended_at or now_utc()
        run = run_document(self.header, "completed", ended_at=ended_at)
        facts = {"schemaVersion": SCHEMA_VERSION, "runId": self.run_id, **summary}
        documents = {files.SUMMARY: dump_document(facts)}
        if gates:
            documents[files.GATES] = b"".join(map(dump_line, gates))
        documents[files.RUN] = dump_document(run)
        hint = f"Its results are safe. {claim.how_to_go_on(self.path)}"
        with files.translated(f"{self.path}: the run cannot be closed", hint):
            self.sync()
            try:
                digests = digests_of(self.path, documents)
                documents[files.SEAL] = dump_document(seal_document(run, digests))
                for name, data in documents.items():
                    files.stage(self.path, name, data)
            except BaseException:
                files.remove(self.path, *files.STAGED)
                raise
            files.remove(self.path, files.WRITER)
            for name in documents:
                files.commit(self.path, name)
            files.sync_folder(self.path)
        self.header = run
        self._let_go()

    def release(self) -> None:
        """Let go of the folder; a run that is not closed can be resumed. Twice does no harm."""
        if self._open:
            with files.translated(f"{self.path}: cannot be left"):
                self.sync()
                files.remove(self.path, files.WRITER)
            self._let_go()

    def _let_go(self) -> None:
        self._open = False
        if self._cases is not None:
            self._cases.close()
        locking.unlock(self._results.descriptor)
        self._results.close()

    def _require_open(self) -> None:
        if not self._open:
            raise UsageError(f"{self.path}: the run folder was closed or released")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.release()
        elif self._open:
            # The first error counts; whatever is in the files is safe either way.
            try:
                self.release()
            except RunFolderError:
                self._let_go()


def _place(line: Mapping[str, Any] | Written) -> tuple[str, str, int | None]:
    """Return the case, the path and the run that a result is of."""
    if isinstance(line, Written):
        return line.case_id, line.path, None
    return line["caseId"], line["path"], line.get(TRIAL)


def _of_run(trial: int | None) -> str:
    return "" if trial is None else f" in run {trial}"


def _require_running(root: Path) -> None:
    status = files.status_of(root)
    if status == "running":
        return
    repair_seal(root)
    raise RunFolderError(
        f"{root}: this run is {status}, there is nothing to resume. Its results are in "
        f"{root / files.RESULTS}, its figures in {root / files.SUMMARY}"
    )

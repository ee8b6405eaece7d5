"""A parts folder read as a run folder is: its lines, its cases, and whether all of it holds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from closecall.records import Case
from closecall.runs import files, sinks
from closecall.runs.caselines import filed_id, read_case, read_responses
from closecall.runs.parts.documents import header_in, read_document, run_document_of
from closecall.runs.parts.ranges import Part, parts_in, spans, whole
from closecall.runs.parts.rows import Record
from closecall.runs.parts.stored import records_in
from closecall.runs.reader import RunReader
from closecall.storage import Store


class PartsReader(RunReader):
    """A run as its parts tell it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.path = Path(store.place)
        self.header = run_document_of(store)
        self.run_header = header_in(store, self.header)
        self.run_id = self.run_header.run_id
        self.metrics = sinks.declared(self.run_header.metrics)
        self.summary = None if self.running else read_document(store, files.SUMMARY)

    @property
    def sealed(self) -> bool:
        """Whether there is a seal; ``verify`` says whether it holds."""
        return self.store.exists(files.SEAL)

    @property
    def lists_cases(self) -> bool:
        """Whether the cases are listed: they always are."""
        return True

    def parts(self) -> list[Part]:
        """Return the parts of the run in order; of an open run those there are."""
        first, stop = self.run_header.first, self.run_header.first + self.run_header.cases
        found = parts_in(self.store)
        if self.running:
            return [Part(one.first, one.stop) for one in spans(found, first, stop) if one.kept]
        return whole(found, first, stop, self.store.place)

    def records(self) -> Iterator[tuple[str, Record]]:
        """Yield the lines of each case after the place they stand at, in bounded memory."""
        for part in self.parts():
            yield from records_in(self.store, self.run_header, part)

    def results(self) -> Iterator[dict[str, object]]:
        """Yield each result line."""
        from closecall.errors import RunFolderError
        from closecall.runs.reader import result_problem

        for place, record in self.records():
            for line in record.results:
                problem = result_problem(line)
                if problem:
                    raise RunFolderError(f"{place}: {problem}")
                yield line

    def filed_cases(self) -> Iterator[tuple[object, Case, tuple[str | None, ...]]]:
        """Yield each case after the ``caseId`` that its results are filed under."""
        from closecall.errors import RunFolderError

        for place, record in self.records():
            try:
                case, responses = read_case(record.case), read_responses(record.case)
            except RunFolderError as error:
                raise RunFolderError(f"{place}: {error}") from error
            yield filed_id(record.case), case, responses

    def cut_cases(self) -> frozenset[int]:
        """Return which cases, counted from 1, had texts too long to keep whole."""
        return frozenset(
            number
            for number, (_, record) in enumerate(self.records(), 1)
            if "truncated" in record.case
        )

    def verify(self) -> list[str]:
        """Return what is wrong with the folder, empty when all of it holds."""
        from closecall.runs.parts.verify import verify_parts

        return verify_parts(self)

    def seal_problems(self) -> list[str]:
        """Return what no longer is as it was sealed."""
        from closecall.runs.parts.sealing import seal_problems

        return list(seal_problems(self.store, self.header))

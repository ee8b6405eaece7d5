"""A case as a row of a part: columns to query, and the run folder's own lines to read it back.

The columns are what people, DuckDB, Spark or pandas look at. ``record`` is what the case is read
from: its line of cases.ndjson and then its lines of results.ndjson, each ending in LF.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from closecall.records import Case, Measured
from closecall.runs.beside import with_group
from closecall.runs.caselines import BESIDE, dump_case, filed_id, read_case, read_responses
from closecall.runs.header import RunHeader
from closecall.runs.reader import result_problem
from closecall.runs.results import CaseResult
from closecall.runs.trial_lines import order_of, row_of
from closecall.runs.values import result_id
from closecall.runs.wire import Document, dump_line, parse, visible

COLUMNS = ("position", "case_id", "group", "label", "tags", "state", "score")
TEXTS = ("input", "response", "references", "context")
OF_METRIC = ("value", "score", "state", "reason", "borderline")
RECORD = "record"


class Record(NamedTuple):
    """One case as its lines: that of its texts, and those of its results in their order."""

    case: Document
    results: list[Document]

    @property
    def data(self) -> bytes:
        """The lines, each ending in LF."""
        return dump_case(self.case) + b"".join(map(dump_line, self.results))

    @property
    def beside(self) -> Mapping[str, Any]:
        """What a merge needs to know of it."""
        found = self.case.get(BESIDE)
        return found if isinstance(found, dict) else {}

    def under(self, run_id: str) -> Record:
        """Return it as the run of that id would have written it."""
        return Record(self.case, list(map(_under, self.results, [run_id] * len(self.results))))


def _under(line: Document, run_id: str) -> Document:
    trial = line.get("trial")
    return line | {"resultId": result_id(run_id, line["caseId"], line["path"], trial)}


def parse_record(data: bytes) -> Record:
    """Return the lines of a record.

    Raises
    ------
    ValueError
        They are no lines of JSON; without the place.
    """
    if not data.endswith(b"\n"):
        raise ValueError("the record ends without a line feed")
    lines = [parse(line) for line in data[:-1].split(b"\n")]
    return Record(lines[0], lines[1:])


def read_row(header: RunHeader, record: Record) -> CaseResult:
    """Return the case with its results.

    Raises
    ------
    RunFolderError, ValueError, KeyError, TypeError, StopIteration, msgspec.ValidationError
        The lines are not those of one case of this run.
    """
    case = read_case(record.case)
    filed = filed_id(record.case)
    order = order_of(header)
    results = record.results
    repeated = bool(results) and order.is_repeated(results[0])
    if len(results) != order.lines(repeated=repeated):
        raise ValueError(f"case {case.id!r} has {len(results)} results")
    for at, line in enumerate(results):
        problem = result_problem(line)
        path, trial = order.place(at, repeated=repeated)
        expected = (filed, path, trial, result_id(header.run_id, str(filed), path, trial))
        if problem is None and expected != _identity(line):
            problem = f"expected the result of case {filed!r} at {path!r} in run {header.run_id!r}"
        if problem is not None:
            raise ValueError(f"line {at + 1}: {problem}")
    if not header.content:
        case = with_group(case, record.beside)
    return row_of(header, case, results, read_responses(record.case))


def _identity(line: Document) -> tuple[object, ...]:
    return line["caseId"], line["path"], line.get("trial"), line["resultId"]


def columns_of(header: RunHeader) -> tuple[str, ...]:
    """Return the names of all columns, in their order."""
    texts = TEXTS if header.content else ()
    own = [f"{plan.id}.{name}" for plan in header.metrics for name in OF_METRIC]
    return (*COLUMNS, *own, *texts, RECORD)


def values_of(header: RunHeader, position: int, row: CaseResult, record: Record) -> list[Any]:
    """Return the values of all columns, in the order of ``columns_of``.

    Texts are as the record has them, so what a folder without content leaves out is in no column.
    """
    data = record.data
    case = read_case(record.case)
    if b'"truncated":' in data:  # a case line of over 4 MiB, whose texts were cut
        case = read_case(parse(data.partition(b"\n")[0]))
    values: list[Any] = [
        position,
        visible(case.id),
        _text(case.group),
        None if case.label is None else case.label.value,
        list(map(visible, case.tags)),
        row.state.value,
        row.score,
    ]
    for result in row.results:
        found = result.measurement
        measured = isinstance(found, Measured)
        values += [
            found.value if isinstance(found, Measured) else None,
            found.score if isinstance(found, Measured) else None,
            result.state.value,
            visible(result.reason) or None,
            result.borderline if measured else None,
        ]
    if header.content:
        values += _texts(case)
    return [*values, data]


def _texts(case: Case) -> Iterator[Any]:
    yield _text(case.input)
    yield _text(case.response)
    yield list(map(visible, case.references))
    yield list(map(visible, case.context))


def _text(text: str | None) -> str | None:
    return None if text is None else visible(text)


def records_of(
    header: RunHeader, rows: Sequence[CaseResult], beside: Sequence[Mapping[str, Any]]
) -> Iterator[Record]:
    """Yield the record of each case."""
    from closecall.runs.caselines import without_texts
    from closecall.runs.sinks import case_lines
    from closecall.runs.trial_lines import row_lines

    for row, line in zip(rows, case_lines(rows, beside), strict=True):
        kept = line if header.content else without_texts(line)
        yield Record(kept, list(row_lines(header, row)))

"""Checking a run folder from end to end, without believing anything it says of itself."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from closecall.errors import ClosecallError, RunFolderError, UsageError
from closecall.runs import files
from closecall.runs.aef import FileDigest, seal_document
from closecall.runs.gate_lines import gate_problems
from closecall.runs.reader import RunReader
from closecall.runs.recheck import Recheck, own_header
from closecall.runs.stored import rows_with_lines
from closecall.runs.tally import KINDS, PENDING, Tally
from closecall.runs.trial_check import TrialCheck
from closecall.runs.trial_lines import NOT_A_ROW
from closecall.runs.values import MAX_PATH, require_plain, result_id, time_key
from closecall.runs.wire import MAX_SEAL, Document, dump_document

MOST = 100
"""Problems listed; further ones are counted."""
NOT_UNDERSTOOD = (*NOT_A_ROW, RecursionError)
"""What checking a run ends in whose values no check was made for."""
_NEAR = 1e-9
SEALERS = ("producer", "ingest")
_MEMBERS = ("N", "n", "notMeasured", "sum", "sumSq", "value")


def verify(run: RunReader) -> list[str]:
    """Return the problems of a run folder, empty when all of it holds."""
    return told(_problems(run))


def told(problems: Iterable[str]) -> list[str]:
    """Return the first problems, and how many more there are."""
    found: list[str] = []
    more = 0
    for problem in problems:
        if len(found) < MOST:
            found.append(problem)
        else:
            more += 1
    return [*found, f"... and {more} more"] if more else found


def not_understood(place: object, error: Exception) -> str:
    """Return the problem of a run whose values no check was made for."""
    return f"{place}: the run cannot be understood ({type(error).__name__}: {str(error)[:200]})"


def seal_problems(run: RunReader) -> list[str]:
    """Return what no longer is as it was sealed; empty for a folder without a seal."""
    if not run.sealed:
        return []
    try:
        return list(_seal_problems(run, files.all_files(run.path)))
    except RunFolderError as error:
        return [str(error)]


def _problems(run: RunReader) -> Iterator[str]:
    try:
        paths = files.all_files(run.path)
    except RunFolderError as error:
        yield str(error)
        return
    if not run.running:
        stray = [path for path in paths if path in {files.WRITER, *files.STAGED}]
        for path in sorted({*files.strangers(paths), *stray}):
            yield f"{run.path / path}: does not belong in a closed run"
    # First, as it says which file was changed, and one byte may leave many lines in the wrong.
    if run.sealed:
        yield from _seal_problems(run, paths)
    try:
        yield from header_problems(run)
        summary = SummaryCheck(run)
        yield from summary.problems
        yield from _line_problems(run, summary)
        yield from _own_problems(run)
        yield from gate_problems(run)
        yield from summary.compare()
    except ClosecallError as error:
        yield str(error)
    except NOT_UNDERSTOOD as error:
        yield not_understood(run.path, error)


def _own_problems(run: RunReader) -> Iterator[str]:
    """Yield what does not follow from what else a run of closecall says; read all its cases."""
    header = own_header(run)
    if header is None:
        for _ in run.cases():
            pass
        return
    again = Recheck(run, header)
    yield from again.header_problems()
    for number, lines, row in rows_with_lines(run, header):
        yield from again.add(f"{run.path / files.RESULTS}:{number}", row, lines)
    yield from again.compare()


def header_problems(run: RunReader) -> Iterator[str]:
    """Yield what is wrong with run.json and the declared metrics."""
    place = run.path / files.RUN
    try:
        started = time_key(run.header.get("startedAt", ""))
        if not run.running and time_key(run.header.get("endedAt", "")) < started:
            yield f"{place}: the run ends before it starts"
    except UsageError as error:
        yield f"{place}: {error}"
    times = Counter(metric["id"] for metric in run.metrics)
    for twice in sorted(name for name, count in times.items() if count > 1):
        yield f"{run.path / files.METRICS}: the metric {twice!r} is declared twice"
    for metric in run.metrics:
        if metric.get("kind") not in KINDS:
            yield f"{run.path / files.METRICS}: {metric['id']!r} has no kind closecall knows"


def _line_problems(run: RunReader, summary: SummaryCheck) -> Iterator[str]:
    declared = {metric["id"] for metric in run.metrics}
    seen: set[str] = set()
    trials = TrialCheck()
    for number, line in enumerate(run.results(), 1):
        place = f"{run.path / files.RESULTS}:{number}"
        trial = int(line["trial"]) if "trial" in line else None
        expected = result_id(run.run_id, line["caseId"], line["path"], trial)
        if line["resultId"] != expected:
            yield f"{place}: resultId should be {expected}, is {line['resultId']}"
        if expected in seen:
            yield f"{place}: this case and path already have a result"
        seen.add(expected)
        if line["state"] == PENDING and not run.running:
            yield f"{place}: pending in a closed run"
        for score in line.get("scores", ()):
            if score["metric"] not in declared:
                yield f"{place}: the metric {score['metric']!r} is not declared"
        yield from trials.add(place, line)
        summary.add(line)
    if not run.running:
        yield from trials.compare()


class SummaryCheck:
    """Recomputes every entry of a summary from the lines it is fed."""

    def __init__(self, run: RunReader) -> None:
        self.problems: list[str] = []
        self._place = run.path / files.SUMMARY
        self._entries: list[tuple[Document, str | None, Tally]] = []
        self._by_path: dict[str, list[tuple[str | None, Tally]]] = defaultdict(list)
        self._only_lane = True
        kinds = {metric["id"]: metric.get("kind") for metric in run.metrics}
        if run.summary is not None:
            if run.summary.get("runId") != run.run_id:
                self.problems.append(f"{self._place}: runId is not that of the run")
            try:
                self._plan(run.summary, kinds)
            except (KeyError, TypeError, AttributeError, UsageError):
                self.problems.append(f"{self._place}: lanes are not laid out as in AEF 1.x")

    def _plan(self, summary: Document, kinds: dict[str, Any]) -> None:
        lanes = summary["lanes"]
        self._only_lane = len(lanes) == 1
        seen: set[tuple[str, str, str]] = set()
        for lane in lanes:
            for entry in lane["metrics"]:
                for name in (lane["lane"], entry["metric"], entry["path"]):
                    require_plain(name, "a name in the summary", MAX_PATH)
                key = (lane["lane"], entry["metric"], entry["path"])
                if kinds.get(entry["metric"]) not in KINDS:
                    self.problems.append(f"{self._place}: {entry['metric']!r} is not declared")
                    continue
                if key in seen:
                    self.problems.append(f"{self._place}: {key} stands there twice")
                seen.add(key)
                tally = Tally(entry["metric"], kinds[entry["metric"]], entry["path"])
                self._entries.append((entry, lane["lane"], tally))
                self._by_path[entry["path"]].append((lane["lane"], tally))

    def add(self, line: Document) -> None:
        """Count one result."""
        for lane, tally in self._by_path.get(line["path"], ()):
            if line.get("lane") == lane or ("lane" not in line and self._only_lane):
                tally.add(line)

    def compare(self) -> Iterator[str]:
        """Yield where the summary says another thing than the results."""
        for entry, lane, tally in self._entries:
            expected = tally.entry()
            where = f"{self._place}: lane {lane}, {entry['metric']} at {entry['path']}"
            for name in _MEMBERS:
                # A value by another rule than the mean (a median, ...) cannot be recomputed here.
                unchecked = name == "value" and "aggregate" in entry
                if name in entry and not unchecked and not _same(name, entry, expected):
                    yield f"{where}: {name} should be {expected.get(name)!r}, is {entry[name]!r}"
            missing = [name for name in ("N", "n", "notMeasured", "value") if name not in entry]
            if missing:
                yield f"{where}: lacks {', '.join(missing)}"
            if expected["n"] == 0 and entry.get("verdict") != "not_measured":
                yield f"{where}: nothing was measured, but the verdict is {entry.get('verdict')!r}"


def _same(name: str, entry: Document, expected: Document) -> bool:
    stated, computed = entry[name], expected.get(name)
    if name != "sumSq" or not isinstance(stated, int | float) or computed is None:
        return bool(stated == computed)
    return bool(abs(stated - computed) <= _NEAR * max(1.0, abs(computed)))


def _seal_problems(run: RunReader, paths: list[str]) -> Iterator[str]:
    place = run.path / files.SEAL
    try:
        seal = files.read_document(run.path, files.SEAL, MAX_SEAL)
        stated = {str(s["name"]): s["digest"]["sha256"] for s in seal["subject"]}
        predicate = predicate_of(seal)
        sealed_at = predicate["sealedAt"]
        actual = {path: files.digest(run.path, path) for path in files.sealed_files(paths)}
    except RunFolderError as error:
        yield str(error)
        return
    except (KeyError, TypeError, AttributeError, ValueError):
        yield f"{place}: is not laid out as a seal"
        return
    if len(stated) != len(seal["subject"]):
        yield f"{place}: names a file twice"
    yield from _changed_files(run, stated, actual)
    try:
        expected = seal_document(run.header, actual, sealed_at)
    except (KeyError, TypeError, AttributeError, UsageError):
        yield f"{place}: cannot belong to this run: {files.RUN} is still open, or lacks members"
        return
    yield from told_otherwise(place, seal, expected)
    with files.open_regular(run.path, files.SEAL) as file:
        data = file.read(MAX_SEAL)
    yield from spelling_problems(place, data, expected, predicate)


def predicate_of(seal: Document) -> Document:
    """Return what a seal says of its run; ``TypeError`` where that is no object."""
    predicate = seal["predicate"]
    if not isinstance(predicate, dict):
        raise TypeError("predicate")
    return predicate


def told_otherwise(place: object, seal: Document, expected: Document) -> Iterator[str]:
    """Yield what a seal says that its run does not."""
    for name, value in expected["predicate"].items():
        stated_value = seal["predicate"].get(name)
        if name != "sealedBy" and stated_value != value:
            yield f"{place}: {name} should be {value!r}, is {stated_value!r}"
    for name in ("_type", "predicateType"):
        if seal.get(name) != expected[name]:
            yield f"{place}: {name} should be {expected[name]!r}, is {seal.get(name)!r}"
    if seal["predicate"].get("sealedBy") not in SEALERS:
        yield f"{place}: sealedBy must be one of {', '.join(SEALERS)}"


def spelling_problems(
    place: object, data: bytes, expected: Document, predicate: Mapping[str, Any]
) -> Iterator[str]:
    """Yield that a seal of closecall's own is not, byte for byte, the one closecall writes.

    The seal is the one file whose digest stands nowhere. What another host sealed it may spell as
    it likes.
    """
    own = expected["predicate"]["producer"] or {}
    if own.get("name") != "closecall" or predicate.get("sealedBy") != "producer":
        return
    try:
        written = dump_document(expected)
    except UsageError as error:
        yield f"{place}: cannot belong to this run: {error}"
        return
    if data != written:
        yield f"{place}: is not spelt as it was written"


def _changed_files(
    run: RunReader, stated: dict[str, str], actual: dict[str, FileDigest]
) -> Iterator[str]:
    for path in sorted({*stated, *actual}):
        if path not in actual:
            yield f"{run.path / path}: is missing, the seal names it"
        elif path not in stated:
            yield f"{run.path / path}: was added after sealing"
        elif stated[path] != actual[path].sha256:
            yield f"{run.path / path}: was changed after sealing"

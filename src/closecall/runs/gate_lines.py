"""What a run's gates decided, as lines of gates.ndjson and back.

One line a gate with all that was found, and a last one for the run as a whole, which has the exit
code. A release decides by any of them alike: the last is *ship* only where all others are, and
everything that was asked for was measured.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import msgspec

from closecall.errors import RunFolderError, UsageError
from closecall.runs import files
from closecall.runs.gate_results import GateResult, GateState
from closecall.runs.lines import EXT
from closecall.runs.summary import EXIT_FAILED, EXIT_PASSED
from closecall.runs.values import ID, REF, encode_ref, require_match, time_key
from closecall.runs.wire import SCHEMA_VERSION, Document

if TYPE_CHECKING:
    from closecall.runs.reader import RunReader
    from closecall.runs.record import Run
    from closecall.runs.results import CaseResult

SHIP, NO_SHIP, OPEN = "ship", "no_ship", "inconclusive"
WHOLE = "closecall:run"
"""The gate that stands for the run as a whole."""
WHOLE_RULE = "every gate passes and everything asked for was measured"

MAX_SHOWN = 128
"""Characters the format keeps of a rule; ours stands whole in ``ext``."""
MAX_CODE = 255

_OUTCOMES = {
    GateState.PASSED: SHIP,
    GateState.FAILED: NO_SHIP,
    GateState.INCONCLUSIVE: OPEN,
    GateState.NOT_MEASURED: OPEN,
}
_WHOLE_OUTCOMES = {EXIT_PASSED: SHIP, EXIT_FAILED: NO_SHIP}
_NUMBERS = ("value", "limit", "margin", "lowest", "highest")
# Lists, as what stands in a line of anyone's may not be hashable.
_COMPARABILITY = ["comparable", "incomparable", "not_applicable"]
_ALL_OUTCOMES = [SHIP, NO_SHIP, OPEN]
_REQUIRED = (
    "schemaVersion", "gateId", "decisionId", "rule", "inputs", "comparability", "outcome",
    "decidedAt",
)  # fmt: skip


@runtime_checkable
class Deciding(Protocol):
    """A watch that also decides the run, once its last case is in and before it is closed."""

    def __call__(self, rows: list[CaseResult]) -> None:
        """Count a batch of decided cases."""
        ...

    def decide(self, run: Run) -> Run:
        """Return the run with its gates' results and the exit code they give."""
        ...


@runtime_checkable
class Noting(Protocol):
    """A watch of a shard, or of its cases when it is merged.

    What a case has to do with its gates can only be told from the whole case, of which a folder
    keeps a part: so it is noted when the case is measured, and counted by when shards are merged.
    """

    def note(self, row: CaseResult) -> list[bool] | None:
        """Return which gates are about a case; None where all are about all."""
        ...

    def take(self, row: CaseResult, note: list[bool] | None) -> None:
        """Count a case by what was noted of it."""
        ...


class Decided(NamedTuple):
    """What gates.ndjson holds: what became of each gate, and the exit code; None: no decision."""

    results: tuple[GateResult, ...] = ()
    code: int | None = None


def decision_lines(
    results: Sequence[GateResult], code: int | None, decided_at: str
) -> list[Document]:
    """Return the lines of gates.ndjson, none where no gate decided."""
    if not results or code is None:
        return []
    lines = [
        _line(
            encode_ref("gate", one.gate.name or one.rule),
            f"gate-{number}",
            one.rule,
            _OUTCOMES[one.state],
            decided_at,
            inputs=[one.metric, *map(str, one.gate.where)],
            ext=_facts(one),
        )
        for number, one in enumerate(results, 1)
    ]
    outcome = _WHOLE_OUTCOMES.get(code, OPEN)
    whole = _line(WHOLE, "run", WHOLE_RULE, outcome, decided_at, inputs=[], code=code)
    return [*lines, whole]


def read_decisions(reader: RunReader) -> Decided:
    """Return what a run's gates decided when it was closed.

    Raises
    ------
    RunFolderError
        A line cannot be understood; the message names file and line.
    """
    if reader.running or not files.exists(reader.path, files.GATES):
        return Decided()
    return decisions_of(_lines(reader), str(reader.path / files.GATES))


def decisions_of(lines: Iterable[tuple[int, Document]], place: str) -> Decided:
    """Return what the numbered lines of a gates.ndjson say was decided.

    Raises
    ------
    RunFolderError
        A line cannot be understood; the message begins with ``place``.
    """
    results: list[GateResult] = []
    code: int | None = None
    for number, line in lines:
        own = line.get("ext")
        facts = own.get(EXT) if isinstance(own, dict) else None
        if line.get("gateId") == WHOLE:
            code = line.get("exitCode")
            if isinstance(code, bool) or not isinstance(code, int) or not 0 <= code <= MAX_CODE:
                raise RunFolderError(f"{place}:{number}: the run's decision has no exit code")
        elif facts is not None:
            try:
                results.append(msgspec.convert(facts, GateResult))
            except msgspec.ValidationError as error:
                raise RunFolderError(f"{place}:{number}: ext: {error}") from error
    if results and code is None:
        raise RunFolderError(f"{place}: lacks the decision on the whole run")
    return Decided(tuple(results), code)


def gate_problems(reader: RunReader) -> Iterator[str]:
    """Yield what is wrong with gates.ndjson, whoever wrote it."""
    if not files.exists(reader.path, files.GATES):
        return
    ids = (str(line["resultId"]) for line in reader.results())
    yield from line_problems(_lines(reader), str(reader.path / files.GATES), ids)


def line_problems(
    lines: Iterable[tuple[int, Document]], place: str, result_ids: Iterable[str]
) -> Iterator[str]:
    """Yield what is wrong with the numbered lines of a gates.ndjson.

    ``result_ids`` are those of the run, looked at only where a line names any.
    """
    seen: Counter[str] = Counter()
    named: set[str] = set()
    for number, line in lines:
        problem = _problem(line)
        if problem:
            yield f"{place}:{number}: {problem}"
            continue
        seen[line["decisionId"]] += 1
        if seen[line["decisionId"]] > 1:
            yield f"{place}:{number}: decisionId {line['decisionId']!r} stands there twice"
        for member in (line["inputs"].get("results", []), line.get("decisive", [])):
            named.update(one for one in member if isinstance(one, str))
    if named:
        named.difference_update(result_ids)
        for one in sorted(named):
            yield f"{place}: names the result {one}, which is not in the run"


def _lines(reader: RunReader) -> Iterator[tuple[int, Document]]:
    for line in files.lines(reader.path, files.GATES, growing=False):
        yield line.number, files.parsed(reader.path, files.GATES, line)


def _line(
    gate_id: str,
    decision_id: str,
    rule: str,
    outcome: str,
    decided_at: str,
    *,
    inputs: Sequence[str],
    code: int | None = None,
    ext: dict[str, Any] | None = None,
) -> Document:
    strategy: Document = {"strategy": _shown(rule)}
    if inputs:
        strategy["inputs"] = [_shown(one) for one in inputs]
    line: Document = {
        "schemaVersion": SCHEMA_VERSION,
        "gateId": gate_id,
        "decisionId": decision_id,
        "rule": strategy,
        "inputs": {},
        "comparability": "not_applicable",
        "outcome": outcome,
    }
    if code is not None:
        line["exitCode"] = code
    line["decidedAt"] = decided_at
    if ext is not None:
        line["ext"] = {EXT: ext}
    return line


def _shown(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}\u2026"


def _facts(one: GateResult) -> dict[str, Any]:
    """Return all that was found as JSON values; a number beyond a double is left out."""
    facts: dict[str, Any] = msgspec.to_builtins(one)
    for name in _NUMBERS:
        if facts[name] is not None and not math.isfinite(facts[name]):
            facts[name] = None
    interval = one.interval
    if interval is not None and not (math.isfinite(interval.low) and math.isfinite(interval.high)):
        facts["interval"] = None
    return facts


def _problem(line: Document) -> str | None:  # noqa: PLR0911 - one check after the other
    missing = [name for name in _REQUIRED if name not in line]
    if missing:
        return f"lacks {', '.join(missing)}"
    if line["schemaVersion"] != SCHEMA_VERSION:
        return f"schemaVersion {line['schemaVersion']!r} is not one closecall reads"
    try:
        require_match(REF, line["gateId"], "gateId")
        require_match(ID, line["decisionId"], "decisionId")
        time_key(line["decidedAt"])
    except UsageError as error:
        return str(error)
    rule = line["rule"]
    if not isinstance(rule, dict) or not isinstance(rule.get("strategy"), str):
        return "rule must name a strategy"
    if not isinstance(line["inputs"], dict):
        return "inputs must be an object"
    if line["comparability"] not in _COMPARABILITY:
        return f"no such comparability: {line['comparability']!r:.80}"
    if line["outcome"] not in _ALL_OUTCOMES:
        return f"no such outcome: {line['outcome']!r:.80}"
    if line["comparability"] == "incomparable" and line["outcome"] == SHIP:
        return "what cannot be compared is never shipped"
    return _results_problem(line) or _own_problem(line)


def _results_problem(line: Document) -> str | None:
    """Return where a line names results otherwise than in a list."""
    named = {"inputs.results": line["inputs"], "decisive": line}
    for name, member in named.items():
        value = member.get(name.rpartition(".")[2], [])
        if not isinstance(value, list):
            return f"{name} must be a list, got {value!r:.80}"
    return None


def _own_problem(line: Document) -> str | None:
    """Return where our own facts say another thing than the line they stand in."""
    code = line.get("exitCode")
    if line["gateId"] == WHOLE and type(code) is int and code in _WHOLE_OUTCOMES:
        wanted = _WHOLE_OUTCOMES[code]
        return None if line["outcome"] == wanted else f"the outcome should be {wanted}"
    own = line.get("ext")
    facts = own.get(EXT) if isinstance(own, dict) else None
    if not isinstance(facts, dict) or facts.get("state") not in [*GateState]:
        return None
    expected = _OUTCOMES[GateState(facts["state"])]
    if line["outcome"] != expected:
        return f"the outcome of a gate that is {facts['state']} is {expected}"
    return None

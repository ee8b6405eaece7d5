"""The lines of ordinary cases, spelled at once: the very bytes that ``lines`` and ``wire`` make.

Nearly every line of a run differs from the next in a dozen short values. Those that do are put
together here from what all lines of a metric share and what is the line's own. Whatever is not
ordinary (a text with control characters, details that hold more than short values, several runs)
is None here and goes the general way, whose checks then say what is wrong with it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from json.encoder import encode_basestring as quoted
from typing import Any, NamedTuple, Self

import msgspec

from closecall.errors import UsageError
from closecall.records import JSON, Case, Measured, State
from closecall.runs.aef import MAX_ID, MAX_NAME, MAX_VERSION, Written
from closecall.runs.caselines import METADATA, SpelledCase, case_line
from closecall.runs.header import MetricPlan, RunHeader
from closecall.runs.kept_metadata import keep_metadata
from closecall.runs.lines import EXT, annotator_of, evaluator_of, rule_of
from closecall.runs.results import CaseResult, MetricResult
from closecall.runs.values import MAX_CASE_ID, MAX_PATH, MAX_REASON, require_plain, result_id
from closecall.runs.wire import MAX_INTEGER, MAX_LINE, SCHEMA_VERSION, spelled

_encode = msgspec.json.Encoder().encode
_NAMED = {True: "true", False: "false", None: "null"}
_SEVERITY = ',"severity":"medium"'
_BORDERLINE = ',"borderline":true'


class PlainResults:
    """Spells the results of one metric in one run."""

    def __init__(self, header: RunHeader, plan: MetricPlan) -> None:
        self._run, self._path, self._cutoff = header.run_id, plan.id, plan.cutoff
        identity, version = evaluator_of(plan)
        annotator = annotator_of(header, plan)
        fits = len(identity) <= MAX_ID and 1 <= len(version) <= MAX_VERSION
        if not fits or len(annotator.get("model", "")) > MAX_NAME:
            raise UsageError(f"{plan.id}: its version or model is empty or too long")
        require_plain(plan.id, "path", MAX_PATH)
        made_by = spelled({"id": identity, "version": version})
        rule = "" if plan.cutoff is None else spelled(rule_of(plan, plan.cutoff))
        self._head = f'{{"schemaVersion":"{SCHEMA_VERSION}","resultId":"'
        self._after_case = f',"path":{quoted(plan.id)},"evaluator":{made_by},"state":"'
        self._score = f',"scores":[{{"metric":{quoted(plan.id)},"value":'
        self._rule = f',"verdictRule":{rule}' if rule else ""
        self._made = f',"annotator":{spelled(annotator)}'

    def line(self, case_id: str, result: MetricResult, share: float | None) -> Written | None:
        """Return the line of one decided measurement; None where it is not an ordinary one.

        ``case_id`` is what the case is filed under, and ``share`` its part of the batch's time.
        """
        found, reason = result.measurement, result.reason
        if (
            type(found) is not Measured
            or type(found.value) is not float
            or type(found.similarity) is not float
            or result.cutoff != self._cutoff
            or result.held
            or result.duration_ms is not None
            # Neither blank nor cut nor with anything spelled out; see ``clip_reason``.
            or not (reason.isprintable() and reason == reason.strip() != "")
            or len(reason) > MAX_REASON
        ):
            return None
        details = _details(found.details)
        if details is None:
            return None
        scale = own = ""
        if found.score is not None:
            normalized = round(found.score / 100, 6)
            if type(found.score) is not float or not 0 <= normalized <= 1:
                return None
            scale, own = f',"normalized":{normalized!r}', f',"score":{found.score!r}'
        severity = _SEVERITY if result.state is State.FAILED else ""
        took = "" if share is None else f',"durationMs":{share!r}'
        near = _BORDERLINE if result.borderline else ""
        tokens = f',"tokens":{_encode(found.tokens).decode()}' if found.tokens else ""
        text = (
            f"{self._head}{result_id(self._run, case_id, self._path)}"
            f'","caseId":{quoted(case_id)}{self._after_case}{result.state}"'
            f',"reason":{quoted(reason)}{self._score}{found.value!r}{scale}}}]'
            f"{self._rule}{self._made}{severity}{took}"
            f',"ext":{{"{EXT}":{{"similarity":{found.similarity!r}{own}{details}{tokens}{near}}}}}}}\n'
        )
        try:
            return Written(case_id, self._path, text.encode("utf-8"))
        except UnicodeEncodeError:
            return None


class PlainCase(NamedTuple):
    """The line of a case's texts, and the metadata that stands in it: all that the case has."""

    line: SpelledCase
    metadata: dict[str, JSON]


class PlainLines:
    """Spells the lines of a run's ordinary cases."""

    def __init__(self, header: RunHeader) -> None:
        self._header = header
        self._metrics = [PlainResults(header, plan) for plan in header.metrics]

    @classmethod
    def of(cls, header: RunHeader) -> Self | None:
        """Return what spells them; None where no line of the run is ordinary."""
        if header.cascade or header.runs > 1:
            return None
        try:
            return cls(header)
        except UsageError:  # raised again, with the place, by the general way
            return None

    def case(self, case: Case) -> PlainCase | None:
        """Return the line of a case's texts; None where it, or every one, is not ordinary."""
        return _plain_case(case) if self._header.content else None

    def results(self, row: CaseResult) -> list[Written] | None:
        """Return the lines of a case in results.ndjson; None where one is not ordinary."""
        case_id, time = row.case.id, row.duration_ms
        if row.trials or row.answered or not _is_plain_id(case_id):
            return None
        share = None if time is None else round(time / len(row.results), 3)
        if share is not None and not 0 <= share < math.inf:
            return None
        found = []
        for metric, result in zip(self._metrics, row.results, strict=True):
            line = metric.line(case_id, result, share)
            if line is None:
                return None
            found.append(line)
        return found


def _is_plain_id(name: str) -> bool:
    """Whether a case of that name is filed under it as it is; see ``values.case_id``."""
    return 1 <= len(name) <= MAX_CASE_ID and name.isprintable()


def _plain_case(case: Case) -> PlainCase | None:
    kept, left_out = keep_metadata(case.metadata)
    try:
        data = None if left_out or not _is_plain_id(case.id) else _case(case, kept)
    except (TypeError, UnicodeEncodeError):  # no text where there should be one, or half a one
        return None
    if data is None or len(data) > MAX_LINE + 1:
        return None
    return PlainCase(SpelledCase(data, lambda: case_line(case)), kept)


def _case(case: Case, kept: Mapping[str, JSON]) -> bytes:
    parts = [f'{{"id":{quoted(case.id)}']
    for name, text in (("input", case.input), ("response", case.response)):
        if text is not None:
            parts.append(f'"{name}":{quoted(text)}')
    for name, texts in (("references", case.references), ("context", case.context)):
        if texts:
            parts.append(f'"{name}":[{",".join(map(quoted, texts))}]')
    if case.label is not None:
        parts.append(f'"label":"{case.label}"')
    if case.group is not None:
        parts.append(f'"group":{quoted(case.group)}')
    if case.tags:
        parts.append(f'"tags":[{",".join(map(quoted, case.tags))}]')
    if case.place:
        parts.append(f'"place":{quoted(case.place)}')
    if kept:
        parts.append(f'"{METADATA}":{spelled(kept)}')
    return f"{','.join(parts)}}}\n".encode()


def _details(details: Mapping[str, Any]) -> str | None:
    """Return the member of that name; nothing where there are none, None where they hold parts."""
    parts = []
    for name, value in details.items():
        kind = type(value)
        if kind is float and math.isfinite(value):
            shown = repr(value)
        elif kind is str:
            shown = quoted(value)
        elif kind is int and -MAX_INTEGER <= value <= MAX_INTEGER:
            shown = str(value)
        elif value is None or kind is bool:
            shown = _NAMED[value]
        else:
            return None
        if type(name) is not str:
            return None
        parts.append(f"{quoted(name)}:{shown}")
    return f',"details":{{{",".join(parts)}}}' if parts else ""

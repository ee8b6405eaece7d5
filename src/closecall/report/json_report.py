"""The run as one JSON document, with the fields AgentEval's report has and the counts behind them.

Absences are ``null`` with a reason beside them, never 0 and never a pass.
"""

from __future__ import annotations

import json
from typing import IO, Any

import msgspec

from closecall.records import Measured, State
from closecall.report.words import narrow
from closecall.runs.record import Run
from closecall.runs.results import CUTOFF_WORDS, CaseResult, MetricResult


def write(run: Run, out: IO[str]) -> None:
    """Write the report; memory does not grow with the number of cases."""
    head = _head(run)
    # JSON has its own escapes for what a narrow encoding lacks.
    dump = json.JSONEncoder(ensure_ascii=narrow(out), allow_nan=False).encode
    out.write("{\n")
    for key, value in head.items():
        out.write(f"  {dump(key)}: {dump(value)},\n")
    out.write('  "results": [')
    for index, row in enumerate(run):
        out.write(("," if index else "") + "\n    " + dump(_result(row)))
    out.write("\n  ]\n}\n")


def _head(run: Run) -> dict[str, Any]:
    header, cases = run.header, run.cases
    measured = cases.passed + cases.failed
    return {
        "runId": header.run_id,
        "name": header.name,
        "startTime": header.started_at,
        "endTime": header.ended_at,
        "durationMs": None if run.duration_ms is None else round(run.duration_ms, 3),
        "stats": {
            "total": cases.total,
            "passed": cases.passed,
            "failed": cases.failed,
            "skipped": cases.unmeasured,
            "passRate": cases.passed / measured if measured else None,
            "measured": measured,
            "scored": cases.scored,
            "badRows": cases.bad_rows,
        },
        "overallScore": cases.score,
        "overallScoreCases": cases.with_score,
        "agent": {
            "name": header.subject,
            "model": None,
            "version": header.subject_version,
        },
        "metadata": {
            "EmbeddingModel": header.instrument.model,
            "EmbeddingProvider": header.instrument.provider,
            "InstrumentDigest": header.instrument_digest,
            "DefinitionDigest": header.definition_digest,
            "Dataset": header.dataset.path,
            "DatasetDigest": header.dataset.digest,
            "Reading": list(header.dataset.reading),
            "Producer": f"closecall {header.producer_version}",
            "RunFolder": None if run.folder is None else str(run.folder),
        },
        "metrics": [
            {
                **msgspec.to_builtins(summary),
                "calibrated": False,
                "cutoff_note": CUTOFF_WORDS[summary.cutoff_source],
            }
            for summary in run.metrics
        ],
        "exitCode": run.exit_code,
    }


def _result(row: CaseResult) -> dict[str, Any]:
    state = row.state
    absent = [r.reason for r in row.results if not r.state.measured]
    return {
        "name": row.case.id,
        "category": row.case.group,
        "state": state.value,
        "score": row.score,
        "passed": {State.PASSED: True, State.FAILED: False}.get(state),
        "skipped": not state.measured,
        "durationMs": row.duration_ms,
        "error": "; ".join(dict.fromkeys(absent)) or None,
        "label": row.case.label,
        "metricScores": {
            r.metric: r.measurement.value if isinstance(r.measurement, Measured) else None
            for r in row.results
        },
        "metrics": [_metric(result) for result in row.results],
    }


def _metric(result: MetricResult) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "metric": result.metric,
        "state": result.state.value,
        "cutoff": result.cutoff,
        "reason": result.reason,
    }
    measured = result.measurement
    if isinstance(measured, Measured):
        entry |= {
            "value": measured.value,
            "score": measured.score,
            "similarity": measured.similarity,
            "borderline": result.borderline,
            "details": measured.details,
            "tokens": msgspec.to_builtins(measured.tokens),
        }
    return entry

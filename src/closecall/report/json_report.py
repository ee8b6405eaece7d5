"""The run as one JSON document, with the fields AgentEval's report has and the counts behind them.

Absences are ``null`` with a reason beside them, never 0 and never a pass.
"""

from __future__ import annotations

import json
import re
from typing import IO, Any

import msgspec

from closecall.records import Measured, State
from closecall.report.gates import gates_json
from closecall.report.repeats import repeats_json
from closecall.report.slice_words import slices_json
from closecall.report.slices import SliceColumns, unit_mark
from closecall.report.spending import case_tokens_json, spending_json
from closecall.report.words import embedder_facts, narrow, visible_json
from closecall.runs.cascade import promises
from closecall.runs.header import MetricPlan
from closecall.runs.record import Run
from closecall.runs.results import CALIBRATED_CUTOFF, CaseResult, MetricResult

_LETTER = re.compile("_([a-z])")


def write(run: Run, out: IO[str]) -> None:
    """Write the report; memory holds the numbers of each case, for the slices, and no texts."""
    head = _head(run)
    # JSON has its own escapes for what a narrow encoding lacks.
    encode = json.JSONEncoder(ensure_ascii=narrow(out), allow_nan=False).encode

    def dump(value: object) -> str:
        return visible_json(encode(value))

    out.write("{\n")
    for key, value in head.items():
        out.write(f"  {dump(key)}: {dump(value)},\n")
    out.write('  "results": [')
    columns = SliceColumns(run.header)
    for index, row in enumerate(run):
        columns.add(row, unit_mark(row.case))
        out.write(("," if index else "") + "\n    " + dump(case_json(row)))
    out.write("\n  ],\n")
    out.write(f'  "slices": {dump(slices_json(columns.slices()))}\n}}\n')


def _head(run: Run) -> dict[str, Any]:
    header, cases = run.header, run.cases
    by = header.answered_by
    measured = cases.passed + cases.failed + cases.inconclusive
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
            "skipped": cases.unmeasured + cases.not_applicable,
            "notApplicable": cases.not_applicable,
            "passRate": cases.passed / measured if measured else None,
            "measured": measured,
            "scored": cases.scored,
            "inconclusive": cases.inconclusive,
            "badRows": cases.bad_rows,
        },
        "badRows": list(header.dataset.problems),
        "overallScore": cases.score,
        "overallScoreCases": cases.with_score,
        "agent": {
            "name": header.subject,
            "model": None if by is None else by.facts.get("model", by.name),
            "version": header.subject_version,
        },
        "metadata": {
            **embedder_facts(header.instrument),
            "InstrumentDigest": header.instrument_digest,
            "DefinitionDigest": header.definition_digest,
            "Dataset": header.dataset.path,
            "DatasetDigest": header.dataset.digest,
            "Reading": list(header.dataset.reading),
            "Producer": f"closecall {header.producer_version}",
            "RunFolder": run.place,
            **({} if header.shard is None else {"Shard": str(header.shard)}),
        },
        "metrics": [
            {
                **_camel(msgspec.to_builtins(summary)),
                "calibrated": summary.cutoff_source == CALIBRATED_CUTOFF,
                "calibration": _calibration(plan),
            }
            for summary, plan in zip(run.metrics, header.metrics, strict=True)
        ],
        "cascade": _cascade(run),
        "repeats": repeats_json(run),
        "gates": gates_json(run.gates),
        "answered": None if run.answered is None else _camel(msgspec.to_builtins(run.answered)),
        "judges": sorted({judge for plan in header.metrics for judge in plan.judges}),
        "usage": None
        if run.usage is None
        else {**_camel(run.usage._asdict()), "promptTokens": run.usage.prompt_tokens},
        "spending": spending_json(run.spending),
        "watched": [_watched(msgspec.to_builtins(found)) for found in run.watched],
        "exitCode": run.exit_code,
    }


def _cascade(run: Run) -> dict[str, Any] | None:
    """Return the counts and errors of all rungs together, and what their promises add up to."""
    if run.cascade is None:
        return None
    used = [plan.calibration for plan in run.header.metrics if plan.calibration is not None]
    added = promises(used)
    whole = _camel(msgspec.to_builtins(run.cascade))
    left_out = ("cutoff", "cutoffSource", "cutoffNote", "mean", "median", "metric")
    return {
        **{name: value for name, value in whole.items() if name not in left_out},
        "promise": None if added is None else _camel(msgspec.to_builtins(added)),
    }


def _calibration(plan: MetricPlan) -> dict[str, Any] | None:
    return None if plan.calibration is None else _camel(msgspec.to_builtins(plan.calibration))


def _watched(found: dict[str, Any]) -> dict[str, Any]:
    shift = _camel(found["shift"])
    shift["findings"] = [_camel(finding) for finding in shift["findings"]]
    return {**_camel(found), "shift": shift}


def _camel(summary: dict[str, Any]) -> dict[str, Any]:
    """Return the summary with member names as this report spells them; reasons stay."""
    named = {_LETTER.sub(lambda m: m[1].upper(), name): value for name, value in summary.items()}
    if named.get("labelled") is not None:
        named["labelled"] = _camel(named["labelled"])
    return named


def case_json(row: CaseResult) -> dict[str, Any]:
    """Return what is known of one case: its verdict, and each metric's value or absence."""
    state = row.state
    absent = [
        r.reason
        for r in row.results
        # A metric that does not apply to a case takes nothing from what the others found.
        if not r.state.measured and (r.state is state or r.state is not State.NOT_APPLICABLE)
    ]
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
        "metrics": [metric_json(result) for result in row.results],
        "tokens": case_tokens_json(row),
    }


def metric_json(result: MetricResult) -> dict[str, Any]:
    """Return what is known of one metric on one case; an absence has a reason and no numbers."""
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
            "heldBack": list(result.held),
            "details": measured.details,
            "tokens": msgspec.to_builtins(measured.tokens),
        }
    return entry

"""The run as JSON lines: one line a case, for data frames, ``jq`` and files too long to hold.

Each line stands alone: it has the fields that a case has in the JSON report, the run's id, and
beside each metric's cutoff where that comes from. Rows that could not be read have no line, as
they are no cases; the JSON report lists them.
"""

from __future__ import annotations

import json
from typing import IO, Any

from closecall.report.json_report import case_json
from closecall.report.words import narrow, visible_json
from closecall.runs.header import MetricPlan
from closecall.runs.record import Run


def write(run: Run, out: IO[str]) -> None:
    """Write the lines; memory does not grow with the number of cases."""
    encode = json.JSONEncoder(ensure_ascii=narrow(out), allow_nan=False).encode
    cutoffs = [_cutoff(plan) for plan in run.header.metrics]
    for row in run:
        line = {"runId": run.header.run_id, **case_json(row)}
        line["metrics"] = [
            {**entry, **cutoff} for entry, cutoff in zip(line["metrics"], cutoffs, strict=True)
        ]
        out.write(visible_json(encode(line)) + "\n")


def _cutoff(plan: MetricPlan) -> dict[str, Any]:
    """Return the lower one of two cutoffs, and what is known of the cutoff or cutoffs."""
    used = plan.calibration
    return {
        "cutoffReject": None if used is None else used.reject,
        "cutoffSource": plan.cutoff_source,
        "cutoffNote": plan.cutoff_note,
    }

"""Where finished cases go: memory, or a run folder."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from closecall.metrics.cutoffs import PERCENT
from closecall.runs.aef import Written, summary_document
from closecall.runs.caselines import BESIDE, SpelledCase, case_line
from closecall.runs.folder import RunFolder
from closecall.runs.header import MetricPlan, RunHeader
from closecall.runs.held import HeldRows
from closecall.runs.lines import EXT
from closecall.runs.plain_lines import PlainLines
from closecall.runs.results import CaseResult
from closecall.runs.summary import MetricTally
from closecall.runs.tally import summary_entry
from closecall.runs.trial_lines import AT_LEAST, row_lines
from closecall.runs.values import encode_ref
from closecall.subjects.repeats import passes_needed
from closecall.there import exists

if TYPE_CHECKING:
    from closecall.embedders.base import Usage
    from closecall.runs.monitor import Watched
    from closecall.runs.record import Answers
    from closecall.runs.spending import Spending
    from closecall.subjects.agreement import Repeats

LANE = "quality"
PASS_RATE = "pass-rate"  # noqa: S105 - a metric's name


class MemorySink:
    """Keeps the cases."""

    def __init__(self) -> None:
        self.rows: list[CaseResult] = []

    def add(self, rows: Sequence[CaseResult]) -> None:
        """Keep these."""
        self.rows.extend(rows)


class FolderSink:
    """Appends the cases to an open run folder."""

    def __init__(self, folder: RunFolder, header: RunHeader) -> None:
        self.folder, self.header = folder, header
        self.held = HeldRows(header)
        self._plain = PlainLines.of(header)
        if self._plain is None or folder.done:
            self.held.drop()

    def add(self, rows: Sequence[CaseResult], beside: Sequence[Mapping[str, Any]] = ()) -> None:
        """Write texts first, then results, each in one go; ``beside`` stands with the texts."""
        texts: list[Mapping[str, Any] | SpelledCase] = []
        results: list[Mapping[str, Any] | Written] = []
        for at, row in enumerate(rows):
            text, lines = self._spelled(row, beside[at : at + 1])
            texts.append(text)
            results += lines
        self.folder.append_case(texts)
        self.folder.append(results)

    def _spelled(
        self, row: CaseResult, beside: Sequence[Mapping[str, Any]]
    ) -> tuple[Mapping[str, Any] | SpelledCase, Sequence[Mapping[str, Any] | Written]]:
        """Return the lines of a case, its texts first, and hold the case while there are few."""
        plain = None if self._plain is None else self._plain.results(row)
        spelt = None if self._plain is None or beside else self._plain.case(row.case)
        if plain is not None and spelt is not None:
            if self.held.holds:
                size = len(spelt.line.data) + sum(len(line.data) for line in plain)
                self.held.add_plain(row, spelt.metadata, size)
            return spelt.line, plain
        text = case_lines([row], beside)[0] if spelt is None else spelt.line
        lines = list(row_lines(self.header, row)) if plain is None else plain
        if self.held.holds:
            self.held.add(text, lines)
        return text, lines


def case_lines(
    rows: Sequence[CaseResult], beside: Sequence[Mapping[str, Any]] = ()
) -> list[dict[str, Any]]:
    """Return the line of each case, with what a merge needs to know of it where that is given."""
    lines = [case_line(row.case, [trial.case.response for trial in row.trials]) for row in rows]
    if beside:
        lines = [
            line | {BESIDE: dict(own)} if own else line
            for line, own in zip(lines, beside, strict=True)
        ]
    return lines


def run_json(header: RunHeader) -> dict[str, Any]:
    """Return the header in the format's own words; ours stands whole in ``config``."""
    subject: dict[str, Any] = {
        "ref": encode_ref("agent", header.subject) if header.subject else "other:recorded-answers",
        "kind": "agent" if header.subject else "other",
    }
    if header.subject_version:
        subject["version"] = header.subject_version
    cutoffs = {p.id: p.cutoff for p in header.metrics if p.cutoff is not None}
    return {
        "runId": header.run_id,
        "producer": {"name": "closecall", "version": header.producer_version},
        "subject": subject,
        "suite": {
            "ref": encode_ref("suite", header.name),
            "version": header.dataset.digest[:12],
            "digest": f"sha256:{header.definition_digest}",
            "frozen": True,
            **({"executionPolicy": _policy(header)} if header.runs > 1 else {}),
        },
        "config": {
            "embeddingModel": header.instrument.model,
            "embeddingProvider": header.instrument.provider,
            "thresholds": {name: {"op": ">=", "value": value} for name, value in cutoffs.items()},
            EXT: header.to_json(),
        },
        "startedAt": header.started_at,
        "contentCapture": "on" if header.content else "off",
        # Without a subject the answers were given before this run and are scored as they stand.
        "execution": {
            "targetMode": "replayed"
            if header.answered_by is None or header.asked.get("mode") == "replay"
            else "live",
            "stimulus": "suite",
        },
    }


def _policy(header: RunHeader) -> dict[str, Any]:
    """Return how often each case is answered, and in how many of them it has to pass."""
    return {
        "trialsPerCase": header.runs,
        "requirePasses": passes_needed(header.runs, header.success_threshold),
        "aggregation": AT_LEAST,
    }


def declared(plans: Sequence[MetricPlan]) -> list[dict[str, Any]]:
    """Return the metric declarations, the share of passes last."""
    metrics: list[dict[str, Any]] = [
        {
            "id": plan.id,
            "kind": "score",
            "direction": "higher_better",
            "scale": "unbounded"
            if plan.low is None or plan.high is None
            else {"min": plan.low, "max": plan.high},
            "unit": "percent" if plan.high == PERCENT else "similarity",
            "description": plan.description,
        }
        for plan in plans
    ]
    rate = {
        "id": PASS_RATE,
        "kind": "rate",
        "direction": "higher_better",
        "scale": {"min": 0, "max": 1},
    }
    return [*metrics, rate]


def summary_json(
    header: RunHeader,
    tallies: Sequence[MetricTally],
    watched: Sequence[Watched] = (),
    usage: Usage | None = None,
    answered: Answers | None = None,
    *,
    repeats: Sequence[Repeats] | None = None,
    spending: Spending | None = None,
) -> dict[str, Any]:
    """Return summary.json: per metric the mean of its values and the share of passes.

    What the monitor found, how far judges agree, and what a provider reported of its use, stand in
    our own part of it.
    """
    entries = []
    for plan, tally in zip(header.metrics, tallies, strict=True):
        states = {state.value: n for state, n in tally.states.items() if n}
        entries.append(summary_entry(plan.id, "score", plan.id, states, tally.values))
        if plan.cutoff is not None:
            entries.append(summary_entry(PASS_RATE, "rate", plan.id, states))
    document = summary_document(header.run_id, {LANE: entries})
    own: dict[str, Any] = {}
    if watched:
        from closecall.runs import monitor

        own["watched"] = monitor.to_json(watched)
    if usage is not None:
        own["usage"] = usage._asdict()
    if answered is not None:
        own["answered"] = msgspec.to_builtins(answered)
    if repeats is not None:
        own["repeats"] = msgspec.to_builtins(repeats)
    if spending is not None:
        own["spending"] = msgspec.to_builtins(spending)
    agreement = {
        tally.plan.id: msgspec.to_builtins(found)
        for tally in tallies
        if (found := tally.agreement.found()) is not None
    }
    if agreement:
        own["agreement"] = agreement
    if own:
        document["ext"] = {EXT: own}
    return document


def default_place(run_id: str, root: Path | None = None) -> Path:
    """Return the run folder used when none is named, its parent made in ``root`` or here.

    ``.closecall`` keeps itself out of version control, as pytest's cache does.

    Raises
    ------
    OSError
        It cannot be made here.
    """
    home = (root or Path()) / ".closecall"
    (home / "runs").mkdir(parents=True, exist_ok=True)
    if not os.access(home / "runs", os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(home / "runs"))
    ignore = home / ".gitignore"
    if not exists(ignore):
        ignore.write_bytes(b"# Written by closecall.\n*\n")
    return home / "runs" / run_id
